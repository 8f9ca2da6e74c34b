// The typed client of the server's API: the only place of the page that calls fetch.

import type { Json } from './wire';

/** An RFC 9457 answer: what was wrong, where, and what to do instead. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  line?: number;
  column?: number;
  pointer?: string;
  hint?: string;
}

export class ProblemError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail);
  }
}

export interface Parameter {
  name: string;
  default?: boolean;
}

export interface FunctionInfo {
  function: string;
  name?: string;
  kind?: string;
  parameters: Parameter[];
}

export interface LineShape {
  line: number;
  dtype: string;
  shape: number[];
}

export interface AbstractResult {
  result: Json;
  lines?: LineShape[];
}

export type CacheState = 'memory' | 'store' | 'compiled' | string;

export interface NonFinite {
  outputs: { output: string; nan: number; infinite: number; of: number }[];
  /** The operations that first made it, where the request asked for a diagnosis. */
  origin?: { line: number | null; role: Role; operation: string; message: string }[];
  hint?: string;
}

export interface CallResult {
  result: Json;
  program?: string;
  cache?: CacheState;
  device?: string;
  /** On a miss: the parts of the program's key that were new. */
  missed?: string[];
  nonfinite?: NonFinite;
  /** Of a solver: why it stopped, whether it found what was asked, and what it cost. */
  outcome?: string;
  success?: boolean;
  statistics?: Record<string, number>;
}

/** What a run tells of itself; members depend on the solver. */
export interface Progress {
  phase?: string;
  iteration?: number;
  value?: Json;
  gradient_norm?: Json;
  residual?: Json;
  fraction?: number;
  seconds?: number;
}

export type RunEvent =
  | { kind: 'status'; data: { run: string; status: string } }
  | { kind: 'progress'; data: Progress }
  | { kind: 'result'; data: CallResult }
  | { kind: 'problem'; data: Problem };

export interface ProgramInfo {
  program: string;
  signature?: Json;
  cost?: { flops?: number; bytes?: number; peak_memory?: number; [key: string]: Json | undefined };
  cache?: { state?: CacheState; missed?: string[] };
}

export type Stage = 'jaxpr' | 'stablehlo' | 'hlo';
export type Role = 'primal' | 'tangent' | 'cotangent';

export interface IrLine {
  n: number;
  source: number[];
  role?: Role | null;
}

export interface IrText {
  text: string;
  lines: IrLine[];
}

export interface LanguageName {
  name: string;
  signature: string;
  summary: string;
}

export interface Device {
  id: string;
  kind: string;
  state?: string;
}

export interface ArrayInfo {
  array: string;
  dtype?: string;
  shape?: number[];
  layout?: string;
  nse?: number;
}

/** A binned spy plot: counts of stored entries, row-major. */
export interface PatternInfo {
  shape?: number[];
  bins?: [number, number];
  counts?: Json;
  [key: string]: Json | undefined;
}

export interface OpenApi {
  info: { title: string; version: string; description?: string };
  paths: Record<string, Record<string, Json>>;
  components?: { schemas?: Record<string, Json> };
}

export interface Answer<T> {
  body: T;
  /** Server-Timing, in milliseconds and in the server's order. */
  timing: { name: string; ms: number }[];
  /** Round trip seen by the page, in milliseconds. */
  elapsed: number;
  status: number;
  headers: Headers;
}

/** Parse a Server-Timing header into its phases. */
export function parseTiming(header: string | null): { name: string; ms: number }[] {
  if (!header) return [];
  return header.split(',').flatMap((part) => {
    const [name, ...rest] = part.trim().split(';');
    const found = rest.map((item) => /^\s*dur=([\d.eE+-]+)/.exec(item)?.[1]).find(Boolean);
    return name && found ? [{ name, ms: Number(found) }] : [];
  });
}

async function problemOf(response: Response): Promise<Problem> {
  const fallback: Problem = {
    type: 'about:blank',
    title: response.statusText || 'The server answered with an error',
    status: response.status,
    detail: `HTTP ${response.status}`,
  };
  try {
    return { ...fallback, ...((await response.json()) as Partial<Problem>) };
  } catch {
    return fallback;
  }
}

