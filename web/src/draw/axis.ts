// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The axis of time: round steps, labels, grid lines.
import { ns } from '../data/format';
import type { Ink } from './colors';

/** Round times in [t0, t1], about one in `every` pixels. */
export function ticks(t0: number, t1: number, width: number, every = 110): number[] {
  const rough = ((t1 - t0) * every) / Math.max(1, width);
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1e-9)));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough) ?? power * 10;
  const out: number[] = [];
  for (let t = Math.ceil(t0 / step) * step; t <= t1 && out.length < 200; t += step) out.push(t);
  return out;
}

export function drawAxis(ctx: CanvasRenderingContext2D, x: number, width: number, height: number, t0: number, t1: number, ink: Ink): void {
  ctx.font = '11px system-ui, sans-serif';
  ctx.textBaseline = 'middle';
  ctx.textAlign = 'left';
  for (const t of ticks(t0, t1, width)) {
    const at = Math.round(x + ((t - t0) / (t1 - t0)) * width) + 0.5;
    ctx.strokeStyle = ink.line;
    ctx.beginPath();
    ctx.moveTo(at, 0);
    ctx.lineTo(at, height);
    ctx.stroke();
    ctx.fillStyle = ink.soft;
    if (at + 60 < x + width) ctx.fillText(ns(t), at + 4, 9);
  }
}
