// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Drawing the timeline: pixels first, then text, lines and the selection on top.
import { bytes, count, ns } from '../../data/format';
import type { Link } from '../../data/notes';
import type { Main, Phase } from '../../data/page';
import { placeOf, type Spans, visitRow } from '../../data/spans';
import { drawAxis } from '../../draw/axis';
import { type Ink, ink, kindColor, MEMORY } from '../../draw/colors';
import { box, face, line, type Point, shape, through, upright, word } from '../../draw/marks';
import { blank, css, inkOn, type Pixels, rgb, shade } from '../../draw/pixels';
import { fit } from '../../draw/text';
import type { Surface } from '../../ui/canvas';
import { px } from '../../ui/scale';
import { fitBrief } from '../flame/draw';
import { dims, type Lane } from './lanes';
import { columns, countIn, visitHits } from './matches';

export interface Area {
  t0: number;
  t1: number;
  tracks: readonly number[];
}

export interface Scene {
  main: Main;
  spans: Spans;
  phases: Phase[];
  lanes: Lane[];
  high: number; // of all lanes together
  scroll: number;
  t0: number;
  t1: number;
  moment: number | null;
  span: number | null;
  cursor: number | null; // where the keyboard is
  links: readonly Link[]; // of the selected span
  area: Area | null;
  found: ReadonlySet<number> | null; // names that the search matches
  hits?: Int32Array; // its matches, ascending, if all spans are here
  color: (cat: number, name: number) => number;
  live?: (t0: number, t1: number, width: number) => Float64Array; // exact after the memory section was read
  life?: [number, number]; // of the chosen allocation
  at?: (span: number) => Place | undefined; // where a span is, when `spans` are only pieces of it
}

export interface Place {
  track: number;
  row: number;
  t0: number;
  t1: number;
}

/** Returns the heights of the fixed rows at the top. */
export function tops(main: Main, phases: readonly Phase[]): { marks: number; curve: number; base: number } {
  const d = dims.value;
  const marks = d.marks * (Number(phases.some((p) => p.name)) + Number(main.marks.length > 0)); // a line each
  const curve = main.device ? d.curve : 0;
  return { marks, curve, base: d.axis + marks + curve };
}

interface Label {
  x: number;
  y: number;
  w: number;
  span: number;
  color: number;
}

const TEXT_FROM = 34; // pixels a span must have to carry its name

/** Draws the spans. If some match the search, the others are pale. */
function rows(p: Pixels, sc: Scene, width: number, base: number, dark: boolean, labels: Label[]): void {
  const { row: high, left } = dims.value;
  const { spans, found, hits, color } = sc;
  const pale = dark ? -0.72 : 0.78;
  const { cat, name } = spans;
  for (const l of sc.lanes) {
    const top = base + l.y - sc.scroll;
    if (top > p.height || top + l.height < base) continue;
    const { rows } = spans.tracks[l.track];
    const list = l.open ? rows : rows.slice(0, 1);
    list.forEach((row, r) => {
      const y = Math.round(top + 2 + r * high);
      if (y > p.height || y + high < base) return;
      const put = (x0: number, x1: number, i: number) => {
        const own = color(cat[i], name[i]);
        const c = found && !found.has(name[i]) ? shade(own, pale) : own;
        const gap = x1 - x0 > 3 ? 1 : 0;
        p.rect(left + x0, Math.max(base, y), left + x1 - gap, y + high - (high > 10 ? 2 : 1), rgb(c));
        if (x1 - x0 >= TEXT_FROM && high > 10 && y >= base - 4) labels.push({ x: left + x0, y, w: x1 - x0 - gap, span: i, color: c });
      };
      visitRow(spans, row, sc.t0, sc.t1, width, put);
      if (hits) visitHits(spans, hits, row, sc.t0, sc.t1, width, (x0, x1, i) => x1 - x0 < TEXT_FROM && put(x0, x1, i));
    });
  }
}

function names({ ctx }: Surface, sc: Scene, labels: Label[]): void {
  face(ctx, 11);
  for (const l of labels) {
    const text = fitBrief(ctx, sc.spans.names[sc.spans.name[l.span]] || '(unnamed)', l.w - 7);
    if (text) word(ctx, inkOn(l.color), text, l.x + 4, l.y + dims.value.row / 2 - 0.5);
  }
}

