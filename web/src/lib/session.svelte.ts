// The state of the page and what moves it: edit → describe → shapes; run → result → program.
// Components read it and call its methods; only this file decides when the server is asked.

import {
  api, toProblem,
  type Answer, type CallResult, type Device, type FunctionInfo, type LanguageName,
  type LineShape, type OpenApi, type Parameter, type Problem, type ProgramInfo,
  type Progress,
} from './api';
import type { Example } from './gallery';
import { inputOf, reconcile, wireOf, type Input } from './inputs';
import { bodyOf, DEFAULTS, TAKES_WRT, type Body, type Settings } from './request';
import { pack, unpack } from './share';
import { type Json } from './wire';

/** Verbs the page has a form for, in the order shown. Others appear when the server lists them. */
const FIRST_VERBS = [
  'evaluate', 'grad', 'value_and_grad', 'jacobian', 'hessian', 'jvp', 'vjp', 'hvp',
];

/** A run faster than this is repeated by itself when an input moves. */
const LIVE_LIMIT_MS = 250;
const EDIT_PAUSE_MS = 280;
const LIVE_PAUSE_MS = 40;

export interface Run {
  verb: string;
  body: Body;
  answer: Answer<CallResult>;
  source: string;
}

/** A run that is, or was, followed by its events. */
export interface Course {
  run: string;
  verb: string;
  status: string;
  told: Progress[];
}

/** The variable that an integrated function takes before its state is not among the arguments. */
function ownParameters(verb: string, parameters: Parameter[]): Parameter[] {
  return verb === 'ode' ? parameters.slice(1) : parameters;
}

export class Session {
  settings = $state<Settings>({ ...DEFAULTS });
  inputs = $state<Input[]>([]);
  range = $state<[number, number]>([-5, 5]);
  exampleId = $state('');

  info = $state.raw<FunctionInfo | null>(null);
  shapes = $state.raw<LineShape[]>([]);
  output = $state.raw<Json | null>(null);
  /** What is wrong with the source or the inputs, as of the last check. */
  editProblem = $state.raw<Problem | null>(null);

  run = $state.raw<Run | null>(null);
  runProblem = $state.raw<Problem | null>(null);
  running = $state(false);
  course = $state.raw<Course | null>(null);
  program = $state.raw<ProgramInfo | null>(null);
  /** The source that the shown program was made from. */
  programSource = $state('');
  programProblem = $state.raw<Problem | null>(null);

  names = $state.raw<LanguageName[]>([]);
  devices = $state.raw<Device[]>([]);
  verbs = $state.raw<ReadonlySet<string>>(new Set([...FIRST_VERBS, 'check_grads']));
  /** Verbs and paths of the server, for examples that need them. */
  offers = $state.raw<ReadonlySet<string>>(new Set());
  #fields = $state.raw<ReadonlyMap<string, ReadonlySet<string>>>(new Map());

  /** The source line under the pointer or cursor, wherever that is. */
  line = $state<number | null>(null);

  #edit: AbortController | null = null;
  #call: AbortController | null = null;
  #editTimer = 0;
  #liveTimer = 0;

  /** The body that pressing Run would send; null while an input is not readable. */
  readonly body = $derived.by<Body | null>(() => {
    try {
      return bodyOf(this.settings, this.inputs, this.output);
    } catch {
      return null;
    }
  });
  readonly fingerprint = $derived(JSON.stringify([this.settings.verb, this.body]));
  readonly stale = $derived(
    this.run !== null && JSON.stringify([this.run.verb, this.run.body]) !== this.fingerprint,
  );
  readonly offeredVerbs = $derived([
    ...FIRST_VERBS.filter((verb) => this.verbs.has(verb)),
    ...[...this.verbs].filter((verb) => !FIRST_VERBS.includes(verb) && verb !== 'check_grads' && verb !== 'abstract_eval'),
  ]);

