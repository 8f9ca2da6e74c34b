// What the page shows and would send: the source, what is asked of it, and a value for each input.

import { inputOf, type Input } from '../inputs/input';
import { bodyOf, DEFAULTS, TAKES_WRT, type Body, type Settings } from './request';
import { isLarge } from './extent';
import { Faults, type Fault } from './faults.svelte';
import type { Json } from '../api/json';

export const RANGE: [number, number] = [-5, 5];

export class Draft {
  settings = $state<Settings>({ ...DEFAULTS });
  inputs = $state<Input[]>([]);
  /** The range that plots are drawn over. */
  range = $state<[number, number]>(RANGE);
  exampleId = $state('');
  readonly faults = new Faults();
  /** Shapes of the result, as of the last check of this source; null while unknown. */
  output = $state.raw<Json | null>(null);

  /** The body that pressing Run would send; null while something typed cannot be read. */
  readonly body = $derived.by<Body | null>(() => (this.#asked instanceof Error || this.faults.first ? null : this.#asked));
  readonly #asked = $derived.by<Body | Error>(() => {
    try {
      const body = bodyOf(this.settings, this.inputs, this.output);
      return isLarge(this.settings, this.inputs, this.output) ? { ...body, output: { store: true } } : body;
    } catch (error) {
      return error as Error;
    }
  });
  /** The field that keeps the page from making a request. */
  readonly fault = $derived.by<Fault | null>(() => {
    if (this.faults.first) return this.faults.first;
    return this.#asked instanceof Error ? { place: 'The request', says: this.#asked.message } : null;
  });
  readonly fingerprint = $derived(JSON.stringify([this.settings.verb, this.body]));

  /** The function and arguments as shown, for plots and checks that ask another verb. */
  bodyFor(verb: string, patch: Partial<Settings> = {}): Body {
    const settings = { ...this.settings, direction: '', fields: {}, diagnose: false, ...patch, verb };
    const wrt = TAKES_WRT.has(verb) ? settings.wrt : [];
    return bodyOf({ ...settings, wrt }, this.inputs, this.output);
  }

  /** The number that a scalar input holds. */
  scalar(name: string): number {
    return this.inputs.find((input) => input.name === name)?.scalar ?? 0;
  }

  input(name: string): Input {
    return this.inputs.find((input) => input.name === name) ?? inputOf(name, 0);
  }
}
