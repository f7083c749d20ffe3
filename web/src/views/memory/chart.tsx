// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Live memory over time as stacked layers, with phases, steps, limits and the chosen moment.
import { useMemo } from 'preact/hooks';
import { bytes, count, exact } from '../../data/format';
import type { Picture } from '../../data/levels';
import { after } from '../../data/spans';
import { most, same } from '../../data/sums';
import { drawAxis, drawEventAxis } from '../../draw/axis';
import { type Ink, ink } from '../../draw/colors';
import { box, face, line, through, upright, type Walk, word } from '../../draw/marks';
import { blank, type Pixels, rgb, shade } from '../../draw/pixels';
import { fit } from '../../draw/text';
import { alloc, moment, range, span } from '../../state';
import { getSpans } from '../../data/page';
import { Canvas, type Surface } from '../../ui/canvas';
import { px } from '../../ui/scale';
import { pointed, type Spot, Tip } from '../../ui/tip';
import { dragTime, inside, wheelTime } from '../../ui/travel';
import { focusOf, pictureOf, type Scene, scaleOf, visible } from './scene';

export const left = (): number => px(78);
export const RED = '#d55e00';

interface Frame {
  t0: number;
  t1: number;
  width: number;
  top: number; // y of the highest value
  y: (v: number) => number;
  x: (t: number) => number;
  timeAt: (x: number) => number; // at the left end of a column
  pic: Picture;
}

let kept: Pixels | undefined;
let last: Frame | undefined;
const hover = pointed<Spot & { at: number; over: number }>();

/** Formats bytes of the axis: powers of two, without trailing zeros. */
export const tick = (v: number): string => bytes(v).replace(/\.0+ |(\.\d*?)0+ /, '$1 ');

export function drawScale({ ctx, height }: Surface, top: number, y: (v: number) => number, from: number, c: Ink): void {
  const step = 2 ** Math.ceil(Math.log2(top / Math.max(2, (height - from) / px(46))));
  face(ctx, 11);
  for (let v = 0; v < top; v += step) {
    word(ctx, c.soft, tick(v), left() - 6, Math.min(height - px(7), y(v)), 'right');
    ctx.fillRect(left() - 3, y(v), 3, 1);
  }
}

let columns: Pixels | undefined;
/** Draws columns of stacked bytes: `fill` writes those of a pixel, from the bottom up. Returns a function from a value to its
 * y. */
export function stacked(s: Surface, high: number, top: number, fill: (x: number, put: (bytes: number, color: number) => void) => void): (v: number) => number {
  const c = ink();
  const from = left();
  const y = (v: number) => Math.round(s.height - (v / high) * (s.height - top));
  const p = (columns = blank(columns, s, c.back));
  for (let x = from; x < s.width; x++) {
    let sum = 0;
    fill(x - from, (v, color) => p.rect(x, y(sum + v), x + 1, y((sum += v) - v), rgb(color)));
  }
  p.rect(0, 0, from, s.height, c.band);
  p.show(s.ctx);
  drawScale(s, high, y, top, c);
  return y;
}

