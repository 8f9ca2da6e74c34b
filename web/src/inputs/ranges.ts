// Lists of numbers as people write them: `0:10:201` is 201 numbers from 0 to 10, evenly spaced.

import { parseJson, type Json } from '../api/json';

const MOST = 100_000;

/** `n` numbers evenly spaced; both ends are met exactly. */
export function linspace(low: number, high: number, n: number): number[] {
  return Array.from({ length: n }, (_, i) => (i > 0 && i === n - 1 ? high : low + ((high - low) * i) / Math.max(n - 1, 1)));
}

/** What a text means: the numbers of a range, or JSON. Throws where it is neither. */
export function parseNumbers(text: string): Json {
  if (!text.includes(':') || /[[{"]/.test(text)) return parseJson(text);
  const parts = text.split(':').map((part) => (part.trim() === '' ? NaN : Number(part)));
  const [low, high, n] = parts;
  const fits = parts.length === 3 && parts.every(Number.isFinite) && Number.isInteger(n) && n! >= 2 && n! <= MOST;
  if (!fits) throw new Error('Write start:end:count, or a list such as [0, 0.5, 1].');
  return linspace(low!, high!, n!);
}

/** The shortest text that means these numbers. */
export function writeNumbers(value: Json | undefined): string {
  if (value === undefined) return '';
  const even = evenly(value);
  return even && even[2] > 3 ? even.join(':') : JSON.stringify(value);
}

/** Start, end and count of an evenly spaced list; null for any other value. */
export function evenly(value: Json | undefined): [number, number, number] | null {
  if (!Array.isArray(value) || value.length < 2) return null;
  const [low, high] = [Number(value[0]), Number(value.at(-1))];
  const near = 1e-9 * Math.max(Math.abs(low), Math.abs(high), 1e-300);
  const wanted = linspace(low, high, value.length);
  return value.every((item, i) => Math.abs(Number(item) - wanted[i]!) <= near) ? [low, high, value.length] : null;
}

/** Whether plots can be drawn from one number to another: far apart enough, and not too far. */
export function isRange(low: number, high: number): boolean {
  return Number.isFinite(2 * (high - low)) && high - low > 1e-12 * Math.max(Math.abs(low), Math.abs(high));
}
