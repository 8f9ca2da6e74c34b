// Wrapped lines hang: what does not fit goes on under the line's own indentation, four deeper.

import { RangeSetBuilder } from '@codemirror/state';
import { Decoration, ViewPlugin, type DecorationSet, type EditorView, type ViewUpdate } from '@codemirror/view';

const PADDING = 8;
const DEEPER = 4;
const DEEPEST = 16;

function hang(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to; ) {
      const line = view.state.doc.lineAt(at);
      const indent = /^ */.exec(line.text)?.[0].length ?? 0;
      const n = Math.min(indent, DEEPEST) + DEEPER;
      const style = `text-indent: -${n}ch; padding-left: calc(${PADDING}px + ${n}ch)`;
      builder.add(line.from, line.from, Decoration.line({ attributes: { style } }));
      at = line.to + 1;
    }
  }
  return builder.finish();
}

export const hangingIndent = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = hang(view);
    }
    update(update: ViewUpdate): void {
      if (update.docChanged || update.viewportChanged) this.decorations = hang(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);
