// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Live memory over time as stacked layers, with phases, steps, limits and the chosen moment.
import { signal } from '../signals';
import { useMemo } from '../hooks';
import { bytes, exact } from '../data/format';
import { type Picture, picture } from '../data/levels';
import { after } from '../data/spans';
import { drawAxis } from '../draw/axis';
import { type Ink, ink } from '../draw/colors';
import { blank, type Pixels, rgb, shade } from '../draw/pixels';
import { fit } from '../draw/text';
import { alloc, moment, range, span } from '../state';
import { getSpans } from '../data/page';
import { Canvas, type Surface } from '../ui/canvas';
import { font, px } from '../ui/scale';
import { type Spot, Tip } from '../ui/tip';
import { dragTime, wheelTime } from '../ui/travel';
import { focusOf, type Scene } from './memory_scene';

export const left = (): number => px(78);
const RED = '#d55e00';

interface Frame {
  t0: number;
  t1: number;
  width: number;
  top: number; // y of the highest value
  y: (v: number) => number;
  x: (t: number) => number;
  pic: Picture;
}

let kept: Pixels | undefined;
let last: Frame | undefined;
const hover = signal<(Spot & { inside: number; over: number }) | null>(null);

/** Bytes of the axis: powers of two, no digits that say nothing. */
export const tick = (v: number): string => bytes(v).replace(/\.0+ |(\.\d*?)0+ /, '$1 ');

export function drawScale(s: Surface, top: number, y: (v: number) => number, from: number, c: Ink): void {
  const step = 2 ** Math.ceil(Math.log2(top / Math.max(2, (s.height - from) / px(46))));
  s.ctx.font = font(11);
  s.ctx.textBaseline = 'middle';
  s.ctx.textAlign = 'right';
  s.ctx.fillStyle = c.soft;
  for (let v = 0; v < top; v += step) {
    s.ctx.fillText(tick(v), left() - 6, Math.min(s.height - px(7), y(v)));
    s.ctx.fillRect(left() - 3, y(v), 3, 1);
  }
  s.ctx.textAlign = 'left';
}

function scaleTop(sc: Scene): number {
  const most = Math.max(sc.mip.peak, sc.res.v.reduce((a, b) => Math.max(a, b), 0), 1);
  return sc.limit && sc.limit < most * 1.6 ? Math.max(most, sc.limit) * 1.04 : most * 1.06;
}

function areas(p: Pixels, sc: Scene, f: Frame): void {
  const one = focusOf(sc.g);
  const words = sc.colors.map((c, i) => rgb(one < 0 || one === i ? c : shade(c, ink().dark ? -0.72 : 0.78)));
  const from = left();
  for (let x = 0; x < f.width; x++) {
    let sum = 0;
    let low = f.y(0);
    for (let k = 0; k < f.pic.k; k++) {
      sum += f.pic.values[x * f.pic.k + k];
      const high = f.y(sum);
      p.rect(from + x, high, from + x + 1, low, words[k]);
      low = high;
    }
  }
}

function reservedLine(s: Surface, sc: Scene, f: Frame, color: string): void {
  const { t, v } = sc.res;
  if (!t.length) return;
  let i = Math.max(0, after(t, 0, t.length, f.t0) - 1); // before the first it is 0 or not known
  let level = v[i];
  s.ctx.strokeStyle = color;
  s.ctx.lineWidth = 1.5;
  s.ctx.beginPath();
  s.ctx.moveTo(Math.max(left(), f.x(t[i])), f.y(level));
  for (i++; i < t.length && t[i] <= f.t1; i++) {
    const x = f.x(t[i]);
    s.ctx.lineTo(x, f.y(level));
    level = v[i];
    s.ctx.lineTo(x, f.y(level));
  }
  s.ctx.lineTo(left() + f.width, f.y(level));
  s.ctx.stroke();
  s.ctx.lineWidth = 1;
}

export function upright(s: Surface, x: number, from: number, color: string, width = 1, dash: number[] = []): void {
  s.ctx.strokeStyle = color;
  s.ctx.lineWidth = width;
  s.ctx.setLineDash(dash);
  s.ctx.beginPath();
  s.ctx.moveTo(Math.round(x) + 0.5, from);
  s.ctx.lineTo(Math.round(x) + 0.5, s.height);
  s.ctx.stroke();
  s.ctx.setLineDash([]);
  s.ctx.lineWidth = 1;
}

