// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// A tooltip beside the pointer.
import type { ComponentChildren } from 'preact';

export interface Spot {
  x: number;
  y: number;
}

export function Tip({ at, children }: { at: Spot; children: ComponentChildren }) {
  const flip = at.x > innerWidth - 380;
  return (
    <div class="tip" style={{ left: flip ? 'auto' : `${at.x + 14}px`, right: flip ? `${innerWidth - at.x + 14}px` : 'auto', top: `${Math.max(4, Math.min(at.y + 14, innerHeight - 170))}px` }}>
      {children}
    </div>
  );
}
