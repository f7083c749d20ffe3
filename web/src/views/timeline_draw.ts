// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Drawing the timeline: pixels first, then text, lines and the selection on top.
import { bytes, ns } from '../data/format';
import type { Main, Phase } from '../data/page';
import { placeOf, type Spans, visitRow } from '../data/spans';
import { drawAxis } from '../draw/axis';
import { type Ink, ink } from '../draw/colors';
import { fit } from '../draw/text';
import { inkOn, Pixels, rgb, shade } from '../draw/pixels';
import type { Surface } from '../ui/canvas';
import { CURVE, HEAD, type Lane, LEFT, ROW, TOP } from './lanes';

export interface Scene {
  main: Main;
  spans: Spans;
  phases: Phase[];
  lanes: Lane[];
  scroll: number;
  t0: number;
  t1: number;
  moment: number | null;
  span: number | null;
  found: ReadonlySet<number> | null; // names that the search matches
  color: (cat: number, name: number) => number;
  live?: (t0: number, t1: number, width: number) => Float64Array; // exact, once the memory section is read
}

interface Label {
  x: number;
  y: number;
  w: number;
  span: number;
  color: number;
}

const TEXT_FROM = 34; // pixels a span must have to carry its name

function rows(p: Pixels, sc: Scene, width: number, base: number, back: number, labels: Label[]): void {
  for (const l of sc.lanes) {
    const top = base + l.y - sc.scroll;
    if (top > p.height || top + l.height < base) continue;
    const track = sc.spans.tracks[l.track];
    track.rows.forEach((row, r) => {
      const y = l.open ? top + HEAD + r * ROW : top + HEAD;
      const high = l.open ? ROW - 2 : 4;
      if (y > p.height || y + high < base || (!l.open && r > 0)) return;
      visitRow(sc.spans, row, sc.t0, sc.t1, width, (x0, x1, i) => {
        let c = sc.color(sc.spans.cat[i], sc.spans.name[i]);
        if (sc.found && !sc.found.has(sc.spans.name[i])) c = back;
        const gap = x1 - x0 > 3 ? 1 : 0;
        p.rect(LEFT + x0, Math.max(base, Math.round(y)), LEFT + x1 - gap, Math.round(y) + high, rgb(c));
        if (l.open && x1 - x0 >= TEXT_FROM && y >= base - 4) labels.push({ x: LEFT + x0, y, w: x1 - x0 - gap, span: i, color: c });
      });
    });
  }
}

function names(s: Surface, sc: Scene, labels: Label[]): void {
  s.ctx.font = '11px system-ui, sans-serif';
  s.ctx.textBaseline = 'middle';
  for (const l of labels) {
    const text = fit(s.ctx, sc.spans.names[sc.spans.name[l.span]] || '(unnamed)', l.w - 7);
    if (!text) continue;
    s.ctx.fillStyle = inkOn(l.color);
    s.ctx.fillText(text, l.x + 4, Math.round(l.y) + ROW / 2 - 0.5);
  }
}

function heads(s: Surface, sc: Scene, base: number, c: Ink): void {
  s.ctx.save();
  s.ctx.beginPath();
  s.ctx.rect(0, base, s.width, s.height - base);
  s.ctx.clip();
  for (const l of sc.lanes) {
    const y = base + l.y - sc.scroll;
    if (y > s.height || y + l.height < base) continue;
    const t = sc.spans.tracks[l.track];
    s.ctx.strokeStyle = c.line;
    s.ctx.strokeRect(-1, Math.round(y) + 0.5, s.width + 2, l.height);
    s.ctx.fillStyle = c.text;
    s.ctx.font = '600 11.5px system-ui, sans-serif';
    s.ctx.fillText(`${l.open ? '▾' : '▸'} ${fit(s.ctx, t.name, LEFT - 28)}`, 6, y + 11);
    s.ctx.fillStyle = c.soft;
    s.ctx.font = '10.5px system-ui, sans-serif';
    if (l.open && l.height > 42) s.ctx.fillText(`${t.count.toLocaleString('en-US')} spans`, 20, y + 26);
  }
  s.ctx.restore();
}

function curve(s: Surface, sc: Scene, width: number, c: Ink): void {
  const d = sc.main.devices[sc.main.device];
  const v = sc.main.curve;
  const end = Math.max(1, sc.main.t_end);
  const y1 = TOP + CURVE - 3;
  s.ctx.save();
  s.ctx.beginPath();
  s.ctx.rect(LEFT, TOP, width, CURVE);
  s.ctx.clip();
  sc.phases.forEach((p, i) => {
    const a = LEFT + ((p.t0 - sc.t0) / (sc.t1 - sc.t0)) * width;
    const b = LEFT + ((p.t1 - sc.t0) / (sc.t1 - sc.t0)) * width;
    if (b < LEFT || a > LEFT + width || !p.name) return;
    s.ctx.fillStyle = i % 2 ? 'rgba(128,140,160,.10)' : 'rgba(128,140,160,.20)';
    s.ctx.fillRect(a, TOP, b - a, CURVE);
    s.ctx.fillStyle = c.soft;
    s.ctx.font = '10.5px system-ui, sans-serif';
    const text = fit(s.ctx, p.name, Math.min(b, LEFT + width) - Math.max(a, LEFT) - 6);
    if (text) s.ctx.fillText(text, Math.max(a, LEFT) + 4, TOP + 9);
  });
  s.ctx.fillStyle = '#e09f3e';
  s.ctx.globalAlpha = 0.85;
  const exact = sc.live?.(sc.t0, sc.t1, width);
  const from = Math.max(0, Math.floor((sc.t0 / end) * v.length));
  const to = exact ? from : Math.min(v.length, Math.ceil((sc.t1 / end) * v.length));
  for (let x = 0; exact && x < width; x++) {
    const high = d.peak ? (exact[x] / d.peak) * (CURVE - 22) : 0;
    s.ctx.fillRect(LEFT + x, y1 - high, 1, high);
  }
  for (let i = from; i < to; i++) {
    const a = LEFT + (((i / v.length) * end - sc.t0) / (sc.t1 - sc.t0)) * width;
    const b = LEFT + ((((i + 1) / v.length) * end - sc.t0) / (sc.t1 - sc.t0)) * width;
    const high = d.peak ? (v[i] / d.peak) * (CURVE - 22) : 0;
    s.ctx.fillRect(a, y1 - high, Math.max(1, b - a + 0.5), high);
  }
  s.ctx.globalAlpha = 1;
  s.ctx.restore();
  s.ctx.fillStyle = c.text;
  s.ctx.font = '600 11.5px system-ui, sans-serif';
  s.ctx.fillText(sc.main.device ? `memory ${d.device}` : 'memory', 6, TOP + 14);
  s.ctx.fillStyle = c.soft;
  s.ctx.font = '10.5px system-ui, sans-serif';
  s.ctx.fillText(sc.main.device ? `peak ${bytes(d.peak)}` : 'none recorded', 20, TOP + 30);
}

