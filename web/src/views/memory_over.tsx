// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The allocator over time: what it holds and cannot use, and how broken up that is.
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { type Allocator, fragmentation, type Over } from '../data/allocator';
import { bytes, count, exact, ns } from '../data/format';
import { after } from '../data/spans';
import { ink } from '../draw/colors';
import { css, Pixels, rgb } from '../draw/pixels';
import { moment, range } from '../state';
import { Canvas, type Surface } from '../ui/canvas';
import { Legend } from '../ui/parts';
import { Table } from '../ui/table';
import { type Spot, Tip } from '../ui/tip';
import { dragTime, wheelTime } from '../ui/travel';
import { drawScale, LEFT, upright } from './memory_chart';
import type { Scene } from './memory_scene';

const layers = [
  ['active', 'in use', 0x3b7dc4],
  ['split', 'inactive split: free, but in segments partly in use', 0xe09f3e],
  ['cached', 'whole free segments', 0xa9b4bf],
  ['expandable', 'free in expandable segments', 0x5fb7d4],
] as const;
const INDEX = 0xc8553d;
const hover = signal<(Spot & { point: number }) | null>(null);
let kept: Pixels | undefined;

const freeOf = (o: Over, i: number): number => o.split[i] + o.cached[i] + o.expandable[i];
const indexOf = (o: Over, i: number): number => fragmentation(freeOf(o, i), o.largest[i]);

/** For every pixel column the point that it shows: of those within it the one with most free, else the last before. */
export function columns(o: Over, t0: number, t1: number, width: number): Int32Array {
  const out = new Int32Array(width);
  const n = o.t.length;
  for (let x = 0; x < width; x++) {
    const a = after(o.t, 0, n, t0 + (x / width) * (t1 - t0)) - 1;
    const b = after(o.t, Math.max(0, a), n, t0 + ((x + 1) / width) * (t1 - t0)) - 1;
    let best = a;
    for (let i = a + 1; i <= b; i++) if (best < 0 || freeOf(o, i) > freeOf(o, best)) best = i;
    out[x] = best;
  }
  return out;
}

function draw(s: Surface, o: Over, peak: number, shown: { at?: Int32Array }): void {
  const c = ink();
  const [t0, t1] = range.value;
  const width = s.width - LEFT;
  const most = o.reserved.reduce((a, b) => Math.max(a, b), 1) * 1.06;
  const top = 6;
  const y = (v: number) => Math.round(s.height - (v / most) * (s.height - top));
  const cols = (shown.at = columns(o, t0, t1, width));
  if (!kept || kept.width !== s.width || kept.height !== s.height) kept = new Pixels(s.width, s.height);
  kept.clear(c.back);
  for (let x = 0; x < width; x++) {
    let sum = 0;
    let low = y(0);
    for (const [key, , color] of layers) {
      sum += cols[x] < 0 ? 0 : o[key][cols[x]];
      const high = y(sum);
      kept.rect(LEFT + x, high, LEFT + x + 1, low, rgb(color));
      low = high;
    }
  }
  kept.rect(0, 0, LEFT, s.height, c.band);
  kept.show(s.ctx);
  drawScale(s, most, y, top, c);
  const line = (value: (i: number) => number, color: string, dash: number[]) => {
    s.ctx.strokeStyle = color;
    s.ctx.lineWidth = 1.5;
    s.ctx.setLineDash(dash);
    s.ctx.beginPath();
    for (let x = 0; x < width; x++) s.ctx.lineTo(LEFT + x + 0.5, value(cols[x]));
    s.ctx.stroke();
    s.ctx.setLineDash([]);
    s.ctx.lineWidth = 1;
  };
  line((i) => y(i < 0 ? 0 : o.largest[i]), c.text, [4, 3]);
  line((i) => s.height - 2 - (i < 0 ? 0 : indexOf(o, i)) * (s.height - top - 4), css(INDEX), []);
  const at = moment.value ?? peak;
  if (at >= t0 && at <= t1) upright(s, LEFT + ((at - t0) / (t1 - t0)) * width, 0, c.accent, 2);
}

