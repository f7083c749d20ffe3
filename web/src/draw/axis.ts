// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The axis of time: round steps, labels, grid lines.
import { axis, count } from '../data/format';
import { px } from '../ui/scale';
import type { Ink } from './colors';
import { face, upright, word } from './marks';

/** The Gantt chart's axis is always in milliseconds. */
export const unit = { ms: false };

/** Returns a tick's label, with as many digits as the step needs. */
export function tickLabel(t: number, step: number, most: number): string {
  if (axis.ops) return `op ${(t / 1000).toFixed(step < 1000 ? 1 : 0)}`;
  const [one, name] = !unit.ms && most >= 1e9 && step >= 1e6 ? [1e9, 's'] : unit.ms || (most >= 1e6 && step >= 1) ? [1e6, 'ms'] : most >= 1e3 ? [1e3, '\u00b5s'] : [1, 'ns'];
  const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / one) - 1e-9)));
  return `${(t / one).toFixed(digits)} ${name}`;
}

/** Returns round times in [t0, t1], about one per `every` pixels. */
export function ticks(t0: number, t1: number, width: number, every = 110): number[] {
  const rough = ((t1 - t0) * every) / Math.max(1, width);
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough) ?? power * 10;
  const out: number[] = [];
  for (let t = Math.ceil(t0 / step) * step; t <= t1 && out.length < 200; t += step) out.push(t);
  return out;
}

function drawTicks(ctx: CanvasRenderingContext2D, x: number, width: number, height: number, a: number, b: number, ink: Ink, label: (v: number, step: number) => string): void {
  face(ctx, 11);
  const list = ticks(a, b, width, px(110));
  const step = list.length > 1 ? list[1] - list[0] : b - a;
  for (const v of list) {
    const at = x + ((v - a) / (b - a)) * width;
    upright(ctx, ink.line, at, 0, height);
    if (at + px(60) < x + width) word(ctx, ink.soft, label(v, step), Math.round(at) + 4.5, px(9));
  }
}

export const drawAxis = (ctx: CanvasRenderingContext2D, x: number, width: number, height: number, t0: number, t1: number, ink: Ink): void =>
  drawTicks(ctx, x, width, height, t0, t1, ink, (t, step) => tickLabel(t, step, t1));

/** The same for an axis of memory events: positions [a, b). */
export const drawEventAxis = (ctx: CanvasRenderingContext2D, x: number, width: number, height: number, a: number, b: number, ink: Ink): void =>
  drawTicks(ctx, x, width, height, a, b, ink, (v) => `event ${count(v)}`);
