// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Shortens names to fit: widths of letters are measured once per font, so that a frame with thousands of names only costs
// additions.
const tables = new Map<string, Float32Array>();

function widths(ctx: CanvasRenderingContext2D): Float32Array {
  let t = tables.get(ctx.font);
  if (!t) {
    const most = ['M', '\u5b57'].map((c) => ctx.measureText(c).width); // width of unmeasured characters, which may be drawn as a
                                                                       // box
    t = new Float32Array(128).fill(Math.max(...most));
    for (let c = 32; c < 128; c++) t[c] = ctx.measureText(String.fromCharCode(c)).width;
    tables.set(ctx.font, t);
  }
  return t;
}

/** Returns the part of a text that fits into `room` pixels, with an ellipsis; '' if too little would remain. */
export function fit(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  const t = widths(ctx);
  const dots = t[46] * 3;
  let w = 0;
  let keep = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    w += t[c] ?? t[0];
    if (w + dots <= room) keep = i + 1;
    if (w > room) return keep < 2 ? '' : `${text.slice(0, keep)}\u2026`;
  }
  return text;
}
