// What this server is and offers: its names, devices, verbs and their fields. Asked once.

import { api } from '../api/client';
import type { Device, LanguageName, OpenApi } from '../api/answers';
import { fieldsOf, verbsOf, type Field } from '../api/fields';

/** Verbs that every server has, in the order shown; the others come as its document lists them. */
const FIRST_VERBS = [
  'evaluate', 'grad', 'value_and_grad', 'jacobian', 'hessian', 'jvp', 'vjp', 'hvp',
];
const UNLISTED = new Set(['check_grads', 'abstract_eval']);

export class Server {
  names = $state.raw<LanguageName[]>([]);
  devices = $state.raw<Device[]>([]);
  verbs = $state.raw<ReadonlySet<string>>(new Set([...FIRST_VERBS, 'check_grads']));
  /** Verbs and paths of the server, for examples that need them. */
  offers = $state.raw<ReadonlySet<string>>(new Set());
  #document = $state.raw<OpenApi | null>(null);

  readonly shownVerbs = $derived([
    ...FIRST_VERBS.filter((verb) => this.verbs.has(verb)),
    ...[...this.verbs].filter((verb) => !FIRST_VERBS.includes(verb) && !UNLISTED.has(verb)),
  ]);

  #met: Promise<void> | null = null;

  /** Ask what the server is; once, unless with `again`. */
  meet(again = false): Promise<void> {
    if (again) this.#met = null;
    return (this.#met ??= this.#ask());
  }

  async #ask(): Promise<void> {
    const quiet = async (work: Promise<void>) => work.catch(() => undefined);
    await Promise.all([
      quiet(api.language().then(({ body }) => void (this.names = body.data))),
      quiet(api.devices().then(({ body }) => void (this.devices = body.data))),
      quiet(api.openapi().then(({ body }) => this.#read(body))),
    ]);
  }

  #read(document: OpenApi): void {
    const verbs = verbsOf(document);
    this.#document = document;
    this.verbs = new Set(verbs.length ? verbs : FIRST_VERBS);
    this.offers = new Set([...verbs, ...Object.keys(document.paths)]);
  }

  /** The fields of a verb's body, as the server's own document describes them. */
  fields(verb: string): Field[] {
    return this.#document ? fieldsOf(this.#document, verb) : [];
  }

  takes(verb: string, field: string): boolean {
    return this.fields(verb).some(({ name }) => name === field);
  }

  /** Whether a verb has a form of its own, made from its fields. */
  isSolver(verb: string): boolean {
    return !FIRST_VERBS.includes(verb);
  }

  /** Whether a verb is followed as a run rather than waited for. */
  isLong(verb: string): boolean {
    return this.isSolver(verb) && this.offers.has('/v1/runs/{run_id}/events');
  }
}
