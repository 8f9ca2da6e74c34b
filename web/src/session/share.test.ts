import { describe, expect, it } from 'vitest';
import { pack, unpack } from './share';

describe('share', () => {
  it('restores what it packed', async () => {
    const state = { source: 'def f(x):\n    return “é” # ∇', args: [1, 'NaN', null], deep: { a: [true] } };
    const fragment = await pack(state);
    expect(fragment).toMatch(/^s=[\w-]+$/);
    expect(await unpack(`#${fragment}`)).toEqual(state);
  });

  it('makes long source short', async () => {
    expect((await pack({ source: 'x = jnp.sin(x)\n'.repeat(200) })).length).toBeLessThan(200);
  });

  it('takes other fragments for no state and refuses damaged ones', async () => {
    expect(await unpack('#results')).toBeNull();
    await expect(unpack('#s=AAAA')).rejects.toThrow();
  });

  it('refuses a bomb', async () => {
    await expect(unpack(`#${await pack('a'.repeat(3 << 20))}`)).rejects.toThrow('too much');
  });
});