/** Draws the stripe, name and figures of a lane. */
function head(ctx: Surface['ctx'], y: number, high: number, color: number, name: () => string, x: number, more: string, c: Ink): void {
  box(ctx, css(color), 0, y, 3, high - 1);
  face(ctx, 11.5, '600');
  word(ctx, c.text, name(), x, y + px(11));
  face(ctx, 10.5);
  if (high > px(36)) word(ctx, c.soft, more, px(22), y + px(26));
}

/** Draws a mark on the axis where a match is, also if its lane is not visible. */
function matchMarks({ ctx }: Surface, sc: Scene, width: number, high: number, c: Ink): void {
  if (!sc.hits) return;
  const on = columns(sc.spans, sc.hits, sc.t0, sc.t1, width);
  for (let x = 0; x < width; x++) if (on[x]) box(ctx, c.accent, dims.value.left + x, high - 4, 2, 4);
}

/** Draws the names of lanes on top of the spans. */
function heads({ ctx, width, height }: Surface, sc: Scene, base: number, c: Ink): void {
  const room = dims.value.left - px(30);
  let row = 0; // of a Gantt chart: lanes are counted through
  for (const l of sc.lanes) {
    const y = Math.round(base + l.y - sc.scroll);
    const t = sc.spans.tracks[l.track];
    const first = row + 1;
    row += t.rows.length;
    if (y > height || y + l.height < base) continue;
    ctx.strokeStyle = c.line;
    ctx.strokeRect(-1, y - 0.5, width + 2, l.height);
    const lanes = sc.main.only === 'gantt' ? `Lane ${first}${row > first ? `–${row}` : ''} · ` : '';
    const also = t.name.lastIndexOf(' · overlap '); // a further track of the lane above
    const match = sc.hits ? countIn(sc.hits, t.rows) : 0;
    const text = match ? `${count(match)} ✓` : '';
    face(ctx, 11, '600');
    const wide = text ? ctx.measureText(text).width + 8 : 0;
    head(ctx, y, l.height, kindColor(t.kind), () => `${l.open ? '▾' : '▸'} ${fit(ctx, also > 0 ? `↳ ${t.name.slice(also + 3)}` : lanes + t.name, room - wide)}`, px(9), `${count(t.count)} spans`, c);
    face(ctx, 11, '600');
    if (text) word(ctx, c.accent, text, dims.value.left - 6, y + px(11), 'right');
  }
}

const clip = ({ ctx }: Surface, x: number, y: number, w: number, h: number, draw: () => void) => {
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, w, h);
  ctx.clip();
  draw();
  ctx.restore();
};

/** Converts times of the window to pixels. */
const scaleOf = (sc: Scene, width: number) => (t: number) => dims.value.left + ((t - sc.t0) / (sc.t1 - sc.t0)) * width;

function curve(s: Surface, sc: Scene, width: number, y0: number, high: number, c: Ink): void {
  const { ctx } = s;
  const { left } = dims.value;
  const d = sc.main.devices[sc.main.device];
  const v = sc.main.curve;
  const x = scaleOf(sc, width);
  const end = Math.max(1, sc.main.t_end);
  const y1 = y0 + high - 3;
  clip(s, left, y0, width, high, () => {
    const scale = d.peak ? (high - 8) / d.peak : 0;
    const column = (x: number, w: number, bytes: number) => ctx.fillRect(x, y1 - bytes * scale, w, bytes * scale);
    ctx.fillStyle = css(MEMORY);
    const exact = sc.live?.(sc.t0, sc.t1, width);
    for (let k = 0; exact && k < width; k++) column(Math.round(left) + k, 1, exact[k]);
    const from = Math.max(0, Math.floor((sc.t0 / end) * v.length));
    const to = exact ? from : Math.min(v.length, Math.ceil((sc.t1 / end) * v.length));
    for (let i = from; i < to; i++) {
      const a = Math.floor(x((i / v.length) * end)); // whole pixels: halves would show the background
      column(a, Math.max(1, Math.ceil(x(((i + 1) / v.length) * end)) - a), v[i]);
    }
  });
  if (sc.life) {
    const a = Math.max(left, x(sc.life[0]));
    box(ctx, c.accent, a, y1, Math.max(a < s.width ? 2 : 0, Math.min(s.width, x(sc.life[1])) - a), 3);
  }
  head(ctx, y0, high, MEMORY, () => fit(ctx, `Live memory, ${d.device}`, left - px(20)), px(22), `up to ${bytes(d.peak)}`, c);
}

