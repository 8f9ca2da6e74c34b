// Wrapped lines hang: what does not fit goes on under the line's own indentation, four deeper.
// A class for each depth, for the browser copies a line's attributes while one types, and a strict
// Content-Security-Policy refuses a copied style.

import { RangeSetBuilder } from '@codemirror/state';
import { Decoration, EditorView, ViewPlugin, type DecorationSet, type ViewUpdate } from '@codemirror/view';

const PADDING = 8;
const DEEPER = 4;
const DEEPEST = 16;

function hang(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to; ) {
      const line = view.state.doc.lineAt(at);
      const indent = /^ */.exec(line.text)?.[0].length ?? 0;
      builder.add(line.from, line.from, Decoration.line({ class: `cm-hang-${Math.min(indent, DEEPEST)}` }));
      at = line.to + 1;
    }
  }
  return builder.finish();
}

const depths = EditorView.theme(Object.fromEntries(Array.from({ length: DEEPEST + 1 }, (_, indent) => [
  `.cm-line.cm-hang-${indent}`,
  { textIndent: `-${indent + DEEPER}ch`, paddingLeft: `calc(${PADDING}px + ${indent + DEEPER}ch)` },
])));

const plugin = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = hang(view);
    }
    update(update: ViewUpdate): void {
      if (update.docChanged || update.viewportChanged) this.decorations = hang(update.view);
    }
  },
  { decorations: (held) => held.decorations },
);

export const hangingIndent = [plugin, depths];