  /** Ask once what this server is: its names, devices and verbs. */
  async meet(): Promise<void> {
    const quiet = async (work: Promise<void>) => work.catch(() => undefined);
    await Promise.all([
      quiet(api.language().then(({ body }) => void (this.names = body.data))),
      quiet(api.devices().then(({ body }) => void (this.devices = body.data))),
      quiet(api.openapi().then(({ body }) => {
        this.verbs = verbsOf(body);
        this.offers = new Set([...this.verbs, ...Object.keys(body.paths)]);
        this.#fields = new Map([...this.verbs].map((verb) => [verb, fieldsOf(body, verb)]));
      })),
    ]);
  }

  /** Whether the server's document says that a verb takes a field. */
  takes(verb: string, field: string): boolean {
    return this.#fields.get(verb)?.has(field) ?? false;
  }

  /** Put an example on the page. It is traced, not run. */
  open(example: Example): void {
    this.exampleId = example.id;
    this.range = example.range ?? [-5, 5];
    const args = Object.entries(example.args);
    const inputs = args.map(([name, value]) => {
      const [low, high] = example.sliders?.[name] ?? [];
      return { ...inputOf(name, value), ...(low === undefined || high === undefined ? {} : { low, high }) };
    });
    this.#reset({ ...DEFAULTS, ...example.settings }, inputs);
  }

