// What is typed somewhere on the page and cannot be read. While anything is, nothing is run: the
// value before it is never taken in its place.

import { SvelteMap } from 'svelte/reactivity';

export interface Fault {
  /** The field, as the page names it: a parameter, a member of the body. */
  place: string;
  says: string;
}

export class Faults {
  #held = new SvelteMap<symbol, Fault>();

  get first(): Fault | null {
    return this.#held.values().next().value ?? null;
  }

  /** The first that is wrong in a field. */
  at(place: string): string {
    for (const fault of this.#held.values()) if (fault.place === place) return fault.says;
    return '';
  }

  /**
   * Tell of a field for as long as its component stands on the page: to be called as it starts.
   * `says` is empty while what the field holds can be read.
   */
  watch(read: () => Fault): void {
    const mark = Symbol('field');
    $effect.pre(() => {
      const fault = read();
      if (!fault.says) return;
      this.#held.set(mark, fault);
      return () => this.#held.delete(mark);
    });
  }
}
