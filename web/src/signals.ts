// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Values that know who read them: an effect runs again, and a component renders again, when one that it
// read changes. The few of the usual library's features that the page needs, in a tenth of its size.
import { type Component, options, type VNode } from 'preact';

interface Reader {
  read: Set<Cell<unknown>>;
  wake: () => void;
}

let reader: Reader | undefined; // that runs just now

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

/** Runs at once and whenever what it read last changes, until the function it returns is called. */
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

// Components: what preact calls before it renders one (__r), after, when one throws (__e) and when one goes.
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
