import { deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { LinkError, pack, unpack } from './share';

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
    expect(await unpack('#results')).toBeUndefined();
    expect(await unpack(`#${await pack(null)}`)).toBeNull();
    for (const text of ['AAAA', '%%%', '']) await expect(unpack(`#s=${text}`)).rejects.toThrow('damaged');
  });

  it('refuses a bomb, and to make one', async () => {
    const bomb = deflateRawSync(Buffer.from(JSON.stringify('a'.repeat(30 << 20)))).toString('base64url');
    await expect(unpack(`#s=${bomb}`)).rejects.toThrow('more than a page holds');
    await expect(pack('a'.repeat(3 << 20))).rejects.toThrow('too much');
  });

  it('refuses what is nested too deep, and what is no text', async () => {
    const packed = (text: string | Buffer) => `#s=${deflateRawSync(text).toString('base64url')}`;
    for (const depth of [65, 400_000]) {
      await expect(unpack(packed('['.repeat(depth) + ']'.repeat(depth))), String(depth)).rejects.toThrow(LinkError);
    }
    for (const text of ['{"v": 1', Buffer.from([0xff, 0xfe]), '']) await expect(unpack(packed(text))).rejects.toThrow('damaged');
  });
});