const markText = (m: Main['marks'][number]): string => (m.kind === 'oom' ? `out of memory: ${bytes(m.value)} requested` : m.kind === 'step' ? `step ${m.value}` : m.name || m.kind);

/** Draws phases as bands and marks as flags, both with names, and both as lines through the lanes. */
function marks(s: Surface, sc: Scene, width: number, y0: number, high: number, c: Ink): void {
  const { ctx } = s;
  const { left, marks: row } = dims.value;
  const x = scaleOf(sc, width);
  const mid = y0 + row / 2;
  const low = y0 + high - row / 2;
  face(ctx, 10.5);
  clip(s, left, 0, width, s.height, () => {
    sc.phases.forEach((p, i) => {
      const [a, b] = [x(p.t0), x(p.t1)];
      if (b < left || a > left + width || !p.name) return;
      box(ctx, `rgba(128,140,160,.${i % 2 ? 16 : 32})`, a, y0, b - a, row - 1);
      const from = Math.max(a, left);
      word(ctx, c.text, fit(ctx, p.name, Math.min(b, left + width) - from - 6), from + 4, mid);
    });
    let free = left; // flags do not cover one another
    for (const m of sc.main.marks) {
      if (m.t < sc.t0 || m.t > sc.t1) continue;
      const oom = m.kind === 'oom';
      const at = x(m.t);
      upright(ctx, oom ? c.accent : 'rgba(128,128,160,.5)', at, low - row / 2, s.height, 1, oom ? [] : [3, 3]);
      const text = markText(m);
      const wide = ctx.measureText(text).width + 10;
      const back = oom && at + wide > left + width && at - wide > free; // to the left of its line if it would be clipped
      if (at < free) continue;
      word(ctx, oom ? c.accent : c.soft, text, at + (back ? -3 : 3), low, back ? 'right' : 'left');
      free = at + (back ? 10 : wide);
    }
  });
  if (sc.phases.some((p) => p.name)) word(ctx, c.soft, 'phases', px(22), mid);
  if (sc.main.marks.length) word(ctx, c.soft, 'marks', px(22), low);
}

/* ---- the selection ---- */

interface Frame {
  x0: number;
  x1: number;
  y: number;
}

function frame(sc: Scene, span: number, width: number, base: number): Frame | undefined {
  const p = sc.at ? sc.at(span) : { ...placeOf(sc.spans, span), t0: sc.spans.t0[span], t1: sc.spans.t1[span] };
  const l = p && sc.lanes.find((k) => k.track === p.track);
  if (!l) return undefined;
  const x = scaleOf(sc, width);
  return { x0: x(p.t0), x1: x(p.t1), y: base + l.y - sc.scroll + 2 + (l.open ? p.row * dims.value.row : 0) };
}

export interface Arrow {
  points: Point[];
  to: number; // the span at its other end
}

const bezier = (a: Point, b: Point, c: Point, d: Point): Point[] =>
  Array.from({ length: 25 }, (_, k) => {
    const t = k / 24;
    const u = 1 - t;
    const at = (i: 0 | 1) => u * u * u * a[i] + 3 * u * u * t * b[i] + 3 * u * t * t * c[i] + t * t * t * d[i];
    return [at(0), at(1)];
  });

/** Draws an arrow from a launch to its work; a click follows it. */
function arrow({ ctx }: Surface, sc: Scene, l: Link, width: number, base: number, color: string): Arrow | undefined {
  const from = frame(sc, l.from, width, base);
  const to = frame(sc, l.to, width, base);
  if (!from || !to) return undefined;
  const half = dims.value.row / 2 - 1;
  const a: Point = [Math.max(from.x0, Math.min(from.x1, to.x0)), from.y + half];
  const [x, y]: Point = [to.x0, to.y + half];
  const bend = Math.max(24, Math.abs(x - a[0]) / 2);
  const points = bezier(a, [a[0] + bend, a[1]], [x - bend, y], [x, y]);
  line(ctx, color, through(...points), 1.5);
  shape(ctx, color, through([x + 1, y], [x - px(7), y - px(4)], [x - px(7), y + px(4)]));
  ctx.beginPath();
  ctx.arc(a[0], a[1], px(3), 0, 7);
  ctx.fill();
  return { points, to: l.from === sc.span ? l.to : l.from };
}

