// What every plot over a range has: samples of the function, the request that fills them, and
// whether they are those of what the page now shows.

import { toProblem, type Problem } from '../api/problem';
import { session } from '../session/session.svelte';

export class Sampling<T> {
  sample = $state.raw<T | null>(null);
  problem = $state.raw<Problem | null>(null);
  busy = $state(false);
  #refusedFor = '';
  #shown = $state('');
  #drawnFor = '';
  #abort: AbortController | null = null;
  #key: () => string;
  #take: (signal: AbortSignal) => Promise<T>;

  /** `key` names what is to be sampled, `take` asks the server for it. */
  constructor(key: () => string, take: (signal: AbortSignal) => Promise<T>) {
    this.#key = key;
    this.#take = take;
  }

  get stale(): boolean {
    return this.sample !== null && this.#shown !== this.#key();
  }

  get empty(): boolean {
    return this.sample === null;
  }

  /** What was refused, as long as the same is asked. */
  get refusal(): Problem | null {
    return this.problem && this.#refusedFor === this.#key() ? this.problem : null;
  }

  draw = async (): Promise<void> => {
    if (session.body === null) return;
    this.#abort?.abort();
    const { signal } = (this.#abort = new AbortController());
    const wanted = (this.#drawnFor = this.#key());
    this.busy = true;
    try {
      this.sample = await this.#take(signal);
      this.#shown = wanted;
      this.problem = null;
    } catch (error) {
      const found = toProblem(error);
      if (found) [this.#refusedFor, this.problem] = [wanted, found];
    } finally {
      if (!signal.aborted) this.busy = false;
    }
  };

  /** To be called in an effect: draw when the source has been run as the page shows it. */
  follow(): void {
    const ran = session.calls.source === session.settings.source && !session.stale;
    if (ran && this.#drawnFor !== this.#key()) void this.draw();
  }
}
