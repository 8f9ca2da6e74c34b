import { describe, expect, it } from 'vitest';
import { KEY, LANGUAGES, pythonLiteral, snippet } from './snippets';

describe('snippets', () => {
  const body = { function: "lambda s: s['a\\n'] + `1`", args: [null, true, 0.1] };

  it('quote what a shell would read', () => {
    expect(snippet('curl', { url: 'http://h/v1/grad', body: { function: "x['a']", args: [] }, keyed: false })).toContain(`'\\''a'\\''`);
  });

  it('write Python constants', () => {
    expect(pythonLiteral([null, true, { a: false }])).toBe('[None, True, {"a": False}]');
  });

  it('keep the body whole in every language that holds it as text', () => {
    const text = JSON.stringify(body);
    expect(snippet('R', { url: 'u', body, keyed: false })).toContain(`(${text})`);
    const go = /NewReader\(`(.*)`\)/.exec(snippet('Go', { url: 'u', body, keyed: false }))?.[1] ?? '';
    expect(JSON.parse(go)).toEqual(body);
    const julia = /raw"(.*)"\n/.exec(snippet('Julia', { url: 'u', body, keyed: false }))?.[1] ?? '';
    // What Julia reads: backslashes before a quote halve, others stay.
    expect(JSON.parse(julia.replace(/(\\+)"/g, (_, run: string) => '\\'.repeat((run.length - 1) / 2) + '"'))).toEqual(body);
  });

  it('exist for every language', () => {
    for (const language of LANGUAGES) expect(snippet(language, { url: 'http://h', body, keyed: false })).toContain('http://h');
  });

  it('take the key of a server that wants one from the environment', () => {
    for (const language of LANGUAGES) {
      const [open, keyed] = [false, true].map((wanted) => snippet(language, { url: 'u', body, keyed: wanted }));
      expect(open).not.toMatch(/Authorization|bearer/i);
      expect(keyed).toContain(KEY);
      expect(keyed).toMatch(/Bearer|bearer/);
    }
  });
});