/** Phases as a strip of bands with their names, and a line where one ends. */
function phases(s: Surface, sc: Scene, f: Frame, c: Ink): void {
  s.ctx.font = font(11);
  sc.phases.forEach((p, i) => {
    const a = Math.max(left(), f.x(p.t0));
    const b = Math.min(left() + f.width, f.x(p.t1));
    if (b <= left() || a >= left() + f.width) return;
    s.ctx.fillStyle = i % 2 ? c.line : c.dark ? '#2a343e' : '#eaeef2';
    s.ctx.fillRect(a, px(20), Math.max(1, b - a), px(15));
    s.ctx.fillStyle = c.text;
    const text = fit(s.ctx, p.name ?? 'after', b - a - 8);
    if (text) s.ctx.fillText(text, a + 4, px(20) + px(15) / 2 + 0.5);
    if (p.t1 < f.t1) upright(s, b, px(20) + px(15), c.soft, 1, [2, 4]);
  });
}

/** Steps: a short line each, numbered where there is room. */
function steps(s: Surface, sc: Scene, f: Frame, from: number, c: Ink): void {
  const list = sc.main.marks.filter((m) => m.kind === 'step' && m.t >= f.t0 && m.t <= f.t1);
  let free = -1;
  s.ctx.font = font(10);
  for (const m of list) {
    const x = f.x(m.t);
    s.ctx.fillStyle = c.soft;
    s.ctx.fillRect(Math.round(x), from - 4, 1, 8);
    if (x < free) continue;
    const text = `step ${m.value}`;
    s.ctx.fillText(text, x + 3, from + px(8));
    free = x + s.ctx.measureText(text).width + 12;
  }
}

function oom(s: Surface, sc: Scene, f: Frame, from: number): void {
  let row = 0;
  s.ctx.font = font(11, '600');
  for (const m of sc.main.marks) {
    if (m.kind !== 'oom' || m.t < f.t0 || m.t > f.t1 || (sc.dev && m.device && m.device !== sc.dev)) continue;
    const x = f.x(m.t);
    upright(s, x, from, RED, 2);
    const text = `out of memory: ${bytes(m.value)} asked for`;
    const left = x + s.ctx.measureText(text).width + 12 > s.width;
    s.ctx.fillStyle = RED;
    s.ctx.textAlign = left ? 'right' : 'left';
    s.ctx.fillText(text, x + (left ? -6 : 6), from + px(22) + (row++ % 4) * px(14));
    s.ctx.textAlign = 'left';
  }
}

function limit(s: Surface, sc: Scene, f: Frame): void {
  const y = Math.round(f.y(sc.limit)) + 0.5;
  if (!sc.limit || y < f.top) return;
  s.ctx.strokeStyle = s.ctx.fillStyle = RED;
  s.ctx.setLineDash([6, 4]);
  s.ctx.beginPath();
  s.ctx.moveTo(left(), y);
  s.ctx.lineTo(left() + f.width, y);
  s.ctx.stroke();
  s.ctx.setLineDash([]);
  s.ctx.font = font(11);
  s.ctx.fillText(`all there is: ${bytes(sc.limit)}`, left() + 6, y + (y < f.top + px(14) ? px(9) : -px(8)));
}

/** The chosen allocation's life as a line on the ground. */
function life(s: Surface, sc: Scene, f: Frame, c: Ink): void {
  const row = alloc.value;
  if (row === null || row >= sc.m.n) return;
  const a = Math.max(left(), f.x(sc.m.born[row]));
  const b = Math.min(left() + f.width, f.x(Math.min(sc.m.died[row], sc.main.t_end)));
  s.ctx.fillStyle = c.accent;
  if (b >= left() && a <= left() + f.width) s.ctx.fillRect(a, s.height - 4, Math.max(2, b - a), 4);
}