function marks(s: Surface, sc: Scene, width: number): void {
  for (const m of sc.main.marks) {
    if (m.t < sc.t0 || m.t > sc.t1) continue;
    const x = Math.round(LEFT + ((m.t - sc.t0) / (sc.t1 - sc.t0)) * width) + 0.5;
    s.ctx.strokeStyle = m.kind === 'oom' ? '#c8553d' : 'rgba(128,128,160,.6)';
    s.ctx.setLineDash(m.kind === 'oom' ? [] : [3, 3]);
    s.ctx.beginPath();
    s.ctx.moveTo(x, TOP);
    s.ctx.lineTo(x, s.height);
    s.ctx.stroke();
  }
  s.ctx.setLineDash([]);
}

function box(sc: Scene, span: number, width: number, base: number): { x0: number; x1: number; y: number } | undefined {
  const p = placeOf(sc.spans, span);
  const l = sc.lanes.find((k) => k.track === p.track);
  if (!l) return undefined;
  const x = (t: number) => LEFT + ((t - sc.t0) / (sc.t1 - sc.t0)) * width;
  return { x0: x(sc.spans.t0[span]), x1: x(sc.spans.t1[span]), y: base + l.y - sc.scroll + HEAD + (l.open ? p.row * ROW : 0) };
}

function selection(s: Surface, sc: Scene, width: number, base: number, c: Ink): void {
  s.ctx.save();
  s.ctx.beginPath();
  s.ctx.rect(LEFT, 0, width, s.height);
  s.ctx.clip();
  if (sc.moment !== null) {
    const x = Math.round(LEFT + ((sc.moment - sc.t0) / (sc.t1 - sc.t0)) * width) + 0.5;
    s.ctx.strokeStyle = c.accent;
    s.ctx.beginPath();
    s.ctx.moveTo(x, 0);
    s.ctx.lineTo(x, s.height);
    s.ctx.stroke();
    s.ctx.fillStyle = c.accent;
    s.ctx.fillText(ns(sc.moment), x + 4, TOP + CURVE - 8);
  }
  if (sc.span !== null && sc.span < sc.spans.n) {
    const b = box(sc, sc.span, width, base);
    if (b && b.y + ROW > base) {
      s.ctx.strokeStyle = c.text;
      s.ctx.lineWidth = 2;
      s.ctx.strokeRect(b.x0, b.y - 1, Math.max(2, b.x1 - b.x0), ROW);
      const cause = sc.spans.cause[sc.span];
      const from = cause ? box(sc, cause - 1, width, base) : undefined;
      if (from) {
        s.ctx.lineWidth = 1.5;
        s.ctx.strokeStyle = c.accent;
        s.ctx.beginPath();
        s.ctx.moveTo(from.x0, from.y + ROW / 2);
        const mid = (from.x0 + b.x0) / 2;
        s.ctx.bezierCurveTo(mid, from.y + ROW / 2, mid, b.y + ROW / 2, b.x0, b.y + ROW / 2);
        s.ctx.stroke();
      }
      s.ctx.lineWidth = 1;
    }
  }
  s.ctx.restore();
}

let kept: Pixels | undefined;

export function drawScene(s: Surface, sc: Scene): void {
  const c = ink();
  const width = s.width - LEFT;
  const base = TOP + CURVE;
  if (!kept || kept.width !== s.width || kept.height !== s.height) kept = new Pixels(s.width, s.height);
  const labels: Label[] = [];
  kept.clear(c.back);
  rows(kept, sc, width, base, shade(c.dark ? 0x2a3038 : 0xe4e8ec, 0), labels);
  kept.rect(0, base, LEFT, s.height, c.band);
  kept.rect(0, 0, s.width, TOP, c.band);
  kept.show(s.ctx);
  drawAxis(s.ctx, LEFT, width, TOP + CURVE, sc.t0, sc.t1, c);
  curve(s, sc, width, c);
  heads(s, sc, base, c);
  s.ctx.save();
  s.ctx.beginPath();
  s.ctx.rect(LEFT, base, width, s.height - base);
  s.ctx.clip();
  names(s, sc, labels);
  s.ctx.restore();
  marks(s, sc, width);
  selection(s, sc, width, base, c);
}
