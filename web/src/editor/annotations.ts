// What the page draws on the source: ghost shapes at line ends, the linked line, and per line
// how many compiled instructions came from it, by role.

import { RangeSetBuilder, StateEffect, StateField } from '@codemirror/state';
import { Decoration, EditorView, gutter, GutterMarker, WidgetType, type DecorationSet } from '@codemirror/view';
import type { LineShape, Role } from '../api/answers';
import { aval } from '../api/wire';

export const setShapes = StateEffect.define<readonly LineShape[]>();
export const setLinked = StateEffect.define<number | null>();
export const setWeights = StateEffect.define<ReadonlyMap<number, Record<Role, number>>>();

class Ghost extends WidgetType {
  constructor(readonly text: string) {
    super();
  }
  override eq(other: Ghost): boolean {
    return other.text === this.text;
  }
  // Pointer moves over the ghost still concern its line.
  override ignoreEvent(): boolean {
    return false;
  }
  override toDOM(): HTMLElement {
    const span = document.createElement('span');
    span.className = 'cm-ghost';
    span.textContent = this.text;
    span.setAttribute('aria-hidden', 'true');
    return span;
  }
}

const shapes = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(set, change) {
    for (const effect of change.effects) {
      if (!effect.is(setShapes)) continue;
      const builder = new RangeSetBuilder<Decoration>();
      const last = new Map(effect.value.map((item) => [item.line, item]));
      for (const item of [...last.values()].sort((a, b) => a.line - b.line)) {
        if (item.line < 1 || item.line > change.state.doc.lines) continue;
        const end = change.state.doc.line(item.line).to;
        const widget = new Ghost(aval(item.dtype, item.shape));
        builder.add(end, end, Decoration.widget({ widget, side: 1 }));
      }
      return builder.finish();
    }
    return set.map(change.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

const linkedLine = Decoration.line({ class: 'cm-linked' });

const linked = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(set, change) {
    for (const effect of change.effects) {
      if (!effect.is(setLinked)) continue;
      const line = effect.value;
      if (line === null || line < 1 || line > change.state.doc.lines) return Decoration.none;
      return Decoration.set([linkedLine.range(change.state.doc.line(line).from)]);
    }
    return set.map(change.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

class Weight extends GutterMarker {
  constructor(readonly counts: Record<Role, number>) {
    super();
  }
  override eq(other: Weight): boolean {
    return JSON.stringify(other.counts) === JSON.stringify(this.counts);
  }
  override toDOM(): HTMLElement {
    const box = document.createElement('div');
    box.className = 'cm-weight';
    for (const role of ['primal', 'tangent', 'cotangent'] as const) {
      if (!this.counts[role]) continue;
      const bar = document.createElement('i');
      bar.className = role;
      bar.style.height = `${Math.min(2 + Math.sqrt(this.counts[role]) * 1.4, 6)}px`;
      box.append(bar);
    }
    return box;
  }
}

const weights = StateField.define<ReadonlyMap<number, Record<Role, number>>>({
  create: () => new Map(),
  update(value, change) {
    for (const effect of change.effects) if (effect.is(setWeights)) return effect.value;
    return change.docChanged ? new Map() : value;
  },
});

const weightGutter = gutter({
  class: 'cm-weights',
  lineMarker(view, block) {
    const counts = view.state.field(weights).get(view.state.doc.lineAt(block.from).number);
    return counts ? new Weight(counts) : null;
  },
  lineMarkerChange: (update) => update.startState.field(weights) !== update.state.field(weights),
});

export const annotations = [shapes, linked, weights, weightGutter];
