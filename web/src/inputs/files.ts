// A dropped file as an input: small tables of text go into cells, everything else is uploaded
// once and used by reference.

import type { ArrayInfo } from '../api/answers';
import { api } from '../api/client';
import { parseTable } from './csv';
import type { Input } from './input';

const CELL_LIMIT = 400;

const MEDIA: [RegExp, string][] = [
  [/\.npy$/i, 'application/x-npy'],
  [/\.npz$/i, 'application/x-npz'],
  [/\.mtx(\.gz)?$/i, 'text/x-matrix-market'],
];

function referenceOf(info: ArrayInfo, label: string): Partial<Input> {
  const reference = {
    id: info.array,
    label,
    dtype: info.dtype ?? '',
    shape: info.shape ?? [],
    layout: info.layout ?? 'dense',
    ...(info.nse === undefined ? {} : { nse: info.nse }),
  };
  return { kind: 'reference', reference };
}

function base64(values: Float64Array): string {
  const raw = new Uint8Array(values.buffer);
  let text = '';
  for (let at = 0; at < raw.length; at += 0x8000) text += String.fromCharCode(...raw.subarray(at, at + 0x8000));
  return btoa(text);
}

async function loadTable(file: File): Promise<Partial<Input>> {
  const rows = parseTable(await file.text());
  const width = rows[0]?.length ?? 0;
  const line = width === 1 ? rows.map(([only]) => only as number) : rows.length === 1 ? rows[0] : null;
  if (rows.length * width <= CELL_LIMIT) {
    return line ? { kind: 'vector', vector: line } : { kind: 'matrix', matrix: rows };
  }
  const shape = line ? [line.length] : [rows.length, width];
  const body = { dtype: 'float64', shape, base64: base64(Float64Array.from(rows.flat())) };
  const data = new Blob([JSON.stringify(body)]);
  return referenceOf((await api.upload(data, 'application/json')).body, file.name);
}

/** Read a file into an input. Throws a ProblemError of the server, or says what is wrong. */
export async function loadFile(file: File): Promise<Partial<Input>> {
  if (/\.(csv|tsv|txt)$/i.test(file.name)) return loadTable(file);
  const media = MEDIA.find(([pattern]) => pattern.test(file.name))?.[1];
  if (!media) throw new Error(`“${file.name}” is not a .npy, .npz, .mtx or .csv file.`);
  return referenceOf((await api.upload(file, media)).body, file.name);
}