function scaleTop(sc: Scene): number {
  const high = Math.max(sc.mip.peak, most(sc.res.v, same));
  return sc.limit && sc.limit < high * 1.6 ? Math.max(high, sc.limit) * 1.04 : high * 1.06;
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

function reservedLine({ ctx }: Surface, sc: Scene, f: Frame, color: string): void {
  const { t, v } = sc.res;
  if (!t.length) return;
  let i = Math.max(0, after(t, 0, t.length, f.t0) - 1); // before the first it is 0 or not known
  let level = f.y(v[i]);
  const walk: Walk = (to) => {
    to(Math.max(left(), f.x(t[i])), level);
    for (i++; i < t.length && t[i] <= f.t1; i++) {
      const x = f.x(t[i]);
      to(x, level);
      level = f.y(v[i]);
      to(x, level);
    }
    to(left() + f.width, level);
  };
  line(ctx, color, walk, 1.5);
}

/** Returns the visible part of [t0, t1] in pixels. */
function within(f: Frame, t0: number, t1: number): [number, number] | undefined {
  const a = Math.max(left(), f.x(t0));
  const b = Math.min(left() + f.width, f.x(t1));
  return b < left() || a > left() + f.width ? undefined : [a, b - a];
}

/** Draws phases as a strip of bands with their names, and a line at each end. */
function phases({ ctx, height }: Surface, sc: Scene, f: Frame, c: Ink): void {
  face(ctx, 11);
  sc.phases.forEach((p, i) => {
    const at = within(f, p.t0, p.t1);
    if (!at) return;
    const [x, wide] = at;
    box(ctx, i % 2 ? c.line : c.dark ? '#2a343e' : '#eaeef2', x, px(20), Math.max(1, wide), px(15));
    word(ctx, c.text, fit(ctx, p.name ?? 'after', wide - 8), x + 4, px(20) + px(15) / 2 + 0.5);
    if (p.t1 < f.t1) upright(ctx, c.soft, x + wide, px(20) + px(15), height, 1, [2, 4]);
  });
}

/** Draws steps as short lines, numbered if there is space. */
function steps({ ctx }: Surface, sc: Scene, f: Frame, from: number, c: Ink): void {
  let free = -1;
  face(ctx, 10);
  for (const m of sc.main.marks) {
    if (m.kind !== 'step' || m.t < f.t0 || m.t > f.t1) continue;
    const x = f.x(m.t);
    box(ctx, c.soft, Math.round(x), from - 4, 1, 8);
    if (x < free) continue;
    const text = `step ${m.value}`;
    word(ctx, c.soft, text, x + 3, from + px(8));
    free = x + ctx.measureText(text).width + 12;
  }
}

const halo = (c: Ink): string => (c.dark ? '#191f26' : '#fff');

function oom({ ctx, width, height }: Surface, sc: Scene, f: Frame, from: number, c: Ink): void {
  let row = 0;
  face(ctx, 11, '600');
  for (const m of sc.main.marks) {
    if (m.kind !== 'oom' || m.t < f.t0 || m.t > f.t1 || (sc.dev && m.device && m.device !== sc.dev)) continue;
    const x = f.x(m.t);
    upright(ctx, RED, x, from, height, 2);
    const text = `out of memory: ${bytes(m.value)} requested`;
    const back = x + ctx.measureText(text).width + 12 > width;
    word(ctx, RED, text, x + (back ? -6 : 6), from + px(22) + (row++ % 4) * px(14), back ? 'right' : 'left', halo(c));
  }
}

function limit({ ctx }: Surface, sc: Scene, f: Frame, c: Ink): void {
  const y = Math.round(f.y(sc.limit)) + 0.5;
  if (!sc.limit || y < f.top) return;
  line(ctx, RED, through([left(), y], [left() + f.width, y]), 1, [6, 4]);
  face(ctx, 11);
  word(ctx, RED, `capacity: ${bytes(sc.limit)}`, left() + 6, y + (y < f.top + px(14) ? px(9) : -px(8)), 'left', halo(c));
}

/** Draws the life of the selected allocation as a line at the bottom. */
function life({ ctx, height }: Surface, sc: Scene, f: Frame, c: Ink): void {
  const row = alloc.value;
  const at = row !== null && row < sc.m.n && within(f, sc.m.born[row], Math.min(sc.m.died[row], sc.main.t_end));
  if (at) box(ctx, c.accent, at[0], height - 4, Math.max(2, at[1]), 4);
}

/** Draws the time of the span that is selected in the timeline. */
function selected({ ctx, width, height }: Surface, f: Frame, c: Ink): void {
  const all = getSpans.now?.();
  const i = span.value;
  const at = all && i !== null && i < all.n && within(f, all.t0[i], all.t1[i]);
  if (!at) return;
  ctx.globalAlpha = 0.14;
  box(ctx, c.link, at[0], px(20), Math.max(2, at[1]), height);
  ctx.globalAlpha = 1;
  face(ctx, 11);
  word(ctx, c.text, fit(ctx, all.names[all.name[i!]], width - at[0] - 4), at[0] + 3, f.top + px(8));
}

function draw(s: Surface, sc: Scene): void {
  const c = ink();
  const [t0, t1] = range.value;
  const width = s.width - left();
  const [a, b] = sc.events ? visible(sc.events) : [t0, t1];
  const at = (t: number) => (sc.events ? after(sc.events.t, 0, sc.events.t.length, t) - 0.5 : t);
  const strip = sc.phases.length ? px(15) : 0;
  const top = px(20) + strip + px(16);
  const high = scaleTop(sc);
  const f: Frame = {
    t0,
    t1,
    width,
    top,
    y: (v) => Math.round(s.height - (v / high) * (s.height - top)),
    x: (t) => left() + ((at(t) - a) / (b - a)) * width,
    ...pictureOf(sc, width),
  };
  last = f;
  kept = blank(kept, s, c.back);
  areas(kept, sc, f);
  kept.rect(0, 0, s.width, px(20), c.band);
  kept.rect(0, 0, left(), s.height, c.band);
  kept.show(s.ctx);
  (sc.events ? drawEventAxis : drawAxis)(s.ctx, left(), width, px(20), a, b, c);
  drawScale(s, high, f.y, top, c);
  phases(s, sc, f, c);
  steps(s, sc, f, px(20) + strip, c);
  reservedLine(s, sc, f, c.text);
  limit(s, sc, f, c);
  oom(s, sc, f, px(20) + strip, c);
  life(s, sc, f, c);
  selected(s, f, c);
  const shown = moment.value ?? sc.peak.t;
  if (shown >= t0 && shown <= t1) upright(s.ctx, c.accent, f.x(shown), px(20), s.height, 2);
}

function Under({ sc }: { sc: Scene }) {
  const h = hover.value;
  const f = last;
  if (!h || !f) return null;
  const x = Math.min(f.width - 1, Math.max(0, Math.floor(h.at) - left()));
  const t = f.timeAt(x);
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
      <span class="soft">{exact(t)}{sc.events ? ` · event ${count(after(sc.events.t, 0, sc.events.t.length, t))} of ${count(sc.events.t.length)}` : ''}{phase?.name ? ` · ${phase.name}` : ''}</span>
      <span class="soft">Click to list all live allocations</span>
    </Tip>
  );
}

export function Chart({ sc, height }: { sc: Scene; height: number }) {
  const scale = useMemo(() => scaleOf(sc.events, sc.main.t_end), [sc.events, sc.main.t_end]);
  const wheel = useMemo(() => wheelTime(left(), undefined, scale), [left(), scale]);
  return (
    <div class="chart memory">
      <Canvas
        height={height}
        label={`Live memory of ${sc.name} by ${sc.by}${sc.events ? ' over memory events' : ''}; peak ${bytes(sc.peak.bytes)}`}
        onWheelTime={wheel}
        onPointerDown={dragTime(left(), (x) => {
          const f = last;
          if (f) moment.value = Math.round(f.timeAt(Math.max(0, x - left())));
        }, undefined, scale)}
        onPointerMove={(e: PointerEvent) => {
          const [at, over] = inside(e);
          hover.value = e.buttons ? null : { x: e.clientX, y: e.clientY, at, over };
        }}
        onPointerLeave={() => (hover.value = null)}
        draw={(s) => draw(s, sc)}
      />
      <Under sc={sc} />
    </div>
  );
}
