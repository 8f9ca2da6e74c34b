// A run's server-sent events, read by fetch so that a key can be sent.

import type { CallResult, Progress } from './answers';
import { authorised } from './http';
import { problemOf, ProblemError, type Problem } from './problem';

export type RunEvent =
  | { kind: 'status'; data: { run: string; status: string } }
  | { kind: 'progress'; data: Progress }
  | { kind: 'result'; data: CallResult }
  | { kind: 'problem'; data: Problem };

/** Server-sent events of a run until it ends. */
export async function* eventsOf(run: string, signal: AbortSignal): AsyncGenerator<RunEvent> {
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
