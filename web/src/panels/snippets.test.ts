import { describe, expect, it } from 'vitest';
import { LANGUAGES, pythonLiteral, snippet } from './snippets';

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