/** When the span that the timeline has selected ran. */
function selected(s: Surface, f: Frame, c: Ink): void {
  const all = getSpans.now?.();
  const i = span.value;
  if (!all || i === null || i >= all.n) return;
  const a = Math.max(left(), f.x(all.t0[i]));
  const b = Math.min(left() + f.width, f.x(all.t1[i]));
  if (b < left() || a > left() + f.width) return;
  s.ctx.fillStyle = c.link;
  s.ctx.globalAlpha = 0.14;
  s.ctx.fillRect(a, px(20), Math.max(2, b - a), s.height);
  s.ctx.globalAlpha = 1;
  s.ctx.fillStyle = c.text;
  s.ctx.font = font(11);
  s.ctx.fillText(fit(s.ctx, all.names[all.name[i]], s.width - a - 4), a + 3, f.top + px(8));
}

function draw(s: Surface, sc: Scene): void {
  const c = ink();
  const [t0, t1] = range.value;
  const width = s.width - left();
  const strip = sc.phases.length ? px(15) : 0;
  const top = px(20) + strip + px(16);
  const most = scaleTop(sc);
  const f: Frame = {
    t0,
    t1,
    width,
    top,
    y: (v) => Math.round(s.height - (v / most) * (s.height - top)),
    x: (t) => left() + ((t - t0) / (t1 - t0)) * width,
    pic: picture(sc.m, sc.g, sc.mip, t0, t1, width),
  };
  last = f;
  kept = blank(kept, s, c.back);
  areas(kept, sc, f);
  kept.rect(0, 0, s.width, px(20), c.band);
  kept.rect(0, 0, left(), s.height, c.band);
  kept.show(s.ctx);
  drawAxis(s.ctx, left(), width, px(20), t0, t1, c);
  drawScale(s, most, f.y, top, c);
  phases(s, sc, f, c);
  steps(s, sc, f, px(20) + strip, c);
  reservedLine(s, sc, f, c.text);
  limit(s, sc, f);
  oom(s, sc, f, px(20) + strip);
  life(s, sc, f, c);
  selected(s, f, c);
  const at = moment.value ?? sc.peak.t;
  if (at >= t0 && at <= t1) upright(s, f.x(at), px(20), c.accent, 2);
}

function Under({ sc }: { sc: Scene }) {
  const h = hover.value;
  const f = last;
  if (!h || !f) return null;
  const x = Math.min(f.width - 1, Math.max(0, Math.floor(h.inside) - left()));
  const t = f.t0 + (x / f.width) * (f.t1 - f.t0);
  const phase = sc.phases.find((p) => t >= p.t0 && t < p.t1);
  let sum = 0;
  let band = -1;
  for (let k = 0; k < f.pic.k && band < 0; k++) {
    sum += f.pic.values[x * f.pic.k + k];
    if (h.over >= f.y(sum) && h.over < f.y(0) && f.pic.values[x * f.pic.k + k] > 0) band = k;
  }
  const r = after(sc.res.t, 0, sc.res.t.length, t) - 1;
  return (
    <Tip at={h}>
      {band >= 0 && <b>{sc.g.labels[band]}: {bytes(f.pic.values[x * f.pic.k + band])}</b>}
      <span>{bytes(Math.max(0, f.pic.sum[x]))} live in all{r >= 0 ? ` of ${bytes(sc.res.v[r])} reserved` : ''}</span>
      <span class="soft">{exact(t)}{phase?.name ? ` · ${phase.name}` : ''}</span>
      <span class="soft">A click lists all that is alive here</span>
    </Tip>
  );
}

export function Chart({ sc, height }: { sc: Scene; height: number }) {
  const wheel = useMemo(() => wheelTime(left()), [left()]);
  return (
    <div class="chart memory">
      <Canvas
        height={height}
        label={`Live memory of ${sc.name} by ${sc.by}; peak ${bytes(sc.peak.bytes)}`}
        onWheelTime={wheel}
        onPointerDown={dragTime(left(), (x) => {
          const f = last;
          if (f) moment.value = Math.round(f.t0 + (Math.max(0, x - left()) / f.width) * (f.t1 - f.t0));
        })}
        onPointerMove={(e: PointerEvent) => {
          const box = (e.currentTarget as HTMLElement).getBoundingClientRect();
          hover.value = e.buttons ? null : { x: e.clientX, y: e.clientY, inside: e.clientX - box.left, over: e.clientY - box.top };
        }}
        onPointerLeave={() => (hover.value = null)}
        draw={(s) => draw(s, sc)}
      />
      <Under sc={sc} />
    </div>
  );
}