  #reset(settings: Settings, inputs: Input[]): void {
    this.#call?.abort();
    this.settings = settings;
    this.inputs = inputs;
    this.run = null;
    this.course = null;
    this.runProblem = null;
    this.program = null;
    this.programProblem = null;
    this.shapes = [];
    this.output = null;
    this.line = null;
    this.edited(0);
  }

  /**
   * The source or an input's shape changed: check it after a pause. What was being checked is
   * given up at once, for its answer would be put beside a source that is no longer there.
   */
  edited(pause = EDIT_PAUSE_MS): void {
    this.#edit?.abort();
    clearTimeout(this.#editTimer);
    this.#checked = null;
    this.#editTimer = window.setTimeout(() => void this.#settle(), pause);
  }

  /** Wait until what the page shows now has been checked, without the pause. */
  async #settle(): Promise<void> {
    let check: Promise<void> | null;
    do {
      clearTimeout(this.#editTimer);
      check = this.#checked ??= this.#check();
      await check;
    } while (this.#checked !== check);
  }

  #checked: Promise<void> | null = null;

  setSource(source: string): void {
    if (source === this.settings.source) return;
    this.settings.source = source;
    this.edited();
  }

  /** An input's value moved: run again when that is quick, else the cards are stale. */
  moved(): void {
    this.edited();
    if (this.run?.source !== this.settings.source || runTime(this.run) > LIVE_LIMIT_MS) return;
    clearTimeout(this.#liveTimer);
    this.#liveTimer = window.setTimeout(() => void this.#repeat(), LIVE_PAUSE_MS);
  }

  /** One live run at a time; what moved meanwhile is run when it is back. */
  async #repeat(): Promise<void> {
    if (this.#live !== 'idle') {
      this.#live = 'again';
      return;
    }
    do {
      this.#live = 'running';
      await this.execute({ live: true });
    } while ((this.#live as string) === 'again');
    this.#live = 'idle';
  }

  #live: 'idle' | 'running' | 'again' = 'idle';

  async #check(): Promise<void> {
    const abort = new AbortController();
    this.#edit = abort;
    const { source } = this.settings;
    if (!source.trim()) {
      this.editProblem = null;
      this.shapes = [];
      return;
    }
    try {
      const wanted = `${this.settings.verb === 'ode'} ${source}`;
      if (this.info === null || this.#described !== wanted) {
        const { body } = await api.describe(source, abort.signal);
        if (abort.signal.aborted) return;
        this.info = body;
        this.output = null;
        this.#described = wanted;
        const parameters = ownParameters(this.settings.verb, body.parameters);
        this.inputs = reconcile(this.inputs, parameters, source);
        this.#dropUnknown(parameters.map(({ name }) => name));
      }
      const body = bodyOf({ ...this.settings, verb: 'evaluate', diagnose: false, extra: '' }, this.inputs);
      if (this.settings.verb === 'ode' && Array.isArray(body.args)) body.args = [0, ...body.args];
      const answer = await api.abstractEval(body, abort.signal);
      if (abort.signal.aborted) return;
      this.output = answer.body.result;
      this.shapes = answer.body.lines ?? [];
      this.editProblem = null;
    } catch (error) {
      const problem = toProblem(error);
      if (problem && !abort.signal.aborted) {
        this.editProblem = problem;
        this.shapes = [];
      }
    }
  }

  #described = '';

  #dropUnknown(names: string[]): void {
    const known = this.settings.wrt.filter((name) => names.includes(name));
    if (known.length !== this.settings.wrt.length) this.settings.wrt = known;
  }

  /** Send the request as shown, once its inputs are known to be those of its source. */
  async execute({ live = false } = {}): Promise<void> {
    this.#call?.abort();
    const abort = new AbortController();
    this.#call = abort;
    if (!live) this.running = true;
    this.course = null;
    try {
      const { verb, source } = this.settings;
      const asked = JSON.stringify({ ...this.settings, wrt: [] });
      if (!live) await this.#settle();
      const { body } = this;
      // What was edited while it waited was not asked for.
      if (asked !== JSON.stringify({ ...this.settings, wrt: [] })) return;
      if (body === null || abort.signal.aborted) return;
      if (this.editProblem) {
        this.runProblem = this.editProblem;
        return;
      }
      if (this.isLong(verb)) {
        await this.#follow(verb, body, source, abort.signal);
        return;
      }
      const answer = await api.call(verb, body, abort.signal);
      this.run = { verb, body, answer, source };
      this.runProblem = null;
      if (answer.body.program && answer.body.program !== this.program?.program) {
        await this.#describeProgram(body, answer.body.program, abort.signal);
      }
    } catch (error) {
      const problem = toProblem(error);
      if (problem) this.runProblem = problem;
    } finally {
      if (this.#call === abort) this.running = false;
    }
  }

  /** Whether a verb is followed as a run rather than waited for. */
  isLong(verb: string): boolean {
    return !FIRST_VERBS.includes(verb) && this.offers.has('/v1/runs/{run_id}/events');
  }

  /** Start a run and follow its events to the end. */
  async #follow(verb: string, body: Body, source: string, signal: AbortSignal): Promise<void> {
    const started = performance.now();
    const { body: made, headers } = await api.start(verb, body, signal);
    this.runProblem = null;
    this.course = { run: made.run, verb, status: made.status, told: [] };
    for await (const { kind, data } of api.events(made.run, signal)) {
      const course = this.course as Course | null;
      if (course?.run !== made.run) return;
      if (kind === 'status') this.course = { ...course, status: data.status };
      else if (kind === 'progress') this.course = { ...course, told: [...course.told, data] };
      else if (kind === 'problem') this.runProblem = data;
      else {
        const elapsed = performance.now() - started;
        this.run = { verb, body, source, answer: { body: data, timing: [], elapsed, status: 200, headers } };
        // Its texts and cost come when they come: the run's own events are not kept waiting.
        if (data.program) void this.#describeProgram(body, data.program, signal).catch(() => undefined);
      }
    }
  }

  cancel(): void {
    const course = this.course;
    this.running = false;
    if (course && !['done', 'failed', 'cancelled'].includes(course.status)) {
      // The stream stays open: it tells that the run was cancelled.
      void api.cancel(course.run).catch((error) => (this.runProblem = toProblem(error)));
    } else this.#call?.abort();
  }

  /** Trace and compile without running, to read the program. */
  async compile(): Promise<void> {
    if (this.body === null) return;
    this.programProblem = null;
    this.running = true;
    try {
      await this.#describeProgram(this.body, null);
    } catch (error) {
      this.programProblem = toProblem(error);
    } finally {
      this.running = false;
    }
  }

  async #describeProgram(body: Body, id: string | null, signal?: AbortSignal): Promise<void> {
    const { diagnose: _, timeout_s: __, ...rest } = body;
    const source = this.settings.source;
    try {
      const answer = await api.program({ ...rest, verb: this.settings.verb }, signal);
      this.program = id === null ? answer.body : { ...answer.body, program: id };
    } catch (error) {
      // The result stands without its cost: the texts can still be asked for by id.
      if (id === null || toProblem(error) === null) throw error;
      this.program = { program: id };
    }
    this.programSource = source;
    this.programProblem = null;
  }

  /** What a link carries. */
  state(): Json {
    const { source, verb } = this.settings;
    const rest = Object.entries(this.settings).filter(
      ([key, value]) =>
        JSON.stringify(value) !== JSON.stringify(DEFAULTS[key as keyof Settings]) &&
        key !== 'source' && key !== 'verb',
    );
    const args = this.inputs.map((input): Json => {
      const value = safeWire(input);
      return { n: input.name, v: value ?? null, d: input.kind === 'default' };
    });
    return { v: 1, source, verb, settings: Object.fromEntries(rest) as Json, args, range: this.range };
  }

  async link(): Promise<string> {
    return `${location.origin}${location.pathname}#${await pack(this.state())}`;
  }

  /** Restore a fragment. True when it held a state. It is traced and never run. */
  async restore(fragment: string): Promise<boolean> {
    const state = (await unpack(fragment)) as { [key: string]: Json } | null;
    if (state === null || typeof state.source !== 'string' || typeof state.verb !== 'string') return false;
    const given = typeof state.settings === 'object' && state.settings !== null ? state.settings : {};
    const known = Object.entries(given).filter(([key]) => key in DEFAULTS);
    const settings = { ...DEFAULTS, ...Object.fromEntries(known), source: state.source, verb: state.verb };
    const args = (Array.isArray(state.args) ? state.args : []) as { n: string; v: Json; d?: boolean }[];
    const inputs = args.map(({ n, v, d }) =>
      d ? { ...inputOf(String(n), 1, true), kind: 'default' as const } : inputOf(String(n), v),
    );
    if (Array.isArray(state.range)) this.range = [Number(state.range[0]), Number(state.range[1])];
    this.exampleId = '';
    this.#reset(settings as Settings, inputs);
    return true;
  }

  /** The function and arguments as shown, for plots and checks that ask another verb. */
  bodyFor(verb: string, patch: Partial<Settings> = {}): Body {
    const settings = { ...this.settings, direction: '', extra: '', diagnose: false, ...patch, verb };
    const wrt = TAKES_WRT.has(verb) ? settings.wrt : [];
    return bodyOf({ ...settings, wrt }, this.inputs, this.output);
  }
}

