// A run's server-sent events, read by fetch so that a key can be sent.

import type { CallResult, Progress } from './answers';
import { authorised } from './http';
import { parseAnswer } from './json';
import { problemOf, ProblemError, type Problem } from './problem';

export type RunEvent =
  | { kind: 'status'; data: { run: string; status: string } }
  | { kind: 'progress'; data: Progress }
  | { kind: 'result'; data: CallResult }
  | { kind: 'problem'; data: Problem }
  /** Whether the events are broken off for now; of the page itself, no server sends it. */
  | { kind: 'connection'; data: { lost: boolean } };

/** Statuses after which a run has no more events. */
export const OVER: ReadonlySet<string> = new Set(['done', 'failed', 'cancelled']);

/** A stream that breaks off is taken up again after each of these pauses. */
const PAUSES_MS = [300, 1000, 3000, 8000];

/** Server-sent events of a run until it ends, over connections that break off. */
export async function* eventsOf(run: string, signal: AbortSignal): AsyncGenerator<RunEvent> {
  let [last, lost] = ['', false];
  for (let tries = 0; ; tries++) {
    try {
      const response = await listen(run, last, signal);
      if (response.status === 204) return;
      if (lost) yield { kind: 'connection', data: { lost: (lost = false) } };
      for await (const { id, event } of blocksOf(response)) {
        [last, tries] = [id, 0];
        yield event;
        if (event.kind === 'status' && OVER.has(event.data.status)) return;
      }
    } catch (error) {
      if (signal.aborted || error instanceof ProblemError) throw error;
    }
    const pause = PAUSES_MS[tries];
    yield { kind: 'connection', data: { lost: (lost = true) } };
    if (pause === undefined) throw new ProblemError(unheard(run));
    await new Promise((resume) => setTimeout(resume, pause));
    signal.throwIfAborted();
  }
}

function unheard(run: string): Problem {
  const detail = `The events of ${run} break off. It may go on without this page.`;
  return { type: 'about:blank', title: 'No answer', status: 0, detail, hint: 'Is the server still running?' };
}

async function listen(run: string, last: string, signal: AbortSignal): Promise<Response> {
  const headers = { Accept: 'text/event-stream', ...(last ? { 'Last-Event-ID': last } : {}) };
  const response = await fetch(`/v1/runs/${run}/events`, authorised({ headers, signal }));
  if (!response.ok) throw new ProblemError(await problemOf(response));
  return response;
}

async function* blocksOf({ body }: Response): AsyncGenerator<{ id: string; event: RunEvent }> {
  if (!body) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let held = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (held + value).split('\n\n');
    held = blocks.pop() ?? '';
    for (const block of blocks) {
      const found = parseEvent(block);
      if (found) yield found;
    }
  }
}

/** One block of an event stream; null for heartbeats and `retry` lines. */
export function parseEvent(block: string): { id: string; event: RunEvent } | null {
  const lines = block.split('\n');
  const member = (name: string) => lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
  const [kind, data] = [member('event')[0], member('data').join('\n')];
  return kind && data ? { id: member('id')[0] ?? '', event: { kind, data: parseAnswer(data) } as RunEvent } : null;
}
