// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Sections of the page: gzip of (two lengths, list of columns, JSON value, bytes of the columns).
// docs/formats/page.md has the layout; src/render/page/page_box.c writes it.
import { source } from './source';

export interface Column {
  name: string;
  enc: 'b' | 'u' | 'z' | 'd';
  rows: number;
  bytes: number;
}

export interface Section<T> {
  json: T;
  column(name: string): Float64Array;
  ints(name: string): Int32Array;
  bytes(name: string): Uint8Array;
}

export async function gunzip(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Reads the varints of a column into `out`. Values beyond 2^53 lose their last bits, like all numbers in JavaScript. */
export function decode(enc: Column['enc'], from: Uint8Array, out: Float64Array | Int32Array): void {
  const n = out.length;
  let at = 0;
  let sum = 0;
  const signed = enc !== 'u';
  const summed = enc === 'd';
  for (let i = 0; i < n; i++) {
    let b = from[at++];
    let v = b & 127;
    if (b > 127) {
      b = from[at++];
      v |= (b & 127) << 7;
      if (b > 127) {
        b = from[at++];
        v |= (b & 127) << 14;
        for (let scale = 2097152; b > 127; scale *= 128) {
          b = from[at++];
          v += (b & 127) * scale;
        }
      }
    }
    if (signed) v = v < 2147483648 ? (v >>> 1) ^ -(v & 1) : v % 2 ? -(v + 1) / 2 : v / 2;
    if (summed) v = sum += v;
    out[i] = v;
  }
  if (at > from.length) throw new Error('a column ends early');
}

/** Parses JSON with texts of unknown origin: invisible characters that reverse or hide the text around them are escaped, as the commands
 * do. */
export const parse = <T>(text: string): T => JSON.parse(text.replace(/[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, (c) => `\\\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)) as T;

export function open<T>(raw: Uint8Array): Section<T> {
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  const nHead = view.getUint32(0, true);
  const nJson = view.getUint32(4, true);
  const text = new TextDecoder();
  const list = JSON.parse(text.decode(raw.subarray(8, 8 + nHead))) as Column[];
  const json = parse<T>(text.decode(raw.subarray(8 + nHead, 8 + nHead + nJson)));
  const places = new Map<string, [Column, Uint8Array]>();
  let at = 8 + nHead + nJson;
  for (const c of list) {
    places.set(c.name, [c, raw.subarray(at, at + c.bytes)]);
    at += c.bytes;
  }
  if (at !== raw.length) throw new Error('a section has the wrong length');
  const find = (name: string) => {
    const p = places.get(name);
    if (!p) throw new Error(`the page has no column ${name}`);
    return p;
  };
  const fill = <A extends Float64Array | Int32Array>(name: string, make: (n: number) => A): A => {
    const [c, bytes] = find(name);
    const out = make(c.rows);
    if (c.enc === 'b') out.set(bytes);
    else decode(c.enc, bytes, out);
    return out;
  };
  return {
    json,
    column: (name) => fill(name, (n) => new Float64Array(n)),
    ints: (name) => fill(name, (n) => new Int32Array(n)),
    bytes: (name) => find(name)[1],
  };
}

/** Defines fields of `to` that are computed on first use. */
export function lazy<T extends object>(to: T, make: { [K in keyof T]?: () => T[K] }): T {
  for (const key of Object.keys(make) as (keyof T)[]) {
    let kept: T[typeof key] | undefined;
    Object.defineProperty(to, key, { get: () => (kept ??= make[key]!()) });
  }
  return to;
}

/** Returns the column of a field: opName is op_name. */
export const snake = (name: string): string => name.replace(/[A-Z]/, (c) => `_${c.toLowerCase()}`);

let trace = 0;
/** Selects the page's trace to read: sections of the k-th are called NAME.k, those of the first NAME. */
export const setTrace = (k: number): void => void (trace = k);
export const traceNumber = (): number => trace;
const own = (name: string): string => (trace ? `${name}.${trace}` : name);

/** Returns whether the page has this section, for the current trace or for all. It stays true after reading. */
export const has = (name: string): boolean => source.has(own(name));
export const hasShared = (name: string): boolean => source.has(name);

/** Returns a section of the current trace, or one `shared` by all. */
export const load = async <T>(name: string, shared = false): Promise<Section<T>> => open<T>(await gunzip(await source.read(shared ? name : own(name))));
