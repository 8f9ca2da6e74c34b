import { describe, expect, it } from 'vitest';
import { parseTiming } from '../api/http';
import { parseTable } from './csv';
import { diffLines } from './diff';
import { bytes, count, duration, full, short } from './format';
import { pack, unpack } from './share';
import { pythonLiteral, snippet, LANGUAGES } from './snippets';

describe('share', () => {
  it('restores what it packed', async () => {
    const state = { source: 'def f(x):\n    return “é” # ∇', args: [1, 'NaN', null], deep: { a: [true] } };
    const fragment = await pack(state);
    expect(fragment).toMatch(/^s=[\w-]+$/);
    expect(await unpack(`#${fragment}`)).toEqual(state);
  });

  it('makes long source short', async () => {
    expect((await pack({ source: 'x = jnp.sin(x)\n'.repeat(200) })).length).toBeLessThan(200);
  });

  it('takes other fragments for no state and refuses damaged ones', async () => {
    expect(await unpack('#results')).toBeNull();
    await expect(unpack('#s=AAAA')).rejects.toThrow();
  });

  it('refuses a bomb', async () => {
    await expect(unpack(`#${await pack('a'.repeat(3 << 20))}`)).rejects.toThrow('too much');
  });
});

describe('snippets', () => {
  const body = { function: "lambda s: s['a\\n'] + `1`", args: [null, true, 0.1] };

  it('quote what a shell would read', () => {
    expect(snippet('curl', 'http://h/v1/grad', { function: "x['a']", args: [] })).toContain(`'\\''a'\\''`);
  });

  it('write Python constants', () => {
    expect(pythonLiteral([null, true, { a: false }])).toBe('[None, True, {"a": False}]');
  });

  it('keep the body whole in every language that holds it as text', () => {
    const text = JSON.stringify(body);
    expect(snippet('R', 'u', body)).toContain(`(${text})`);
    const go = /NewReader\(`(.*)`\)/.exec(snippet('Go', 'u', body))?.[1] ?? '';
    expect(JSON.parse(go)).toEqual(body);
    const julia = /raw"(.*)"\n/.exec(snippet('Julia', 'u', body))?.[1] ?? '';
    // What Julia reads: backslashes before a quote halve, others stay.
    expect(JSON.parse(julia.replace(/(\\+)"/g, (_, run: string) => '\\'.repeat((run.length - 1) / 2) + '"'))).toEqual(body);
  });

  it('exist for every language', () => {
    for (const language of LANGUAGES) expect(snippet(language, 'http://h', body)).toContain('http://h');
  });
});

describe('parseTable', () => {
  it('reads commas, semicolons, tabs and blanks, and skips a header', () => {
    for (const text of ['1,2\n3,4\n', 'a,b\n1,2\r\n3,4', '1;2\n3;4', '1\t2\n3\t4', ' 1 2\n\n3 4 ']) {
      expect(parseTable(text)).toEqual([[1, 2], [3, 4]]);
    }
  });

  it('says where it fails', () => {
    expect(() => parseTable('1,2\n3,x')).toThrow('Line 2, field 2');
    expect(() => parseTable('1,2\n3')).toThrow('Row 2');
    expect(() => parseTable('')).toThrow('no numbers');
  });
});

describe('diffLines', () => {
  const marks = (a: string, b: string) => diffLines([...a], [...b]).map(({ mark, text }) => mark.trim() + text).join(' ');

  it('marks what was removed and added', () => {
    expect(marks('abcabba', 'cbabac').replace(/[-+]\w ?/g, '').trim()).toHaveLength('b a b a'.length);
    expect(marks('abc', 'abc')).toBe('a b c');
    expect(marks('abc', 'axc')).toBe('a -b +x c');
    expect(marks('', 'ab')).toBe('+a +b');
    expect(marks('ab', '')).toBe('-a -b');
  });

  it('rebuilds both texts from any pair', () => {
    let seed = 7;
    const next = (n: number) => (seed = (seed * 16807) % 2147483647) % n;
    for (let round = 0; round < 60; round++) {
      const [a, b] = [0, 1].map(() => Array.from({ length: next(12) }, () => 'abc'[next(3)] as string));
      const lines = diffLines(a!, b!);
      expect(lines.filter(({ mark }) => mark !== '+').map(({ text }) => text)).toEqual(a);
      expect(lines.filter(({ mark }) => mark !== '-').map(({ text }) => text)).toEqual(b);
    }
  });
});

describe('format', () => {
  it('is short, and full where asked', () => {
    expect(short(5.010007503399555)).toBe('5.01');
    expect(short(-0.00001234)).toBe('−1.234e-5');
    expect(short(NaN)).toBe('NaN');
    expect(full(-0)).toBe('−0');
    expect(full(5.010007503399555)).toBe('5.010007503399555');
    expect(count(12345)).toBe('12.3 k');
    expect(bytes(2048)).toBe('2 KiB');
    expect([duration(0.25), duration(12.345), duration(2500)]).toEqual(['250 µs', '12.3 ms', '2.5 s']);
  });
});

it('reads Server-Timing', () => {
  expect(parseTiming('queue;dur=0.1, compile;desc="XLA";dur=80.25')).toEqual([
    { name: 'queue', ms: 0.1 }, { name: 'compile', ms: 80.25 },
  ]);
  expect(parseTiming(null)).toEqual([]);
});
