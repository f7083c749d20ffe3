// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
import { describe, expect, it } from 'vitest';
import { decode, open } from '../src/data/section';

/** A plain version of the writer in src/render/page/page_box.c. */
function encode(enc: string, values: bigint[]): number[] {
  const out: number[] = [];
  let last = 0n;
  for (const v of values) {
    let x = enc === 'd' ? v - last : v;
    last = v;
    if (enc !== 'u') x = x < 0n ? -2n * x - 1n : 2n * x;
    for (; x >= 128n; x >>= 7n) out.push(Number(x & 127n) | 128);
    out.push(Number(x));
  }
  return out;
}

describe('columns', () => {
  const edges = [0n, 1n, 127n, 128n, 16383n, 16384n, 2097151n, 2097152n, 268435456n, 4294967296n, 9007199254740991n];
  const rows: [string, 'u' | 'z' | 'd', bigint[]][] = [
    ['unsigned edges', 'u', edges],
    ['signed edges', 'z', edges.flatMap((v) => (v < 2n ** 52n ? [v, -v] : []))],
    ['differences', 'd', [5n, 5n, 3n, 1000000n, -7n, 0n]],
    ['none', 'u', []],
  ];
  it.each(rows)('%s come back', (_, enc, values) => {
    const out = new Float64Array(values.length);
    decode(enc, Uint8Array.from(encode(enc, values)), out);
    expect([...out].map((v) => v + 0)).toEqual(values.map((v) => Number(v)));
  });
  it('random values come back', () => {
    let seed = 1;
    const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
    for (let round = 0; round < 200; round++) {
      const values = Array.from({ length: 50 }, () => BigInt(Math.floor(2 ** (random() * 50) * (random() < 0.5 ? -1 : 1))));
      const out = new Float64Array(values.length);
      decode('d', Uint8Array.from(encode('d', values)), out);
      expect([...out]).toEqual(values.map(Number));
    }
  });
  it('a column that ends early is told', () => {
    expect(() => decode('u', Uint8Array.from([128]), new Float64Array(1))).toThrow('ends early');
  });
});

describe('sections', () => {
  const section = (columns: object[], json: object, bytes: number[]) => {
    const text = new TextEncoder();
    const head = text.encode(JSON.stringify(columns));
    const body = text.encode(JSON.stringify(json));
    const out = new Uint8Array(8 + head.length + body.length + bytes.length);
    new DataView(out.buffer).setUint32(0, head.length, true);
    new DataView(out.buffer).setUint32(4, body.length, true);
    out.set(head, 8);
    out.set(body, 8 + head.length);
    out.set(bytes, 8 + head.length + body.length);
    return out;
  };
  it('gives the value and the columns', () => {
    const s = open<{ a: string }>(section([{ name: 'x', enc: 'u', rows: 2, bytes: 2 }, { name: 'y', enc: 'b', rows: 1, bytes: 1 }], { a: '<b>' }, [1, 2, 255]));
    expect(s.json.a).toBe('<b>');
    expect([...s.column('x')]).toEqual([1, 2]);
    expect([...s.bytes('y')]).toEqual([255]);
    expect(() => s.column('z')).toThrow('no column z');
  });
  it('what turns or hides text is written out, joiners are not', () => {
    const name = 'a\u202egnp.exe\u202c \u200bzero \u2066\u200f\u061c\ufeff\u0085 \ud83d\udc69\u200d\ud83d\udcbb \u0645\u0631 \\u202e "';
    const s = open<Record<string, string>>(section([], { [name]: name }, []));
    const want = 'a\\u202egnp.exe\\u202c \\u200bzero \\u2066\\u200f\\u061c\\ufeff\\u0085 \ud83d\udc69\u200d\ud83d\udcbb \u0645\u0631 \\u202e "';
    expect(s.json).toEqual({ [want]: want });
  });
  it('a wrong length is told', () => {
    expect(() => open(section([{ name: 'x', enc: 'u', rows: 2, bytes: 3 }], {}, [1, 2]))).toThrow('wrong length');
  });
});