/** What a repeated run will cost: the time to execute, where the server says it. */
function runTime({ answer }: Run): number {
  return answer.timing.find(({ name }) => name === 'execute')?.ms ?? answer.elapsed;
}

function safeWire(input: Input): Json | undefined {
  try {
    return wireOf(input);
  } catch {
    return input.tree;
  }
}

/** Nouns of the API that also take a POST under /v1. */
const NOUNS = new Set(['functions', 'arrays', 'programs', 'runs', 'models', 'sessions']);

function verbsOf(document: OpenApi): Set<string> {
  const verbs = Object.entries(document.paths).flatMap(([path, operations]) => {
    const name = /^\/v1\/([a-z_]+)$/.exec(path)?.[1];
    return name && 'post' in operations && !NOUNS.has(name) ? [name] : [];
  });
  return new Set(verbs.length ? verbs : FIRST_VERBS);
}

/** Names of the fields in a verb's body. */
function fieldsOf(document: OpenApi, verb: string): Set<string> {
  const body = document.paths[`/v1/${verb}`]?.post as
    | { requestBody?: { content?: Record<string, { schema?: { properties?: object } }> } }
    | undefined;
  const schema = body?.requestBody?.content?.['application/json']?.schema;
  return new Set(Object.keys(schema?.properties ?? {}));
}

export const session = new Session();