/** The bearer key of a server that wants one; kept as long as this tab lives. */
export const key = {
  get: () => sessionStorage.getItem('gradserve-key') ?? '',
  set: (value: string) => sessionStorage.setItem('gradserve-key', value),
};

function authorised(init: RequestInit): RequestInit {
  const held = key.get();
  if (!held) return init;
  return { ...init, headers: { ...init.headers, Authorization: `Bearer ${held}` } };
}

async function request<T>(path: string, init: RequestInit = {}): Promise<Answer<T>> {
  const started = performance.now();
  let response: Response;
  try {
    response = await fetch(path, authorised(init));
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ProblemError({
      type: 'about:blank',
      title: 'No answer',
      status: 0,
      detail: 'The server could not be reached.',
      hint: 'Is it still running?',
    });
  }
  if (!response.ok) throw new ProblemError(await problemOf(response));
  const body = (response.status === 204 ? null : await response.json()) as T;
  const timing = parseTiming(response.headers.get('Server-Timing'));
  const elapsed = performance.now() - started;
  return { body, timing, elapsed, status: response.status, headers: response.headers };
}

function post<T>(path: string, body: Json, signal?: AbortSignal): Promise<Answer<T>> {
  return request<T>(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
}

/** Server-sent events of a run until it ends; read by fetch, so that a key can be sent. */
async function* eventsOf(run: string, signal: AbortSignal): AsyncGenerator<RunEvent> {
  const headers = { Accept: 'text/event-stream' };
  const response = await fetch(`/v1/runs/${run}/events`, authorised({ headers, signal }));
  if (!response.ok || !response.body) throw new ProblemError(await problemOf(response));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (held + value).split('\n\n');
    held = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = parseEvent(block);
      if (event) yield event;
    }
  }
}

/** One block of an event stream; null for heartbeats and `retry` lines. */
export function parseEvent(block: string): RunEvent | null {
  const lines = block.split('\n');
  const kind = lines.find((line) => line.startsWith('event: '))?.slice(7);
  const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6)).join('\n');
  return kind && data ? ({ kind, data: JSON.parse(data) as unknown } as RunEvent) : null;
}

const get = <T>(path: string, signal?: AbortSignal) => request<T>(path, signal ? { signal } : {});

export const api = {
  language: () => get<{ data: LanguageName[] }>('/v1/language'),
  devices: () => get<{ data: Device[] }>('/v1/devices'),
  openapi: () => get<OpenApi>('/openapi.json'),
  describe: (source: string, signal?: AbortSignal) =>
    post<FunctionInfo>('/v1/functions', { source }, signal),
  abstractEval: (body: Json, signal?: AbortSignal) =>
    post<AbstractResult>('/v1/abstract_eval', body, signal),
  call: (verb: string, body: Json, signal?: AbortSignal) =>
    post<CallResult>(`/v1/${verb}`, body, signal),
  /** The same call, not waited for. */
  start: (verb: string, body: Json, signal?: AbortSignal) =>
    request<{ run: string; status: string }>(`/v1/${verb}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Prefer: 'respond-async' },
      body: JSON.stringify(body),
      ...(signal ? { signal } : {}),
    }),
  events: eventsOf,
  cancel: (run: string) => request<Json>(`/v1/runs/${run}`, { method: 'DELETE' }),
  program: (body: Json, signal?: AbortSignal) => post<ProgramInfo>('/v1/programs', body, signal),
  ir: (program: string, stage: Stage, signal?: AbortSignal) =>
    get<IrText>(`/v1/programs/${program}/ir/${stage}`, signal),
  upload: (data: Blob | ArrayBuffer, contentType: string) =>
    request<ArrayInfo>('/v1/arrays', {
      method: 'POST',
      headers: { 'Content-Type': contentType },
      body: data,
    }),
  array: (id: string) => get<ArrayInfo>(`/v1/arrays/${id}`),
  pattern: (id: string) => get<PatternInfo>(`/v1/arrays/${id}/pattern`),
};

/** What any thrown thing says, as a problem; null when the call was merely aborted. */
export function toProblem(error: unknown): Problem | null {
  if (error instanceof ProblemError) return error.problem;
  if (error instanceof DOMException && error.name === 'AbortError') return null;
  const detail = error instanceof Error ? error.message : String(error);
  return { type: 'about:blank', title: 'The page failed', status: 0, detail };
}
