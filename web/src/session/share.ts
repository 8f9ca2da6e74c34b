// The whole state of the page in a URL fragment: deflated JSON in base64url. Nothing of it
// reaches the server by opening a link, and opening one never runs anything.

import type { Json } from '../api/wire';

const PREFIX = 's=';
/** Browsers and messengers cut longer links. */
export const LINK_LIMIT = 16_000;
const INFLATED_LIMIT = 1 << 20;

async function pipe(bytes: Uint8Array, through: GenericTransformStream): Promise<Uint8Array> {
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(
    through as unknown as ReadableWritablePair<Uint8Array, Uint8Array>,
  );
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > INFLATED_LIMIT) throw new Error('The link holds too much.');
    chunks.push(value);
  }
  const out = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    out.set(chunk, at);
    at += chunk.length;
  }
  return out;
}

/** A fragment (without `#`) that holds the state. */
export async function pack(state: Json): Promise<string> {
  const raw = new TextEncoder().encode(JSON.stringify(state));
  const packed = await pipe(raw, new CompressionStream('deflate-raw'));
  let text = '';
  for (const byte of packed) text += String.fromCharCode(byte);
  return PREFIX + btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** The state that a fragment holds; null when there is none. Throws on a damaged one. */
export async function unpack(fragment: string): Promise<Json | null> {
  const text = fragment.replace(/^#/, '');
  if (!text.startsWith(PREFIX)) return null;
  const body = text.slice(PREFIX.length).replaceAll('-', '+').replaceAll('_', '/');
  const packed = Uint8Array.from(atob(body), (char) => char.charCodeAt(0));
  const raw = await pipe(packed, new DecompressionStream('deflate-raw'));
  return JSON.parse(new TextDecoder().decode(raw)) as Json;
}
