// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
import { describe, expect, it } from 'vitest';
import { useEffect, useMemo, useRef, useState } from '../src/hooks';
import { hooks } from '../src/signals';

/** A component without a document: preact's calls around its rendering. */
function host<T>(body: () => T) {
  const c = { asked: 0, setState: () => void c.asked++ };
  const vnode = { __c: c } as never;
  const render = (): T => {
    hooks.__r(vnode);
    const out = body();
    hooks.diffed(vnode);
    return out;
  };
  return { c, render, end: () => hooks.unmount(vnode) };
}
const later = () => new Promise((done) => setTimeout(done));

describe('hooks', () => {
  it('keep state, ask for a rendering only when it changes, and make again what depends on it', () => {
    let made = 0;
    const h = host(() => {
      const [n, set] = useState(() => 1);
      const kept = useRef(n);
      return { n, set, kept, twice: useMemo(() => (made++, n * 2), [n]) };
    });
    const first = h.render();
    first.set(1);
    expect(h.c.asked).toBe(0);
    first.set((was) => was + 4);
    expect(h.c.asked).toBe(1);
    const second = h.render();
    expect([second.n, second.twice, second.kept.current, made]).toEqual([5, 10, 1, 2]);
    h.render();
    expect(made).toBe(2);
    expect(second.kept).toBe(first.kept);
  });
  it('run effects after rendering, undo them before the next and at the end', async () => {
    const seen: string[] = [];
    let dep = 'a';
    const h = host(() => {
      useEffect(() => {
        const mine = dep;
        seen.push(`+${mine}`);
        return () => seen.push(`-${mine}`);
      }, [dep]);
    });
    h.render();
    expect(seen).toEqual([]);
    await later();
    h.render();
    await later();
    expect(seen).toEqual(['+a']);
    dep = 'b';
    h.render();
    h.render(); // what is due runs before the next rendering
    expect(seen).toEqual(['+a', '-a', '+b']);
    h.end();
    await later();
    expect(seen).toEqual(['+a', '-a', '+b', '-b']);
  });
  it('an effect that throws goes to who guards it, and none is left of a component that went', async () => {
    const caught: unknown[] = [];
    const was = hooks.__e;
    hooks.__e = (e) => void caught.push(e);
    const bad = host(() => useEffect(() => { throw new Error('bad'); }, []));
    const gone = host(() => useEffect(() => void caught.push('ran'), []));
    bad.render();
    gone.render();
    gone.end();
    await later();
    hooks.__e = was;
    expect(caught.map(String)).toEqual(['Error: bad']);
  });
});
