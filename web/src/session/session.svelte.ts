// The state of the page and what moves it: edit → check; run → result → program.
// Components read it and call its methods; its parts alone decide when the server is asked.

import type { Example } from '../gallery/example';
import type { Parameter } from '../api/answers';
import { api } from '../api/client';
import type { Problem } from '../api/problem';
import { inputOf, referenceOf, type Input } from '../inputs/input';
import { DEFAULTS, type Settings } from './request';
import { LinkError, pack, unpack } from './share';
import { Calls } from './calls.svelte';
import { Check, ownParameters } from './check.svelte';
import { Compiled } from './compiled.svelte';
import { Draft, RANGE } from './draft.svelte';
import { fitsParameters, fitsServer, readLink, write } from './link';
import { Server } from './server.svelte';

export class Session extends Draft {
  /** The source line under the pointer or cursor, wherever that is. */
  line = $state<number | null>(null);

  readonly server = new Server();
  readonly check = new Check(this);
  readonly compiled = new Compiled();
  readonly calls = new Calls(this, this.check, this.server, this.compiled);

  /** Counts what was put on the page whole: nothing that was typed before outlives it. */
  opened = $state(0);

  #restoring = 0;

  readonly stale = $derived.by(() => {
    const { run } = this.calls;
    return run !== null && JSON.stringify([run.verb, run.body]) !== this.fingerprint;
  });

  /** What keeps the page from running: a field that cannot be read, or what the check refuses. */
  readonly hindrance = $derived.by((): Problem | null => {
    const { fault } = this;
    if (!fault) return this.check.problem;
    return { type: 'about:blank', title: 'A field cannot be read', status: 0, detail: `${fault.place}: ${fault.says}` };
  });

  /** Whether a refusal stands elsewhere on the page already. */
  isTold({ detail }: Problem): boolean {
    return [this.check.problem, this.calls.problem].some((other) => other?.detail === detail);
  }

  /** Put an example on the page. It is traced, not run. */
  open(example: Example): void {
    this.exampleId = example.id;
    this.range = example.range ?? RANGE;
    const inputs = Object.entries(example.args).map(([name, value]) => {
      const [low, high] = example.sliders?.[name] ?? [];
      return { ...inputOf(name, value), ...(low === undefined || high === undefined ? {} : { low, high }) };
    });
    this.#reset({ ...DEFAULTS, ...example.settings }, inputs);
  }

  #reset(settings: Settings, inputs: Input[]): void {
    this.opened += 1;
    this.settings = settings;
    this.inputs = inputs;
    this.line = null;
    this.calls.clear();
    this.compiled.clear();
    this.check.clear();
  }

  setSource(source: string): void {
    if (source === this.settings.source) return;
    this.settings.source = source;
    this.exampleId = '';
    this.compiled.problem = null;
    this.check.edited();
  }

  /** An input's value or shape changed. */
  moved(): void {
    this.compiled.problem = null;
    this.check.edited();
    this.calls.moved();
  }

  /** Trace and compile without running, to read the program. */
  async compile(): Promise<void> {
    await this.check.settle();
    if (this.body !== null) await this.compiled.make(this.settings.verb, this.body);
  }

  /** Throws a LinkError where the page holds what no link can carry. */
  async link(): Promise<string> {
    // What was edited a moment ago may have other parameters.
    await this.check.settle();
    const { fault } = this;
    if (fault) throw new LinkError(`${fault.place}: ${fault.says}`);
    return `${location.origin}${location.pathname}#${await pack(write(this))}`;
  }

  /** Restore a fragment. True when it held a state. It is traced and never run. */
  async restore(fragment: string): Promise<boolean> {
    const mark = (this.#restoring += 1);
    const state = await unpack(fragment);
    if (state === undefined) return false;
    const linked = readLink(state);
    const [described] = await Promise.all([describe(linked.settings), this.server.meet()]);
    if (described) fitsParameters(linked.inputs, described);
    fitsServer(linked.settings, this.server);
    // Another link was followed meanwhile.
    if (mark !== this.#restoring) return true;
    this.range = linked.range ?? RANGE;
    this.exampleId = '';
    this.#reset(linked.settings, linked.inputs);
    void this.#identify();
    return true;
  }

  /** Ask what the arrays are that a link names by their ids. */
  async #identify(): Promise<void> {
    for (const input of this.inputs) {
      const { kind, reference } = input;
      if (kind !== 'reference' || !reference || reference.dtype) continue;
      // Of one that is not there the check tells.
      const found = await api.array(reference.id).catch(() => null);
      if (found && input.reference?.id === reference.id) Object.assign(input, referenceOf(found.body, reference.label));
    }
  }
}

/** The parameters of a linked function; null where the check will tell why there are none. */
async function describe({ source, verb }: Settings): Promise<Parameter[] | null> {
  const described = await api.describe(source).catch(() => null);
  return described && ownParameters(verb, described.body.parameters);
}

export const session = new Session();
