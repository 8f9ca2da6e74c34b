// Completion and hover from the server's own registry: every name a function may use.

import { autocompletion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete';
import { hoverTooltip, type EditorView } from '@codemirror/view';
import type { LanguageName } from '../api/answers';

const ALIASES: [RegExp, string[]][] = [
  [/^jnp\./, ['', 'np.', 'jax.numpy.']],
  [/^lax\./, ['jax.lax.']],
];

/** Names as typed: `jnp.sin` is `sin`, `np.sin` and `jax.numpy.sin` too. */
function index(names: readonly LanguageName[]): Map<string, LanguageName> {
  const map = new Map(names.map((item) => [item.name, item]));
  for (const item of names) {
    for (const [pattern, prefixes] of ALIASES) {
      if (!pattern.test(item.name)) continue;
      for (const prefix of prefixes) {
        const name = item.name.replace(pattern, prefix);
        if (!map.has(name)) map.set(name, item);
      }
    }
  }
  return map;
}

function note(item: LanguageName): HTMLElement {
  const box = document.createElement('div');
  box.className = 'cm-note';
  const code = document.createElement('code');
  code.textContent = item.signature.startsWith('(') ? item.name + item.signature : item.signature || item.name;
  box.append(code, item.summary);
  return box;
}

/** The dotted word around a position. */
function wordAt(view: EditorView, position: number): { from: number; to: number; text: string } | null {
  const line = view.state.doc.lineAt(position);
  const at = position - line.from;
  for (const match of line.text.matchAll(/[A-Za-z_][\w.]*/g)) {
    const [from, to] = [match.index, match.index + match[0].length];
    if (from <= at && at <= to) return { from: line.from + from, to: line.from + to, text: match[0] };
  }
  return null;
}

/** Completion, hover: read `names` anew each time, so that they may arrive late. */
export function languageSupport(names: () => readonly LanguageName[]) {
  let [known, map] = [names(), index(names())];
  const lookup = () => {
    if (known !== names()) [known, map] = [names(), index(names())];
    return map;
  };

  const complete = (context: CompletionContext): CompletionResult | null => {
    const word = context.matchBefore(/[A-Za-z_][\w.]*/);
    if (!word || (word.text.length < 2 && !context.explicit)) return null;
    const from = word.from + word.text.lastIndexOf('.') + 1;
    const prefix = word.text.slice(0, word.text.lastIndexOf('.') + 1);
    const options = [...lookup()].flatMap(([name, item]) =>
      name.startsWith(prefix) && !name.slice(prefix.length).includes('.')
        ? [{
            label: name.slice(prefix.length),
            type: 'function',
            detail: item.signature.replace(/^[\w.]+/, '').slice(0, 36),
            info: () => note(item),
          }]
        : [],
    );
    return options.length ? { from, options, validFor: /^\w*$/ } : null;
  };

  const hover = hoverTooltip((view, position) => {
    const word = wordAt(view, position);
    const item = word && lookup().get(word.text);
    if (!item) return null;
    return { pos: word.from, end: word.to, above: true, create: () => ({ dom: note(item) }) };
  });

  return [autocompletion({ override: [complete], icons: false }), hover];
}
