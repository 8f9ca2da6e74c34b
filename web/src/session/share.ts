// The whole state of the page in a URL fragment: deflated JSON in base64url. Nothing of it
// reaches the server by opening a link, and opening one never runs anything.

import { parseJson, type Json } from '../api/json';

const PREFIX = 's=';
/** Messengers cut longer links. */
export const LONG = 16_000;
const INFLATED_LIMIT = 1 << 20;

/** Why a link cannot be read, or not be made, in words for who follows or makes it. */
export class LinkError extends Error {}

const DAMAGED = 'it is damaged or cut short';

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
    if (size > INFLATED_LIMIT) throw new LinkError('it unpacks to more than a page holds');
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

/** A fragment (without `#`) that holds the state. Throws LinkError where none could. */
export async function pack(state: Json): Promise<string> {
  const raw = new TextEncoder().encode(JSON.stringify(state));
  if (raw.length > INFLATED_LIMIT) throw new LinkError('too much for a link: give the large inputs as files');
  const packed = await pipe(raw, new CompressionStream('deflate-raw'));
  let text = '';
  for (const byte of packed) text += String.fromCharCode(byte);
  return PREFIX + btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** The state that a fragment holds; undefined when it is none of ours. Throws LinkError. */
export async function unpack(fragment: string): Promise<Json | undefined> {
  const text = fragment.replace(/^#/, '');
  if (!text.startsWith(PREFIX)) return undefined;
  try {
    const body = text.slice(PREFIX.length).replaceAll('-', '+').replaceAll('_', '/');
    const packed = Uint8Array.from(atob(body), (char) => char.charCodeAt(0));
    const raw = await pipe(packed, new DecompressionStream('deflate-raw'));
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(raw));
  } catch (error) {
    throw error instanceof LinkError ? error : new LinkError(DAMAGED);
  }
}
