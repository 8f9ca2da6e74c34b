// How many cells a form may have.

/** Why a number is no count of cells; empty where it is one. */
export function wrongSize(n: number, most: number): string {
  if (!Number.isInteger(n) || n < 1) return 'write a whole number from 1.';
  return n > most ? `${most} fit here; paste the numbers or drop a file for more.` : '';
}
