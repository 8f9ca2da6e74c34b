import { expect, it } from 'vitest';
import { npyOf } from './tables';

it('writes a .npy whose data begins on a multiple of 64 bytes', async () => {
  for (const shape of [[3], [1000000], [123, 45]]) {
    const raw = new Uint8Array(await npyOf(shape, new Float64Array([1.5])).arrayBuffer());
    const start = 10 + raw[8]! + 256 * raw[9]!;
    expect(start % 64).toBe(0);
    expect(raw.length).toBe(start + 8);
    expect(new TextDecoder().decode(raw.subarray(10, start))).toMatch(/^\{'descr': '<f8'.*'shape': \([\d, ]+\), \} *\n$/);
    expect(new DataView(raw.buffer).getFloat64(start, true)).toBe(1.5);
  }
});
