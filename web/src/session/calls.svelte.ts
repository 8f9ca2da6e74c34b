// What was asked and what came back: calls that are waited for, and runs followed by their events.

import { api } from '../api/client';
import { OVER } from '../api/events';
import type { CallResult, Progress } from '../api/answers';
import type { Answer } from '../api/http';
import { toProblem, type Problem } from '../api/problem';
import type { Body } from './request';
import type { Check } from './check.svelte';
import type { Compiled } from './compiled.svelte';
import type { Draft } from './draft.svelte';
import type { Server } from './server.svelte';

/** A run faster than this is repeated by itself when an input moves. */
const LIVE_LIMIT_MS = 250;
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
  body: Body;
  source: string;
  status: string;
  told: Progress[];
  /** Whether it has been asked to stop. */
  cancelling?: boolean;
  /** Whether its events are broken off for now. */
  lost?: boolean;
}

export const isOver = (course: Course) => OVER.has(course.status);

export class Calls {
  run = $state.raw<Run | null>(null);
  #problem = $state.raw<{ problem: Problem; at: string } | null>(null);
  running = $state(false);
  /** Whether the last call was given up by who asked. */
  cancelled = $state(false);
  course = $state.raw<Course | null>(null);

  #draft: Draft;
  #check: Check;
  #server: Server;
  #compiled: Compiled;
  #abort: AbortController | null = null;
  #timer = 0;
  #live: 'idle' | 'running' | 'again' = 'idle';

  constructor(draft: Draft, check: Check, server: Server, compiled: Compiled) {
    this.#draft = draft;
    this.#check = check;
    this.#server = server;
    this.#compiled = compiled;
  }

  /** What was refused last, as long as the page still asks what it then asked. */
  get problem(): Problem | null {
    return this.#problem && this.#problem.at === this.#draft.fingerprint ? this.#problem.problem : null;
  }

  set problem(problem: Problem | null) {
    this.#problem = problem && { problem, at: this.#draft.fingerprint };
  }

  /** The source that results on the page belong to. */
  get source(): string | null {
    return (this.course ?? this.run)?.source ?? null;
  }

  clear(): void {
    this.leave();
    this.run = null;
    this.course = null;
    this.problem = null;
    this.cancelled = false;
  }

  /** Give up what is under way: nobody would see how a run of this page ends. */
  leave(): void {
    this.#abort?.abort();
    this.running = false;
    const { course } = this;
    if (course && !isOver(course)) void api.cancel(course.run).catch(() => undefined);
  }

  /** An input's value moved: run again when that is quick, else the cards are stale. */
  moved(): void {
    if (this.run?.source !== this.#draft.settings.source || runTime(this.run) > LIVE_LIMIT_MS) return;
    if (this.#server.isLong(this.#draft.settings.verb)) return;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#repeat(), LIVE_PAUSE_MS);
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

  /** Send the request as shown, once its inputs are known to be those of its source. */
  async execute({ live = false } = {}): Promise<void> {
    this.leave();
    const abort = (this.#abort = new AbortController());
    if (!live) this.running = true;
    this.course = null;
    this.cancelled = false;
    try {
      const asked = this.#asked();
      if (!live) await this.#check.settle();
      // What was edited while it waited was not asked for.
      if (abort.signal.aborted || asked !== this.#asked()) return;
      const { body, settings: { verb, source } } = this.#draft;
      // What keeps it from running is told where it stands.
      if (body === null || this.#check.problem) this.problem = null;
      else if (this.#server.isLong(verb)) await this.#follow(verb, body, source, abort.signal);
      else await this.#call(verb, body, source, abort.signal);
    } catch (error) {
      const problem = toProblem(error);
      if (problem) this.problem = problem;
    } finally {
      if (this.#abort === abort) this.running = false;
    }
  }

  /** The settings as they are, less what a check may change. */
  #asked(): string {
    return JSON.stringify({ ...this.#draft.settings, wrt: [] });
  }

  async #call(verb: string, body: Body, source: string, signal: AbortSignal): Promise<void> {
    const answer = await api.call(verb, body, signal);
    this.run = { verb, body, answer, source };
    this.problem = null;
    void this.#compiled.follow(body, answer.body.program);
  }

  /** Start a run and follow its events to the end. */
  async #follow(verb: string, body: Body, source: string, signal: AbortSignal): Promise<void> {
    const started = performance.now();
    const { body: made, headers } = await api.start(verb, body, signal);
    this.problem = null;
    this.course = { run: made.run, verb, body, source, status: made.status, told: [] };
    for await (const { kind, data } of api.events(made.run, signal)) {
      const course = this.course as Course | null;
      if (course?.run !== made.run) return;
      if (kind === 'status') this.course = { ...course, status: data.status };
      else if (kind === 'connection') this.course = { ...course, lost: data.lost };
      else if (kind === 'progress') this.course = { ...course, told: [...course.told, data] };
      else if (kind === 'problem') this.problem = data;
      else {
        const elapsed = performance.now() - started;
        this.run = { verb, body, source, answer: { body: data, timing: [], elapsed, status: 200, headers } };
        // Its texts and cost come when they come: the run's own events are not kept waiting.
        void this.#compiled.follow(body, data.program);
      }
    }
  }

  cancel(): void {
    const { course } = this;
    this.running = false;
    // The stream of a run stays open: it tells that the run was cancelled.
    if (!course || isOver(course)) {
      this.cancelled = true;
      return this.#abort?.abort();
    }
    if (course.cancelling) return;
    this.course = { ...course, cancelling: true };
    api.cancel(course.run).catch((error) => {
      this.problem = toProblem(error);
      if (this.course?.run === course.run) this.course = { ...this.course, cancelling: false };
    });
  }
}

/** What a repeated run will cost: the time to execute, where the server says it. */
function runTime({ answer }: Run): number {
  return answer.timing.find(({ name }) => name === 'execute')?.ms ?? answer.elapsed;
}
