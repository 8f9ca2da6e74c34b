// What the server says of the source while it is typed: its parameters, shapes, and refusals.
// Nothing is asked about a source with inputs that belong to another one.

import { api } from '../api/client';
import type { LineShape, Parameter } from '../api/answers';
import { toProblem, type Problem } from '../api/problem';
import { formerInput, outline, reconcile, UNREADABLE } from '../inputs/input';
import { bodyOf, carried, differentiated } from './request';
import type { Draft } from './draft.svelte';

const PAUSE_MS = 280;

/** The variable that an integrated function takes before its state is not among the arguments. */
export function ownParameters(verb: string, parameters: Parameter[]): Parameter[] {
  return verb === 'ode' ? parameters.slice(1) : parameters;
}

export class Check {
  shapes = $state.raw<LineShape[]>([]);
  /** What is wrong with the source or the inputs. */
  problem = $state.raw<Problem | null>(null);

  #draft: Draft;
  #timer = 0;
  #abort: AbortController | null = null;
  /** The check of what the page now shows, once begun. */
  #current: Promise<void> | null = null;
  /** Counts what changed on the page. */
  #edits = 0;
  #described = '';
  #evaluated = '';
  /** Of an integrated function, its variable. */
  #leading = '';

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  /** Forget the source before: its shapes, and what was wrong with it. */
  clear(): void {
    this.shapes = [];
    this.problem = null;
    this.#draft.output = null;
    this.#described = this.#evaluated = '';
    this.edited(0);
  }

  /** The source or an input changed: give up the check before, and begin a new one after a pause. */
  edited(pause = PAUSE_MS): void {
    this.#abort?.abort();
    this.#current = null;
    this.#edits += 1;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.settle(), pause);
  }

  /** Return once what the page shows has been checked; without the pause. */
  async settle(): Promise<void> {
    let edits: number;
    do {
      edits = this.#edits;
      clearTimeout(this.#timer);
      await (this.#current ??= this.#ask());
    } while (edits !== this.#edits);
  }

  async #ask(): Promise<void> {
    const { signal } = (this.#abort = new AbortController());
    try {
      if (!this.#draft.settings.source.trim()) this.shapes = [];
      else {
        await this.#describe(signal);
        if (!signal.aborted) await this.#evaluate(signal);
      }
      if (!signal.aborted) this.problem = null;
    } catch (error) {
      const problem = toProblem(error);
      if (!problem || signal.aborted) return;
      this.problem = problem;
      this.shapes = [];
      this.#evaluated = '';
      // A server that was busy or away is asked again by the next run.
      if (problem.status !== 422) this.#current = null;
    }
  }

  /** Ask for the parameters of a new source, and keep an input for each. */
  async #describe(signal: AbortSignal): Promise<void> {
    const { source, verb } = this.#draft.settings;
    const wanted = `${verb === 'ode'} ${source}`;
    if (this.#described === wanted) return;
    const { body } = await api.describe(source, signal);
    if (signal.aborted) return;
    const parameters = ownParameters(verb, body.parameters);
    this.#rename(parameters, source);
    this.#draft.output = null;
    this.#described = wanted;
    this.#leading = body.parameters[0]?.name ?? '';
  }

  /** Take over the parameters of another source: what was given by name stays with its name. */
  #rename(parameters: Parameter[], source: string): void {
    const { inputs: before, settings } = this.#draft;
    const inputs = reconcile(before, parameters, source);
    const former = new Map(inputs.map(({ name }, i) => [name, formerInput(before, parameters, i, source)?.name ?? '']));
    const latter = new Map([...former].map(([name, old]) => [old, name]));
    const was = differentiated(settings, before.map(({ name }) => name));
    const wrt = settings.wrt.flatMap((name) => latter.get(name) ?? []);
    const now = differentiated({ ...settings, wrt }, inputs.map(({ name }) => name));
    const direction = carried(settings, was, now, inputs, (name) => former.get(name) ?? '');
    const vmap = settings.vmap && Object.fromEntries(Object.entries(settings.vmap).flatMap(([name, axis]) => (latter.has(name) ? [[latter.get(name)!, axis]] : [])));
    this.#draft.inputs = inputs;
    if (String(wrt) !== String(settings.wrt)) settings.wrt = wrt;
    if (direction !== settings.direction) settings.direction = direction;
    if (JSON.stringify(vmap) !== JSON.stringify(settings.vmap)) settings.vmap = vmap;
  }

  /** Ask for shapes, when the source, a type or a shape is another than before. */
  async #evaluate(signal: AbortSignal): Promise<void> {
    const { settings, inputs } = this.#draft;
    const { source, verb, dtype, vmap } = settings;
    const outlines = inputs.map(outline);
    if (outlines.includes(UNREADABLE)) return;
    const wanted = JSON.stringify([source, verb === 'ode', dtype, vmap, outlines]);
    if (this.#evaluated === wanted) return;
    const plain = { ...settings, verb: 'evaluate', diagnose: false, fields: {} };
    const body = bodyOf(plain, inputs);
    if (verb === 'ode') body.args = Array.isArray(body.args) ? [0, ...body.args] : { ...(body.args as object), [this.#leading]: 0 };
    const answer = await api.abstractEval(body, signal);
    if (signal.aborted) return;
    this.#draft.output = answer.body.result;
    this.shapes = answer.body.lines ?? [];
    this.#evaluated = wanted;
  }
}
