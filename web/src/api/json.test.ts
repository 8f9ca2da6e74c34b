import { describe, expect, it } from 'vitest';
import { indented, parseAnswer, parseJson, whyNoJson } from './json';

describe('parseJson', () => {
  it('reads values as they are written', () => {
    expect(parseJson('{"a": [1, "]]]"], "b": -1.5e300}')).toEqual({ a: [1, ']]]'], b: -1.5e300 });
    expect(parseJson('[12345678901234567890]')).toEqual([12345678901234567890]);
    expect(parseJson('{"dtype": "int64", "shape": [1], "data": [9007199254740992]}')).toBeTruthy();
  });

  it('says what is wrong, with numbers that would be changed too', () => {
    expect(whyNoJson('[1,')).toContain('Not valid JSON');
    expect(whyNoJson('[1e400]')).toContain('beyond what 64 bits hold');
    expect(whyNoJson('{"dtype": "int64", "shape": [1], "data": [9007199254740993]}')).toContain('9007199254740993 exactly');
    for (const depth of [65, 400_000]) expect(whyNoJson('['.repeat(depth) + ']'.repeat(depth))).toContain('deeper than 64');
  });
});

describe('parseAnswer', () => {
  it('keeps every digit of integers that a double does not hold', () => {
    const text = '{"a": [9007199254740993, -9223372036854775808,18446744073709551615], "b": 9007199254740991, "c": "[9007199254740993 ]", "d": 9007199254740993.0}';
    expect(parseAnswer(text)).toEqual({
      a: ['9007199254740993', '-9223372036854775808', '18446744073709551615'], b: 9007199254740991, c: '[9007199254740993 ]', d: 9007199254740992,
    });
    expect(parseAnswer('{"x":0.1234567890123456789,"y":12345678901234567e3}')).toEqual({ x: 0.12345678901234568, y: 12345678901234567e3 });
  });
});

it('indents an answer without touching its numbers', () => {
  const value = { a: [1, { b: 'x, [":"' }], c: {}, d: [], e: null };
  expect(indented(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
  expect(indented('[9007199254740993, 1.0]')).toBe('[\n  9007199254740993,\n  1.0\n]');
});
