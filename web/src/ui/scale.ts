// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// How large things are drawn: once on a desk, larger on a wall (the style sheet has the same limit).
import { signal } from '../signals';

const wall = typeof matchMedia === 'function' ? matchMedia('(min-width: 2400px)') : undefined;
const WALL = 1.5;

/** Factor for everything that has a size in pixels. */
export const scale = signal(wall?.matches ? WALL : 1);
wall?.addEventListener('change', () => (scale.value = wall.matches ? WALL : 1));

export const px = (n: number): number => Math.round(n * scale.value);
/** A font of the page's face for a canvas. */
export const font = (size: number, weight = ''): string => `${weight} ${size * scale.value}px system-ui, sans-serif`.trim();
