// A dropped file as an input: tables of text are read here, everything else is uploaded once and
// used by reference.

import { api } from '../api/client';
import { referenceOf } from './input';
import { inputOfTable, type Taken } from './tables';

const MEDIA: [RegExp, string][] = [
  [/\.npy$/i, 'application/x-npy'],
  [/\.npz$/i, 'application/x-npz'],
  [/\.mtx(\.gz)?$/i, 'text/x-matrix-market'],
];

/** Read a file into an input. Throws a ProblemError of the server, or says what is wrong. */
export async function loadFile(file: File): Promise<Taken> {
  if (/\.(csv|tsv|txt)$/i.test(file.name)) return inputOfTable(file, file.name);
  const media = MEDIA.find(([pattern]) => pattern.test(file.name))?.[1];
  if (!media) throw new Error(`“${file.name}” is not a .npy, .npz, .mtx, .mtx.gz or .csv file.`);
  return { input: referenceOf((await api.upload(file, media)).body, file.name), says: '' };
}
