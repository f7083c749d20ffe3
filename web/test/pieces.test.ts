// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
import { expect, test } from 'vitest';
import { type Pieces, type PiecesJson, Provider, readPieces } from '../src/data/pieces';
import type { Section } from '../src/data/section';
import { spanAt, visitRow } from '../src/data/spans';

const section = (json: Partial<PiecesJson>, columns: Record<string, number[]>): Section<PiecesJson> => ({
  json: { from: 0, to: 100, px: 10, spans: 9, names: ['', 'a', 'b'], cats: ['unknown', 'op'], cut: 0, tracks: [], ...json },
  column: (name) => Float64Array.from(columns[name]),
  ints: (name) => Int32Array.from(columns[name]),
  bytes: (name) => Uint8Array.from(columns[name]),
});

test('pieces are rows of spans, with counts of the whole track', () => {
  const p = readPieces(
    section(
      { from: 50, tracks: [{ name: 't', kind: 'thread', lane: 1, track: 0, rows: [2, 1], spans: 9 }] },
      { gap: [0, 5, -40], dur: [10, 20, 40], name: [1, 2, 1], cat: [1, 1, 1], place: [3, 7, 12], count: [4, 1, 4], busy: [8, 20, 30] },
    ),
  );
  expect([...p.t0]).toEqual([50, 65, 45]);
  expect([...p.t1]).toEqual([60, 85, 85]);
  expect(p.tracks[0].rows).toEqual([{ first: 0, end: 2 }, { first: 2, end: 3 }]);
  expect(p.tracks[0].count).toBe(9);
  expect(p.used).toEqual(['op']);
  expect(spanAt(p, p.tracks[0].rows[0], 70, 0)).toBe(1);
  const seen: number[] = [];
  visitRow(p, p.tracks[0].rows[0], 0, 100, 10, (_x0, _x1, i) => seen.push(i));
  expect(seen).toEqual([0, 1]);
});

test('asks for more than is seen, once at a time, and only when it must', async () => {
  const asked: [number, number, number][] = [];
  const waiting: (() => void)[] = [];
  const got: Pieces[] = [];
  const read = (from: number, to: number, px: number) =>
    new Promise<Pieces>((done) => {
      asked.push([from, to, px]);
      waiting.push(() => done({ from, to, px } as Pieces));
    });
  const answer = async () => {
    waiting.shift()!();
    await new Promise((done) => setTimeout(done));
  };
  const p = new Provider(read, 1000, (v) => got.push(v));
  expect(p.visible(0, 1000, 100)).toBeUndefined();
  p.visible(100, 900, 100);
  p.visible(200, 300, 100); // during a request, only the last further one counts
  expect(asked).toEqual([[0, 1000, 100]]);
  await answer();
  expect(asked[1]).toEqual([150, 350, 200]);
  await answer();
  expect(got.length).toBe(2);
  expect(p.visible(180, 280, 100)).toBe(got[1]); // inside, at the same resolution: no request
  expect(p.visible(210, 300, 100)).toBe(got[1]);
  expect(asked.length).toBe(2);
  p.visible(220, 230, 100); // higher resolution
  expect(asked[2]).toEqual([215, 235, 200]);
  await answer();
  p.visible(0, 1000, 100); // elsewhere
  expect(asked[3]).toEqual([0, 1000, 100]);
});

test('a server that is away is asked again at the next step', async () => {
  let tries = 0;
  const p = new Provider(() => Promise.reject(new Error(String(++tries))), 1000, () => {});
  p.visible(0, 10, 10);
  await new Promise((done) => setTimeout(done));
  p.visible(0, 10, 10);
  expect(tries).toBe(2);
});
