// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
import { describe, expect, it } from 'vitest';
import { computed, effect, signal } from '../src/signals';

describe('signals', () => {
  it('an effect runs once for every change of what it read last', () => {
    const which = signal(true);
    const a = signal(1);
    const b = signal(10);
    const seen: number[] = [];
    const stop = effect(() => {
      seen.push(which.value ? a.value : b.value);
    });
    a.value = 2;
    b.value = 11; // not read
    a.value = 2; // no change
    which.value = false;
    a.value = 3; // no longer read
    b.value = 12;
    stop();
    b.value = 13;
    expect(seen).toEqual([1, 2, 11, 12]);
  });
  it('what is computed follows, also through another', () => {
    const n = signal(2);
    const twice = computed(() => n.value * 2);
    const text = computed(() => `${twice.value}!`);
    const seen: string[] = [];
    effect(() => {
      seen.push(text.value);
    });
    n.value = 5;
    expect(seen).toEqual(['4!', '10!']);
  });
  it('an effect that ends another during a change leaves it ended, and one that throws leaves no trace', () => {
    const s = signal(0);
    let runs = 0;
    let stopOther = () => {};
    effect(() => {
      if (s.value) stopOther();
    });
    stopOther = effect(() => {
      void s.value;
      runs++;
    });
    s.value = 1;
    expect(runs).toBe(1);
    const t = signal(0);
    expect(() => effect(() => { void t.value; throw new Error('no'); })).toThrow('no');
    expect(t.value).toBe(0); // read outside: no listener
  });
  it('many readers at random: each has seen the last state', () => {
    let seed = 3;
    const random = (k: number) => (seed = (seed * 48271) % 2147483647) % k;
    const cells = Array.from({ length: 8 }, () => signal(0));
    const last: number[] = [];
    for (let e = 0; e < 20; e++) {
      const mine = cells.filter(() => random(2));
      effect(() => {
        last[e] = mine.reduce((x, c) => x + c.value, 0);
      });
      for (let i = 0; i < 30; i++) {
        cells[random(8)].value = random(5);
        expect(last[e]).toBe(mine.reduce((x, c) => x + c.value, 0));
      }
    }
  });
});
