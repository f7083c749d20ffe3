// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// A tooltip beside the pointer.
import type { ComponentChildren } from 'preact';
import { effect, type Signal, signal } from '@preact/signals';
import { range, view } from '../state';

export interface Spot {
  x: number;
  y: number;
}

/** Returns what the pointer is on; null = nothing. It is dropped when the view or the visible time changes: something else is there
 * then. */
export function pointed<T>(): Signal<T | null> {
  const on = signal<T | null>(null);
  effect(() => {
    void [view.value, range.value];
    on.value = null;
  });
  return on;
}

export function Tip({ at, children }: { at: Spot; children: ComponentChildren }) {
  const flip = at.x > innerWidth - 380;
  return (
    <div class="tip" style={{ left: flip ? 'auto' : `${at.x + 14}px`, right: flip ? `${innerWidth - at.x + 14}px` : 'auto', top: `${Math.max(4, Math.min(at.y + 14, innerHeight - 170))}px` }}>
      {children}
    </div>
  );
}
