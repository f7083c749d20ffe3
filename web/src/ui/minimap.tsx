// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The whole trace in one strip: CPU and GPU activity, memory, and the visible window. Drag inside the window to move it,
// elsewhere to select a new one. A trace without any of these has no strip.
import { bytes } from '../data/format';
import type { Main } from '../data/page';
import { most, same } from '../data/sums';
import { catColor, ink, MEMORY } from '../draw/colors';
import { box, shape, stairs } from '../draw/marks';
import { css } from '../draw/pixels';
import { look, marked, moment, range } from '../state';
import { Canvas, type Surface } from './canvas';
import { px } from './scale';
import { follow, inside } from './travel';

/** Draws levels over the whole width, with y1 as the base. */
export function strip({ ctx, width }: Surface, v: Float64Array, most: number, y0: number, y1: number, color: string): void {
  const levels = stairs(v, (i) => (i / v.length) * width, (y) => y1 - (most ? y / most : 0) * (y1 - y0));
  shape(ctx, color, (to) => {
    to(0, y1);
    levels(to);
    to(width, y1);
  });
}

/** Fills the strip with the colour of a panel. */
export const wipe = ({ ctx, width, height }: Surface): void => box(ctx, getComputedStyle(document.documentElement).getPropertyValue('--panel'), 0, 0, width, height);

export function Minimap({ main }: { main: Main }) {
  const HIGH = px(46);
  const end = Math.max(1, main.t_end);
  if (!main.cpu_ns && !main.gpu_ns && !main.device) return null;
  const high = most(main.curve, same);
  const draw = (s: Surface) => {
    const c = ink();
    const [t0, t1] = range.value;
    const { ctx, width, height } = s;
    wipe(s);
    strip(s, main.cpu, 1e6, px(2), px(14), css(catColor('op')));
    strip(s, main.gpu, 1e6, px(16), px(28), css(catColor('kernel')));
    strip(s, main.curve, high, px(main.gpu_ns ? 30 : main.cpu_ns ? 16 : 2), HIGH - 1, css(MEMORY));
    const a = (t0 / end) * width;
    const b = Math.max(a + 2, (t1 / end) * width);
    const veil = c.dark ? 'rgba(0,0,0,.55)' : 'rgba(255,255,255,.65)';
    box(ctx, veil, 0, 0, a, height);
    box(ctx, veil, b, 0, width - b, height);
    if (marked.value) for (const x of new Set(Array.from(marked.value, (t) => Math.floor((t / end) * width)))) box(ctx, c.accent, Math.min(x, width - 2), height - 6, 2, 6);
    ctx.strokeStyle = c.accent;
    ctx.strokeRect(a + 0.5, 0.5, b - a - 1, height - 1);
    if (moment.value !== null) box(ctx, c.accent, (moment.value / end) * width, 0, 1, height);
  };
  const down = (e: PointerEvent) => {
    const wide = (e.currentTarget as HTMLElement).clientWidth;
    const from = (inside(e)[0] / wide) * end;
    const [t0, t1] = range.value;
    const moves = from >= t0 && from <= t1 && t1 - t0 < end * 0.98;
    follow(e, (x) => {
      const t = (x / wide) * end;
      if (moves) look(t0 + t - from, t1 + t - from);
      else if (Math.abs(t - from) > end / 500) look(Math.min(t, from), Math.max(t, from));
    });
  };
  return (
    <div class="minimap" style={{ height: `${HIGH}px` }}>
      <Canvas draw={draw} height={HIGH} onPointerDown={down} label="Whole trace: CPU active, GPU active, live memory" />
      {main.cpu_ns > 0 && <span class="key cpu">CPU, 0–100 %</span>}
      {main.gpu_ns > 0 && <span class="key gpu">GPU, 0–100 %</span>}
      {main.device > 0 && <span class="key mem">memory, 0–{bytes(main.devices[main.device].peak)}</span>}
    </div>
  );
}
