// JSON as somebody wrote it: what the page would not carry unchanged is refused in words; and as
// the server answers it, with every digit of its integers.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** As deep as the server reads. */
const DEPTH = 64;
const WORDS = /"(?:[^"\\]|\\.)*"/g;
const NUMBERS = /-?\d[\d.eE+-]*/g;

/**
 * A value from JSON as somebody wrote it. Throws an Error that says what is wrong, numbers that
 * would be changed by being read included.
 */
export function parseJson(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    throw new Error(error instanceof RangeError ? TOO_DEEP : 'Not valid JSON yet.');
  }
  const bare = text.replace(WORDS, '""');
  if (depthOf(bare) > DEPTH) throw new Error(TOO_DEEP);
  // Bare numbers are floating point at the server too; typed integers are exact there.
  const exact = /"u?int64"/.test(text);
  for (const [number] of bare.matchAll(NUMBERS)) {
    if (!Number.isFinite(Number(number))) throw new Error(`${number.slice(0, 24)} is beyond what 64 bits hold: write "Infinity".`);
    if (exact && /^-?\d{16,}$/.test(number) && BigInt(number) !== BigInt(Number(number))) {
      throw new Error(`The page cannot hold ${number.slice(0, 24)} exactly: write these integers as base64.`);
    }
  }
  return value;
}

/** An integer among the rest of a text, long enough that it may be beyond 2^53. */
const LONG = /[[,:\s]-?\d{16,}(?=[\s,\]}])/;
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/**
 * What a server answered. Integers that a double does not hold come as words of their digits,
 * which `read` takes for the numbers they are.
 */
export function parseAnswer(text: string): unknown {
  if (!LONG.test(text)) return JSON.parse(text);
  return JSON.parse(text.replace(TOKENS, (token) => (isInexact(token) ? `"${token}"` : token)));
}

const isInexact = (token: string) => /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));

const SYNTAX = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

/** A JSON text with a line for each member; its numbers stay as they are written. */
export function indented(text: string): string {
  const tokens = text.match(SYNTAX) ?? [];
  let [out, depth] = ['', 0];
  const line = () => `\n${'  '.repeat(depth)}`;
  tokens.forEach((token, i) => {
    const [before, after] = [tokens[i - 1] ?? '', tokens[i + 1] ?? ''];
    const opened = before === '[' || before === '{';
    if (token === ']' || token === '}') {
      depth--;
      out += opened ? token : line() + token;
    } else if (token === '[' || token === '{') {
      depth++;
      out += after === ']' || after === '}' ? token : token + line();
    } else if (token === ',') out += token + line();
    else out += token === ':' ? ': ' : token;
  });
  return out;
}

const TOO_DEEP = `Nested deeper than ${DEPTH} levels.`;

/** How many brackets of a text without words are open at most. */
function depthOf(text: string): number {
  let [open, most] = [0, 0];
  for (const char of text) {
    if (char === '[' || char === '{') most = Math.max(most, ++open);
    else if (char === ']' || char === '}') open--;
  }
  return most;
}

/** What is wrong with a text that should be JSON; empty where nothing is. */
export function whyNoJson(text: string): string {
  try {
    parseJson(text);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}
