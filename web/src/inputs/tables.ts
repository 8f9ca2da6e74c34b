// A table of text as an input: a small one goes into cells, a large one is uploaded once and used
// by reference. No number of it is left out.

import { api } from '../api/client';
import { CsvError, parseTable, type Table } from './csv';
import { CELLS, referenceOf, type Input } from './input';

/** Longer texts, in characters, are read beside the page. */
const LONG = 100_000;
/** A table larger than what servers take as a body would be read for nothing. */
const MOST = 1 << 29;

/** The table in a text or a file. Throws CsvError. */
async function readTable(text: string | File): Promise<Table> {
  const length = typeof text === 'string' ? text.length : text.size;
  if (length > MOST) throw new CsvError('This table is too long for the page: send it as .npy, or from a program.');
  if (length <= LONG) return parseTable(typeof text === 'string' ? text : await text.text());
  const worker = new Worker(new URL('./table.worker.ts', import.meta.url), { type: 'module' });
  const read = new Promise<Table>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<{ table: Table } | { fault: string }>) =>
      'table' in data ? resolve(data.table) : reject(new CsvError(data.fault));
    worker.onerror = () => reject(new CsvError('This table could not be read.'));
    worker.postMessage(text);
  });
  return read.finally(() => worker.terminate());
}

/** A .npy file of float64. */
export function npyOf(shape: readonly number[], data: Float64Array): Blob {
  const words = `{'descr': '<f8', 'fortran_order': False, 'shape': (${shape.join(', ')},), }`;
  const header = `${words.padEnd(Math.ceil((11 + words.length) / 64) * 64 - 11)}\n`;
  const start = new Uint8Array([0x93, ...new TextEncoder().encode('NUMPY'), 1, 0, header.length & 255, header.length >> 8]);
  return new Blob([start, header, data as Float64Array<ArrayBuffer>]);
}

/** What a table or a file becomes, and what is to be told of how it was read. */
export interface Taken {
  input: Partial<Input>;
  says: string;
}

/** The input that a table becomes; as `vector`, whatever its rows. Throws CsvError, ProblemError. */
export async function inputOfTable(text: string | File, label: string, as: 'vector' | 'matrix' | null = null): Promise<Taken> {
  const { rows, columns, data, headings } = await readTable(text);
  const says = headings === null ? '' : `Line ${headings} is taken as headings.`;
  const line = as === 'vector' || (as === null && (rows === 1 || columns === 1));
  if (data.length > CELLS) {
    const shape = line ? [data.length] : [rows, columns];
    return { input: referenceOf((await api.upload(npyOf(shape, data), 'application/x-npy')).body, label), says };
  }
  if (line) return { input: { kind: 'vector', vector: [...data] }, says };
  const matrix = Array.from({ length: rows }, (_, i) => [...data.subarray(i * columns, (i + 1) * columns)]);
  return { input: { kind: 'matrix', matrix }, says };
}
