// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Draws lines, boxes and words on a canvas, each in one call, on top of a view's pixels.
import { font } from '../ui/scale';

type Ctx = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;
export type Point = readonly [x: number, y: number];
/** Passes the corners of a line one after another, without keeping them, because a picture has thousands. */
export type Walk = (to: (x: number, y: number) => void) => void;

function path(ctx: Ctx, walk: Walk): void {
  ctx.beginPath();
  walk((x, y) => ctx.lineTo(x, y));
}

/** Draws a line and restores the canvas's default settings. */
export function line(ctx: Ctx, color: string, walk: Walk, width = 1, dash: number[] = []): void {
  ctx.strokeStyle = color;
  ctx.lineWidth = width;
  ctx.setLineDash(dash);
  path(ctx, walk);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.lineWidth = 1;
}

export const through = (...points: readonly Point[]): Walk => (to) => points.forEach((p) => to(...p));

/** Draws a vertical line in the middle of its pixels. */
export function upright(ctx: Ctx, color: string, x: number, y0: number, y1: number, width = 1, dash?: number[]): void {
  const at = Math.round(x) + 0.5;
  line(ctx, color, through([at, y0], [at, y1]), width, dash);
}

export function box(ctx: Ctx, color: string, x: number, y: number, w: number, h: number): void {
  ctx.fillStyle = color;
  ctx.fillRect(x, y, w, h);
}

/** Fills a shape. */
export function shape(ctx: Ctx, color: string, walk: Walk): void {
  ctx.fillStyle = color;
  path(ctx, walk);
  ctx.fill();
}

/** Sets the size and weight of text, centred vertically. */
export function face(ctx: Ctx, size: number, weight?: string): void {
  ctx.font = font(size, weight);
  ctx.textBaseline = 'middle';
}

/** Draws a text that begins or ends at x; `over` is the colour of an outline, for text that crosses lines. */
export function word(ctx: Ctx, color: string, text: string, x: number, y: number, align: 'left' | 'right' = 'left', over?: string): void {
  ctx.fillStyle = color;
  ctx.textAlign = align;
  if (over) {
    ctx.strokeStyle = over;
    ctx.lineWidth = 4;
    ctx.strokeText(text, x, y);
    ctx.lineWidth = 1;
  }
  ctx.fillText(text, x, y);
}

/** Returns the corners of a line of levels that are constant between two points in time. */
export const stairs = (v: ArrayLike<number>, x: (i: number) => number, y: (v: number) => number): Walk => (to) => {
  for (let i = 0; i < v.length; i++) {
    to(x(i), y(v[i]));
    to(x(i + 1), y(v[i]));
  }
};
