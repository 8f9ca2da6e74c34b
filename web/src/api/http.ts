// How the page asks: the only place that calls fetch, with the key of a server that wants one.

import { parseAnswer, type Json } from './json';
import { problemOf, ProblemError } from './problem';

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

/** The bearer key of a server that wants one; kept as long as this tab lives. */
export const key = {
  get: () => sessionStorage.getItem('gradserve-key') ?? '',
  set: (value: string) => sessionStorage.setItem('gradserve-key', value),
};

export function authorised(init: RequestInit): RequestInit {
  const held = key.get();
  if (!held) return init;
  return { ...init, headers: { ...init.headers, Authorization: `Bearer ${held}` } };
}

/** Ask, and read the answer. Throws a ProblemError of the server, or one that says it is not there. */
export async function request<T>(path: string, init: RequestInit = {}): Promise<Answer<T>> {
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
  const body = (response.status === 204 ? null : parseAnswer(await response.text())) as T;
  const timing = parseTiming(response.headers.get('Server-Timing'));
  const elapsed = performance.now() - started;
  return { body, timing, elapsed, status: response.status, headers: response.headers };
}

export function post<T>(path: string, body: Json, signal?: AbortSignal): Promise<Answer<T>> {
  return request<T>(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
}

export const get = <T>(path: string, signal?: AbortSignal) => request<T>(path, signal ? { signal } : {});
