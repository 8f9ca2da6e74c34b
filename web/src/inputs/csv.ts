// A table of numbers from text: commas, semicolons, tabs or blanks between them; one heading line
// without a number is left out.

import { parseNumber, whyNoNumber } from './number';

export class CsvError extends Error {}

/** Rows of numbers, all of one width, row-major. */
export interface Table {
  rows: number;
  columns: number;
  data: Float64Array;
}

const MARKS = [';', '\t', ','];

/** Read a table. Throws CsvError naming the line and the field that is not a number. */
export function parseTable(text: string): Table {
  const lines = text.split(/\r?\n/).map((line, i) => ({ line: line.trim(), n: i + 1 })).filter(({ line }) => line !== '');
  const first = lines[0]?.line ?? '';
  const mark = MARKS.find((candidate) => first.includes(candidate));
  const split = (line: string) => (mark ? line.split(mark) : line.split(/\s+/)).map(bare);
  const body = split(first).some((field) => parseNumber(field) !== null) ? lines : lines.slice(1);
  if (!body.length) throw new CsvError('There are no numbers in this text.');
  const columns = split(body[0]!.line).length;
  const data = new Float64Array(body.length * columns);
  body.forEach(({ line, n }, i) => {
    const fields = split(line);
    if (fields.length !== columns) throw new CsvError(`Line ${n} has ${fields.length} fields, the first has ${columns}.`);
    fields.forEach((field, j) => {
      const value = parseNumber(field);
      if (value === null) throw new CsvError(`Line ${n}, field ${j + 1}: ${whyNoNumber(field)}`);
      data[i * columns + j] = value;
    });
  });
  return { rows: body.length, columns, data };
}

/** A field without blanks around it and the quotes that some programs write. */
function bare(field: string): string {
  const text = field.trim();
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1).trim() : text;
}
