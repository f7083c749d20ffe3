// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// State that a component keeps between renderings: the four functions of preact/hooks that the page uses, with its
// rules (same calls in the same order), in a quarter of its size. Effects run after the document is rendered.
import type { Component, VNode } from 'preact';
import { before, hooks } from './signals';

type Deps = readonly unknown[] | undefined;
interface Slot {
  value?: unknown;
  deps?: Deps;
  run?: () => unknown; // an effect that is due
  undo?: unknown; // the cleanup that its last run returned
}
type Host = Component & { slots?: Slot[]; __v?: VNode };

let host: Host; // the component that is being rendered
let at = 0;
let due: Host[] = [];

const slotOf = (): Slot => ((host.slots ??= [])[at++] ??= {});
/** Returns whether the dependencies differ from the last ones, and stores them. */
function changed(s: Slot, deps: Deps): boolean {
  const was = s.deps;
  s.deps = deps;
  return !was || !deps || deps.some((d, i) => !Object.is(d, was[i]));
}

function undo(s: Slot): void {
  const f = s.undo;
  s.undo = 0;
  if (typeof f === 'function') f();
}
function act(c: Host): void {
  for (const s of c.slots ?? []) {
    const { run } = s;
    if (!run) continue;
    s.run = undefined;
    try {
      undo(s);
      s.undo = run();
    } catch (e) {
      hooks.__e(e as VNode, c.__v); // to the nearest Guard
    }
  }
}

before('__r', (v) => {
  host = v.__c!;
  at = 0;
  act(host);
});
before('unmount', (v) => {
  for (const s of (v.__c as Host | undefined)?.slots ?? []) {
    s.run = undefined;
    undo(s);
  }
});

export function useMemo<T>(make: () => T, deps: Deps): T {
  const s = slotOf();
  if (changed(s, deps)) s.value = make();
  return s.value as T;
}
export function useRef<T>(value: T): { current: T };
export function useRef<T>(value: T | null): { current: T | null };
export function useRef<T>(value: T): { current: T } {
  return useMemo(() => ({ current: value }), []);
}

type Kept<T> = [T, (v: T | ((was: T) => T)) => void];
export function useState<T>(first: T | (() => T)): Kept<T>;
export function useState<T>(): Kept<T | undefined>;
export function useState<T>(first?: T | (() => T)): Kept<T> {
  const s = slotOf();
  const c = host;
  const given = (v: unknown): unknown => (typeof v === 'function' ? v(s.value) : v);
  if (!s.deps) {
    s.value = given(first);
    s.deps = [];
  }
  return [
    s.value as T,
    (v) => {
      const next = given(v);
      if (Object.is(next, s.value)) return;
      s.value = next;
      c.setState({});
    },
  ];
}

export function useEffect(run: () => void | (() => void), deps?: Deps): void {
  const s = slotOf();
  if (!changed(s, deps)) return;
  s.run = run;
  if (due.push(host) > 1) return;
  setTimeout(() => {
    const all = due;
    due = [];
    all.forEach(act);
  });
}
