// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Values that track their readers: an effect runs again, and a component renders again, when a value that it read changes. The
// features of preact's signals that the page needs, in 1/10 of the size.
import { type Component, options, type VNode } from 'preact';

interface Reader {
  read: Set<Cell<unknown>>;
  wake: () => void;
}

let reader: Reader | undefined; // the effect that is running

class Cell<T> {
  private readonly readers = new Set<Reader>();
  constructor(private now: T) {}
  get value(): T {
    if (reader) {
      this.readers.add(reader);
      reader.read.add(this as Cell<unknown>);
    }
    return this.now;
  }
  set value(v: T) {
    if (Object.is(v, this.now)) return;
    this.now = v;
    for (const r of [...this.readers]) if (this.readers.has(r)) r.wake();
  }
  drop(r: Reader): void {
    this.readers.delete(r);
  }
}

function forget(r: Reader): void {
  for (const s of r.read) s.drop(r);
  r.read.clear();
}

export interface Signal<T> {
  value: T;
}
export const signal = <T>(value: T): Signal<T> => new Cell(value);

/** Runs at once and again whenever a value that it read changes, until the returned function is called. */
export function effect(run: () => void): () => void {
  const r: Reader = {
    read: new Set(),
    wake: () => {
      const outer = reader;
      forget(r);
      reader = r;
      try {
        run();
      } finally {
        reader = outer;
      }
    },
  };
  r.wake();
  return () => forget(r);
}

export function computed<T>(make: () => T): { readonly value: T } {
  const cell = new Cell<T>(undefined as T);
  effect(() => {
    cell.value = make();
  });
  return cell;
}

// Hooks that preact calls before it renders a component (__r), after it, when one throws (__e) and when one is removed.
interface Hooked extends VNode {
  __c?: Component & { reader?: Reader };
}
export const hooks = options as Record<'__r' | 'diffed' | '__e' | 'unmount', (v: Hooked, ...rest: unknown[]) => void>;

export function before(name: keyof typeof hooks, act: (v: Hooked) => void): void {
  const next = hooks[name];
  hooks[name] = (v, ...rest) => {
    act(v);
    next?.(v, ...rest);
  };
}

before('__r', (v) => {
  const c = v.__c!;
  c.reader ??= { read: new Set(), wake: () => c.setState({}) };
  forget(c.reader);
  reader = c.reader;
});
before('diffed', () => (reader = undefined));
before('__e', () => (reader = undefined));
before('unmount', (v) => v.__c?.reader && forget(v.__c.reader));
