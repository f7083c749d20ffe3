// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The scale of drawings: 1 on a desk, larger on a wall display (the style sheet has the same limits).
import { signal } from '@preact/signals';

const steps: [string, number][] = [['(min-width: 3400px)', 2], ['(min-width: 2400px)', 1.5]];
const walls = typeof matchMedia === 'function' ? steps.map(([limit, factor]): [MediaQueryList, number] => [matchMedia(limit), factor]) : [];
const now = () => walls.find(([m]) => m.matches)?.[1] ?? 1;

/** Factor for all sizes in pixels. */
export const scale = signal(now());
for (const [m] of walls) m.addEventListener('change', () => (scale.value = now()));

const small = typeof matchMedia === 'function' ? matchMedia('(max-width: 640px)') : undefined;
/** true on a phone's screen or in an equally narrow window. */
export const narrow = signal(!!small?.matches);
small?.addEventListener('change', () => (narrow.value = small.matches));

export const px = (n: number): number => Math.round(n * scale.value);
/** A font of the page's face for a canvas. */
export const font = (size: number, weight = ''): string => `${weight} ${size * scale.value}px system-ui, sans-serif`.trim();
