// A table of numbers from text: commas, semicolons, tabs or blanks between them. One line of
// headings is left out, and told of; lines that start with # are comments.

import { parseNumber, whyNoNumber } from './number';

export class CsvError extends Error {}

/** Rows of numbers, all of one width, row-major. */
export interface Table {
  rows: number;
  columns: number;
  data: Float64Array;
  /** The line that was taken as headings; null where none was. */
  headings: number | null;
}

/** Words that stand for a value, or for none. */
const NO_NAME = /^(n\/?a|null|none|nil|nan|inf|infinity|missing|true|false)$/i;
/** A sheet's own faults begin so too, and are none. */
const COMMENT = /^#(?!N\/A|DIV\/0|REF!|VALUE!|NUM!|NAME\?|NULL!)/i;
const MARKS = [';', '\t', ','];

/** Read a table. Throws CsvError naming the line and the field that is not a number. */
export function parseTable(text: string): Table {
  const lines = text.split(/\r?\n/).map((line, i) => ({ line: line.trim(), n: i + 1 })).filter(({ line }) => line !== '' && !COMMENT.test(line));
  const first = lines[0]?.line ?? '';
  const mark = MARKS.find((candidate) => first.includes(candidate));
  const split = (line: string) => (mark ? line.split(mark) : line.split(/\s+/)).map(bare);
  const headings = first && isHeading(split(first)) ? lines[0]!.n : null;
  const body = headings === null ? lines : lines.slice(1);
  if (!body.length) throw new CsvError('There are no numbers in this text.');
  const columns = split(body[0]!.line).length;
  const data = new Float64Array(body.length * columns);
  body.forEach(({ line, n }, i) => {
    const fields = split(line);
    if (fields.length !== columns) throw new CsvError(`Line ${n} has ${fields.length} ${fields.length === 1 ? 'field' : 'fields'}, the first has ${columns}.`);
    fields.forEach((field, j) => {
      const value = parseNumber(field);
      if (value === null) throw new CsvError(`Line ${n}, field ${j + 1}: ${whyNoNumber(field)}${/^n\/?a$/i.test(field) ? ' Write nan where there is none.' : ''}`);
      data[i * columns + j] = value;
    });
  });
  return { rows: body.length, columns, data, headings };
}

/** Whether fields name columns: each a word or empty, and none what stands for a number. */
function isHeading(fields: readonly string[]): boolean {
  const words = fields.map((field) => field.replace(/^"|"$/g, '').trim()).filter(Boolean);
  return words.length > 0 && words.every((word) => /^[\p{L}_]/u.test(word) && !NO_NAME.test(word));
}

/** A field without blanks around it and the quotes that some programs write. */
function bare(field: string): string {
  const text = field.trim();
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1).trim() : text;
}
