// Numbers as people write them: decimal, with the words for what is not finite. Everything else is
// refused in words, never read as something near.

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const WORDS = new Map([
  ['nan', Number.NaN],
  ...['inf', 'infinity', '∞'].flatMap((word): [string, number][] => [[word, Infinity], [`+${word}`, Infinity], [`-${word}`, -Infinity]]),
]);

/** The number that a text means; null where it means none, or one beyond 64 bits. */
export function parseNumber(text: string): number | null {
  // The page's own results carry a true minus.
  const plain = text.trim().replace('−', '-');
  const word = WORDS.get(plain.toLowerCase());
  if (word !== undefined) return word;
  const value = DECIMAL.test(plain) ? Number(plain) : Number.NaN;
  return Number.isFinite(value) ? value : null;
}

/** Why a text is no number; empty where it is one. */
export function whyNoNumber(text: string): string {
  if (parseNumber(text) !== null) return '';
  const plain = text.trim();
  if (plain === '') return 'A number is missing.';
  const shown = plain.length > 20 ? `${plain.slice(0, 20)}…` : plain;
  if (DECIMAL.test(plain.replace('−', '-'))) return `${shown} is beyond what 64 bits hold.`;
  const point = plain.replace(',', '.');
  return `“${shown}” is not a number${parseNumber(point) === null ? '' : `: write ${point}`}.`;
}
