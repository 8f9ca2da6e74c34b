// How many compiled instructions came from each source line, by role; shown in the editor's margin.

import type { IrText, Role } from '../api/answers';

class Weights {
  byLine = $state.raw<ReadonlyMap<number, Record<Role, number>>>(new Map());

  set(text: IrText | null): void {
    const map = new Map<number, Record<Role, number>>();
    for (const { source, role } of text?.lines ?? []) {
      for (const line of source) {
        const counts = map.get(line) ?? { primal: 0, tangent: 0, cotangent: 0 };
        counts[role ?? 'primal'] += 1;
        map.set(line, counts);
      }
    }
    this.byLine = map;
  }
}

export const weights = new Weights();