function Under({ o }: { o: Over }) {
  const h = hover.value;
  if (!h || h.point < 0) return null;
  const i = h.point;
  return (
    <Tip at={h}>
      <b>fragmentation index {indexOf(o, i).toFixed(3)}</b>
      <span>{bytes(o.reserved[i])} reserved, {bytes(o.active[i])} in use</span>
      <span>{bytes(o.split[i])} inactive split, {bytes(o.cached[i])} in whole free segments{o.expandable[i] ? `, ${bytes(o.expandable[i])} in expandable ones` : ''}</span>
      <span>largest free block {bytes(o.largest[i])}</span>
      <span class="soft">from {exact(o.t[i])} on</span>
    </Tip>
  );
}

export function OverTime({ sc, a }: { sc: Scene; a: Allocator }) {
  const of = a.over.get(sc.dev);
  const wheel = useMemo(() => wheelTime(LEFT), []);
  const shown = useMemo((): { at?: Int32Array } => ({}), []);
  if (!of) return null;
  const o = of.points;
  const w = of.worst;
  return (
    <>
      <div class="chart over">
        <Canvas
          height={130}
          label={`Reserved bytes of ${sc.name} over time: in use, inactive split, free`}
          onWheelTime={wheel}
          onPointerDown={dragTime(LEFT, (x) => {
            const el = document.querySelector('.chart.over canvas') as HTMLCanvasElement;
            const [t0, t1] = range.value;
            moment.value = Math.round(t0 + (Math.max(0, x - LEFT) / (el.clientWidth - LEFT)) * (t1 - t0));
          })}
          onPointerMove={(e: PointerEvent) => {
            const box = (e.currentTarget as HTMLElement).getBoundingClientRect();
            const x = Math.floor(e.clientX - box.left) - LEFT;
            hover.value = { x: e.clientX, y: e.clientY, point: shown.at?.[x] ?? -1 };
          }}
          onPointerLeave={() => (hover.value = null)}
          draw={(s) => draw(s, o, sc.peak.t, shown)}
        />
        <Under o={o} />
      </div>
      <div class="bar">
        <Legend
          items={[
            ...layers.filter(([key]) => key !== 'expandable' || o.expandable.some((v) => v > 0)).map(([, text, color]) => ({ color: css(color), text })),
            { color: css(INDEX), text: 'line: fragmentation index, 0 to 1' },
            { color: 'var(--text)', text: 'dashed: largest free block' },
          ]}
        />
        <span class="grow" />
        <span class="soft">
          {of.moves > o.t.length ? `A point in ${count(Math.ceil(of.moves / o.t.length))} moves · ` : ''}most unused {bytes(w.reserved[0] - w.active[0])} at
        </span>
        <button onClick={() => (moment.value = w.t[0])}>{ns(w.t[0])}</button>
      </div>
      <details>
        <summary>These figures as a table</summary>
        <Table
          label="the allocator over time"
          rows={Array.from(o.t, (_, i) => i)}
          sort="t"
          ascending
          height={360}
          onPick={(i) => (moment.value = o.t[i])}
          cols={[
            { key: 't', title: 'Time', value: (i) => o.t[i], text: (i) => exact(o.t[i]) },
            ...(['reserved', 'active', 'split', 'cached', 'expandable', 'largest'] as const).map((k) => ({ key: k, title: { reserved: 'Reserved', active: 'In use', split: 'Inactive split', cached: 'Whole segments', expandable: 'Expandable', largest: 'Largest free' }[k], value: (i: number) => o[k][i], text: (i: number) => bytes(o[k][i]) })),
            { key: 'index', title: 'Index', value: (i) => indexOf(o, i), text: (i) => indexOf(o, i).toFixed(3) },
          ]}
        />
      </details>
    </>
  );
}
