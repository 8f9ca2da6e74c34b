// A table of numbers from text: commas, semicolons, tabs or blanks; one header line is skipped.

export class CsvError extends Error {}

/** Rows of numbers. Throws CsvError naming the line and the field that is not a number. */
export function parseTable(text: string): number[][] {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const filled = lines.map((line, i) => ({ line, n: i + 1 })).filter(({ line }) => line !== '');
  const first = filled[0]?.line ?? '';
  const mark = [';', '\t', ','].find((candidate) => first.includes(candidate));
  const split = (line: string) => (mark ? line.split(mark) : line.split(/\s+/)).map((f) => f.trim());
  const isNumber = (field: string) => field !== '' && !Number.isNaN(Number(field));
  const body = split(first).every(isNumber) ? filled : filled.slice(1);
  const rows = body.map(({ line, n }) =>
    split(line).map((field, j) => {
      if (isNumber(field)) return Number(field);
      throw new CsvError(`Line ${n}, field ${j + 1}: “${field.slice(0, 20)}” is not a number.`);
    }),
  );
  const width = rows[0]?.length ?? 0;
  const ragged = rows.findIndex((row) => row.length !== width);
  if (!width) throw new CsvError('There are no numbers in this file.');
  if (ragged >= 0) throw new CsvError(`Row ${ragged + 1} has ${rows[ragged]?.length} fields, the first has ${width}.`);
  return rows;
}
