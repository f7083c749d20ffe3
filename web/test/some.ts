// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Random input for tests, the same at every run.
import type { Memory } from '../src/data/memory';

let seed = 7;
export const random = (n: number): number => (seed = (seed * 48271) % 2147483647) % n;

/** Random allocations on two devices. */
export function someMemory(events: number): Memory {
  const t: number[] = [];
  const who: number[] = [];
  const live: number[] = [];
  const born: number[] = [];
  const died: number[] = [];
  let now = 0;
  for (let i = 0; i < events; i++) {
    now += random(3) ? random(20) : 0;
    t.push(now);
    if (live.length && random(100) < 48) {
      const row = live.splice(random(live.length), 1)[0];
      died[row] = now;
      who.push(~row);
    } else {
      live.push(born.length);
      who.push(born.length);
      born.push(now);
      died.push(Infinity);
    }
  }
  const n = born.length;
  const col = (f: () => number) => Int32Array.from({ length: n }, f);
  const none = new Int32Array(0);
  return {
    n, events, t: Float64Array.from(t), who: Int32Array.from(who), born: Float64Array.from(born), died: Float64Array.from(died),
    size: Float64Array.from({ length: n }, () => 1 + random(1000)), slack: new Float64Array(n), pool: col(() => random(2)), role: Uint8Array.from(col(() => random(4))), flags: new Uint8Array(n),
    op: col(() => 0), stack: col(() => 0), face: col(() => 0), module: col(() => 0), tensor: col(() => random(40)), segT: new Float64Array(0), segBytes: new Float64Array(0), segPool: none,
    json: { pools: ['a', 'b'].map((name, i) => ({ name, device: i + 1, capacity: 0, banks: 0, on_chip: false })), roles: ['r0', 'r1', 'r2', 'r3'], tensors: Array.from({ length: 40 }, (_, i) => `t${i}`), names: [''], modules: false },
    opName: none, opParent: none, stackFrame: none, stackParent: none, frameFunction: none, frameFile: none, frameLine: none,
  };
}
