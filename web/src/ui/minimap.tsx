// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The whole trace in one strip: CPU and GPU activity, memory, and the window that is being looked at.
// Drag its inside to move it, anywhere else to choose a new one.
import type { Main } from '../data/page';
import { catColor, ink, MEMORY } from '../draw/colors';
import { css } from '../draw/pixels';
import { look, moment, range } from '../state';
import { Canvas, type Surface } from './canvas';
import { px } from './scale';


export function strip(s: Surface, v: Float64Array, most: number, y0: number, y1: number, color: string): void {
  s.ctx.fillStyle = color;
  s.ctx.beginPath();
  s.ctx.moveTo(0, y1);
  for (let i = 0; i < v.length; i++) {
    const y = y1 - (most ? v[i] / most : 0) * (y1 - y0);
    s.ctx.lineTo((i / v.length) * s.width, y);
    s.ctx.lineTo(((i + 1) / v.length) * s.width, y);
  }
  s.ctx.lineTo(s.width, y1);
  s.ctx.fill();
}

export function Minimap({ main }: { main: Main }) {
  const HIGH = px(46);
  const end = Math.max(1, main.t_end);
  const most = main.curve.reduce((a, b) => Math.max(a, b), 0);
  const draw = (s: Surface) => {
    const c = ink();
    const [t0, t1] = range.value;
    s.ctx.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--panel');
    s.ctx.fillRect(0, 0, s.width, s.height);
    strip(s, main.cpu, 1e6, px(2), px(14), css(catColor('op')));
    strip(s, main.gpu, 1e6, px(16), px(28), css(catColor('kernel')));
    strip(s, main.curve, most, px(30), HIGH - 1, css(MEMORY));
    const a = (t0 / end) * s.width;
    const b = Math.max(a + 2, (t1 / end) * s.width);
    s.ctx.fillStyle = c.dark ? 'rgba(0,0,0,.55)' : 'rgba(255,255,255,.65)';
    s.ctx.fillRect(0, 0, a, s.height);
    s.ctx.fillRect(b, 0, s.width - b, s.height);
    s.ctx.strokeStyle = c.accent;
    s.ctx.strokeRect(a + 0.5, 0.5, b - a - 1, s.height - 1);
    if (moment.value !== null) {
      s.ctx.fillStyle = c.accent;
      s.ctx.fillRect((moment.value / end) * s.width, 0, 1, s.height);
    }
  };
  const down = (e: PointerEvent) => {
    const el = e.currentTarget as HTMLCanvasElement;
    const timeOf = (ev: PointerEvent) => ((ev.clientX - el.getBoundingClientRect().left) / el.clientWidth) * end;
    const from = timeOf(e);
    const [t0, t1] = range.value;
    const inside = from >= t0 && from <= t1 && t1 - t0 < end * 0.98;
    el.setPointerCapture(e.pointerId);
    const move = (ev: PointerEvent) => {
      const t = timeOf(ev);
      if (inside) look(t0 + t - from, t1 + t - from);
      else if (Math.abs(t - from) > end / 500) look(Math.min(t, from), Math.max(t, from));
    };
    const up = () => el.removeEventListener('pointermove', move);
    el.addEventListener('pointermove', move);
    el.addEventListener('pointerup', up, { once: true });
  };
  return (
    <div class="minimap" style={{ height: `${HIGH}px` }}>
      <Canvas draw={draw} height={HIGH} onPointerDown={down} label="Whole trace: CPU active, GPU active, live memory" />
      {main.cpu_ns > 0 && <span class="key cpu">CPU</span>}
      {main.gpu_ns > 0 && <span class="key gpu">GPU</span>}
      {main.device > 0 && <span class="key mem">memory</span>}
    </div>
  );
}