/** Returns the arrow within a few pixels of a point. */
export function arrowAt(arrows: readonly Arrow[], x: number, y: number, near = 5): Arrow | undefined {
  return arrows.find((a) =>
    a.points.some(([x1, y1], i) => {
      if (!i) return false;
      const [x0, y0] = a.points[i - 1];
      const len = (x1 - x0) ** 2 + (y1 - y0) ** 2 || 1;
      const t = Math.max(0, Math.min(1, ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / len));
      return Math.hypot(x - x0 - t * (x1 - x0), y - y0 - t * (y1 - y0)) <= near;
    }),
  );
}

function selection(s: Surface, sc: Scene, width: number, base: number, c: Ink): Arrow[] {
  const { ctx } = s;
  const { row } = dims.value;
  const arrows: Arrow[] = [];
  const outline = (span: number | null, color: string, dash: number[]) => {
    const b = span !== null && (sc.at || span < sc.spans.n) ? frame(sc, span, width, base) : undefined;
    if (!b || b.y + row <= base) return;
    ctx.lineWidth = 2;
    ctx.strokeStyle = color;
    ctx.setLineDash(dash);
    ctx.strokeRect(b.x0 - 0.5, b.y - 1, Math.max(3, b.x1 - b.x0 + 1), row);
  };
  clip(s, dims.value.left, base, width, s.height - base, () => {
    for (const l of sc.links) {
      const a = arrow(s, sc, l, width, base, c.accent);
      if (a) arrows.push(a);
    }
    outline(sc.span, c.text, []);
    outline(sc.cursor, c.link, [4, 2]);
  });
  return arrows;
}

function moment(s: Surface, sc: Scene, width: number, base: number, c: Ink): void {
  const at = sc.moment;
  if (at === null) return;
  clip(s, dims.value.left, 0, width, s.height, () => {
    const x = scaleOf(sc, width)(at);
    upright(s.ctx, c.accent, x, 0, s.height);
    face(s.ctx, 10.5);
    word(s.ctx, c.accent, ns(at), x + 4, base - 8);
  });
}

function area(s: Surface, sc: Scene, width: number, base: number, c: Ink): void {
  const a = sc.area;
  if (!a) return;
  const [x0, x1] = [a.t0, a.t1].map(scaleOf(sc, width));
  clip(s, dims.value.left, base, width, s.height - base, () => {
    for (const l of sc.lanes) if (a.tracks.includes(l.track)) box(s.ctx, c.dark ? 'rgba(122,184,240,.16)' : 'rgba(31,111,184,.13)', x0, base + l.y - sc.scroll, x1 - x0, l.height);
    for (const at of [x0, x1]) line(s.ctx, c.link, through([at, base], [at, s.height]));
  });
}

/** Draws the scroll position of the lanes if not all of them fit. */
function scrollbar({ ctx, width, height }: Surface, sc: Scene, base: number, c: Ink): void {
  const room = height - base;
  if (sc.high <= room) return;
  ctx.globalAlpha = 0.55;
  box(ctx, c.soft, width - 5, base + (sc.scroll / sc.high) * room, 4, Math.max(18, (room / sc.high) * room));
  ctx.globalAlpha = 1;
}

let kept: Pixels | undefined;

/** Draws the scene. Returns the arrows, for clicks. */
export function drawScene(s: Surface, sc: Scene): Arrow[] {
  const c = ink();
  const { left, axis } = dims.value;
  const width = s.width - left;
  const top = tops(sc.main, sc.phases);
  const { base } = top;
  const labels: Label[] = [];
  kept = blank(kept, s, c.back);
  rows(kept, sc, width, base, c.dark, labels);
  kept.rect(0, 0, left, s.height, c.band);
  kept.rect(0, 0, s.width, axis, c.band);
  kept.show(s.ctx);
  drawAxis(s.ctx, left, width, base, sc.t0, sc.t1, c);
  clip(s, left, base, width, s.height - base, () => names(s, sc, labels));
  clip(s, 0, base, s.width, s.height - base, () => heads(s, sc, base, c));
  matchMarks(s, sc, width, axis, c);
  if (top.curve) curve(s, sc, width, axis + top.marks, top.curve, c);
  if (top.marks) marks(s, sc, width, axis, top.marks, c);
  area(s, sc, width, base, c);
  const arrows = selection(s, sc, width, base, c);
  moment(s, sc, width, base, c);
  scrollbar(s, sc, base, c);
  return arrows;
}

