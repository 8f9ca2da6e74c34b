import { expect, it } from 'vitest';
import { parseEvent } from './events';

it('reads events with their ids, and no heartbeats', () => {
  expect(parseEvent('id: 7\nevent: status\ndata: {"run":"run_0","status":"done"}')).toEqual({
    id: '7', event: { kind: 'status', data: { run: 'run_0', status: 'done' } },
  });
  for (const block of ['retry: 1000', ': still here', '']) expect(parseEvent(block)).toBeNull();
});
