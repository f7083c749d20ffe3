// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The allocator at a moment: its segments and the blocks in them, to scale or one row per segment.
import { signal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { address, type Allocator, EXPANDABLE, fragmentation, type Seg, type State, stateAt } from '../../data/allocator';
import { bytes, count, ns, percent, plural } from '../../data/format';
import type { Position } from '../../data/memory';
import { faceText } from '../../data/calls';
import { opPath } from '../../data/memory';
import { sum } from '../../data/sums';
import { ink } from '../../draw/colors';
import { face, line, through, word } from '../../draw/marks';
import { blank, css, type Pixels, rgb } from '../../draw/pixels';
import { alloc } from '../../state';
import { Canvas, type Surface } from '../../ui/canvas';
import { Choice, Facts, Fold, Legend, Panel } from '../../ui/parts';
import { type Col, col, Table } from '../../ui/table';
import { px } from '../../ui/scale';
import { pointed, type Spot, Tip } from '../../ui/tip';
import { inside } from '../../ui/travel';
import type { Scene } from './scene';

/** A part of a segment on the canvas. */
export interface Piece {
  seg: number;
  from: number; // bytes of the segment
  to: number;
  x: number;
  y: number;
  w: number;
}

const MOST_ROWS = 300;
const GAP = 2;
const shapes = { scale: [26, 20, 0], rows: [20, 15, 250] }; // heights of a row and its bar, width of the label before it
type Shape = keyof typeof shapes;
const shape = signal<Shape>('scale');
const hover = pointed<Spot & { seg: number; block: number }>();
const cursor = signal(-1); // block where the keyboard is

/** Segments from the largest on: one after another at one scale, wrapped like words; or each in its own row. */
export function layout(segs: readonly Seg[], width: number, how: Shape): { pieces: Piece[]; height: number } {
  const [row, , left] = shapes[how].map(px);
  const order = segs.map((_, i) => i).sort((a, b) => segs[b].size - segs[a].size || segs[a].addr - segs[b].addr);
  const pieces: Piece[] = [];
  const w = Math.max(40, width - left);
  if (how === 'rows') {
    order.slice(0, MOST_ROWS).forEach((seg, i) => pieces.push({ seg, from: 0, to: segs[seg].size, x: left, y: i * row, w }));
    return { pieces, height: Math.max(1, pieces.length) * row };
  }
  const total = sum(segs, (s) => s.size);
  const lines = Math.max(1, Math.min(60, 8 + Math.ceil((segs.length * (GAP + 2)) / w)));
  const scale = total / Math.max(1, w * lines - segs.length * GAP) || 1; // bytes per pixel
  let x = 0;
  let y = 0;
  for (const seg of order) {
    const size = segs[seg].size;
    let from = 0;
    while (from < size) {
      const need = Math.max(2, Math.round((size - from) / scale));
      if (need > w - x && (w - x < 24 || need < 24)) {
        x = 0;
        y += row;
      }
      const take = Math.min(need, w - x);
      const to = take === need ? size : Math.min(size, from + take * scale);
      pieces.push({ seg, from, to, x, y, w: take });
      from = to;
      x += take + GAP;
    }
  }
  return { pieces, height: y + row };
}

/** Returns the block at byte `at` of a segment. */
function blockAt(s: State, g: Seg, at: number): number {
  let lo = g.first;
  let hi = g.first + g.n - 1;
  while (lo < hi) {
    const mid = (lo + hi + 1) >> 1;
    if (s.addr[mid] - g.addr <= at) lo = mid;
    else hi = mid - 1;
  }
  return lo;
}

/** Returns the block that an arrow key leads to: along a segment and into the next one, or to the next segment. */
export function step(s: State, order: readonly number[], block: number, key: string): number {
  const at = order.findIndex((k) => block >= s.segs[k].first && block < s.segs[k].first + s.segs[k].n);
  if (at < 0) return s.segs[order[0]].first;
  const g = s.segs[order[at]];
  const back = key === 'ArrowLeft' || key === 'ArrowUp';
  const next = block + (back ? -1 : 1);
  if ((key === 'ArrowLeft' || key === 'ArrowRight') && next >= g.first && next < g.first + g.n) return next;
  const to = s.segs[order[at + (back ? -1 : 1)]];
  return !to ? block : to.first + (key === 'ArrowLeft' ? to.n - 1 : 0);
}

type Free = 'split' | 'cached' | 'expandable';
const freeText: Record<Free, string> = { split: 'inactive split: free, but its segment is partly in use', cached: 'whole free segment: can be released', expandable: 'free in an expandable segment' };
const freeKind = (a: Allocator, g: Seg): Free => (a.json.kinds[a.segKind[g.row]] === EXPANDABLE ? 'expandable' : g.nUsed ? 'split' : 'cached');
const freeColor = (dark: boolean): Record<Free, number> => (dark ? { split: 0x5a4a2c, cached: 0x2b343d, expandable: 0x24424f } : { split: 0xf6e3bf, cached: 0xe9edf1, expandable: 0xd3ecf5 });

let kept: Pixels | undefined;

function hatch(ctx: CanvasRenderingContext2D, dark: boolean): CanvasPattern | null {
  const tile = new OffscreenCanvas(6, 6);
  line(tile.getContext('2d')!, dark ? '#8a7340' : '#c99a4a', through([-1, 7], [7, -1]));
  return ctx.createPattern(tile, 'repeat');
}

function draw(s: Surface, sc: Scene, a: Allocator, st: State, how: Shape, pieces: readonly Piece[]): void {
  const c = ink();
  const [, high, left] = shapes[how].map(px);
  const free = freeColor(c.dark);
  const words = sc.colors.map(rgb);
  const hatched: [number, number, number][] = [];
  const marked: [number, number, number, string][] = [];
  kept = blank(kept, s, c.back);
  for (const p of pieces) {
    const g = st.segs[p.seg];
    const kind = freeKind(a, g);
    const per = p.w / (p.to - p.from);
    const at = (v: number) => Math.round(p.x + (Math.min(p.to, Math.max(p.from, v)) - p.from) * per);
    kept.rect(p.x, p.y, p.x + p.w, p.y + high, rgb(free[kind]));
    for (let b = blockAt(st, g, p.from); b < g.first + g.n && st.addr[b] - g.addr < p.to; b++) {
      const x0 = at(st.addr[b] - g.addr);
      const x1 = Math.max(x0 + 1, at(st.addr[b] - g.addr + st.size[b]));
      if (b === cursor.value) marked.push([x0, p.y, x1 - x0, c.link]);
      if (st.alloc[b] < 0) {
        if (kind === 'split' && x1 - x0 > 2) hatched.push([x0, p.y, x1 - x0]);
        continue;
      }
      kept.rect(x0, p.y, x1 - x0 > 3 ? x1 - 1 : x1, p.y + high, words[sc.g.of[st.alloc[b]]]);
      if (st.pending[b]) kept.rect(x0, p.y + high - 4, x1, p.y + high, rgb(0x111111));
      if (st.alloc[b] === alloc.value) marked.unshift([x0, p.y, x1 - x0, c.accent]);
    }
  }
  const { ctx } = s;
  kept.show(ctx);
  ctx.fillStyle = hatch(ctx, c.dark) ?? c.line;
  for (const [x, y, w] of hatched) ctx.fillRect(x, y, w, high);
  face(ctx, 11.5);
  ctx.font = ctx.font.replace('system-ui, sans-serif', 'monospace');
  if (how === 'rows')
    for (const p of pieces) {
      const g = st.segs[p.seg];
      const y = p.y + high / 2;
      word(ctx, c.soft, address(a, sc.dev, g.addr), 2, y);
      word(ctx, c.soft, `${bytes(g.size)} ${((100 * g.used) / g.size).toFixed(0).padStart(3)} %`, left - 8, y, 'right');
    }
  ctx.lineWidth = 3;
  for (const [x, y, w, color] of marked) {
    ctx.strokeStyle = color;
    ctx.strokeRect(x - 1, y - 1, w + 2, high + 2);
  }
}

const blockTitle = ({ m }: Scene, st: State, b: number): string => {
  const row = st.alloc[b];
  return row < 0 ? `${bytes(st.size[b])} free` : `${bytes(m.size[row])} ${m.json.roles[m.role[row]]}${m.tensor[row] ? ` · ${m.json.tensors[m.tensor[row]]}` : ''}`;
};

function Under({ sc, a, st }: { sc: Scene; a: Allocator; st: State }) {
  const h = hover.value;
  if (!h || h.block >= st.addr.length) return null;
  const g = st.segs[h.seg];
  const row = st.alloc[h.block];
  const m = sc.m;
  return (
    <Tip at={h}>
      <b aria-live="polite">{blockTitle(sc, st, h.block)}</b>
      <span>{row < 0 ? freeText[freeKind(a, g)] : faceText(m, m.face[row]) || opPath(m, m.op[row])}</span>
      {st.pending[h.block] && <span>freed by its program, still used by a stream</span>}
      <span>at {address(a, sc.dev, st.addr[h.block])}</span>
      <span class="soft">
        segment {address(a, sc.dev, g.addr)}: {bytes(g.size)}, {a.json.kinds[a.segKind[g.row]]}, stream {a.segStream[g.row]}, {percent((100 * g.used) / g.size)} in use, {plural(g.n, 'block')}
      </span>
    </Tip>
  );
}

function Totals({ st }: { st: State }) {
  const t = st.total;
  const used = st.addr.length - t.freeBlocks;
  const facts: [keyof typeof t, string, string][] = [
    ['reserved', 'Reserved', plural(st.segs.length, 'segment')],
    ['active', 'In use', `${plural(used, 'block')}; ${bytes(t.requested)} requested`],
    ['free', 'Free', plural(t.freeBlocks, 'block')],
    ['cached', 'Whole segments', 'can be released'],
    ['split', 'Inactive split', 'cannot'],
    ['expandable', 'Expandable', 'whole pages can be released'],
    ['largest', 'Largest free block', ''],
    ['loose', 'In no known segment', ''],
  ];
  const rows = facts.filter(([k]) => t[k] > 0 || (k !== 'expandable' && k !== 'loose')).map(([k, title, more]) => [title, bytes(t[k]), more]);
  return (
    <Facts
      id="totals"
      data-totals={JSON.stringify({ ...t, segments: st.segs.length, blocks: st.addr.length })}
      rows={[...rows, ['Fragmentation index', fragmentation(t.free, t.largest).toFixed(3), '1 − largest / free']].map(([title, v, more]) => [title, <><b>{v}</b> <span class="soft">{more}</span></>])}
    />
  );
}

function Blocks({ sc, a, st }: { sc: Scene; a: Allocator; st: State }) {
  const m = sc.m;
  const seg = useMemo(() => {
    const of = new Int32Array(st.addr.length);
    st.segs.forEach((g, k) => of.fill(k, g.first, g.first + g.n));
    return of;
  }, [st]);
  const rows = useMemo(() => st.addr.map((_, i) => i), [st]);
  const used = (text: (row: number) => string) => (b: number) => (st.alloc[b] < 0 ? '–' : text(st.alloc[b]) || '–');
  const cols: Col<number>[] = [
    col('Address', (b) => st.addr[b], (v) => address(a, sc.dev, v)),
    col('Size', (b) => st.size[b], bytes),
    col('State', (b) => (st.alloc[b] < 0 ? 'free' : st.pending[b] ? 'held by a stream' : 'in use')),
    col('Role', used((r) => m.json.roles[m.role[r]])),
    col('Code or op', used((r) => faceText(m, m.face[r]) || opPath(m, m.op[r])), undefined, { wide: true }),
    col('Segment', (b) => st.segs[seg[b]].addr, (v) => address(a, sc.dev, v)),
  ];
  return <Table label="blocks" rows={rows} sort="Size" height={420} cols={cols} onPick={(b) => st.alloc[b] >= 0 && (alloc.value = st.alloc[b])} picked={(b) => st.alloc[b] >= 0 && st.alloc[b] === alloc.value} />;
}

export function MapPanel({ sc, a, position }: { sc: Scene; a: Allocator; position: Position }) {
  const st = useMemo(() => stateAt(sc.m, a, position, sc.dev), [sc.m, a, position.events, position.t, position.exact, sc.dev]);
  const how = shape.value;
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(1200);
  useEffect(() => {
    const watch = new ResizeObserver(() => box.current?.clientWidth && setWidth(box.current.clientWidth));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  const { pieces, height } = useMemo(() => layout(st.segs, width, how), [st, width, how]);
  const find = (e: PointerEvent | MouseEvent) => {
    const [x, y] = inside(e);
    const p = pieces.find((q) => y >= q.y && y < q.y + px(shapes[how][1]) && x >= q.x && x < q.x + q.w);
    return p && { seg: p.seg, block: blockAt(st, st.segs[p.seg], p.from + ((x - p.x) / p.w) * (p.to - p.from)) };
  };
  /** Arrow keys go from block to block, Enter selects. They do not change the time. */
  const press = (e: KeyboardEvent) => {
    if (e.key === 'Enter' && st.alloc[cursor.value] >= 0) alloc.value = st.alloc[cursor.value];
    if (!e.key.startsWith('Arrow') || !st.segs.length) return;
    e.preventDefault();
    e.stopPropagation();
    const order = [...new Set(pieces.map((p) => p.seg))];
    const b = (cursor.value = step(st, order, cursor.value, e.key));
    const seg = order.find((k) => b >= st.segs[k].first && b < st.segs[k].first + st.segs[k].n)!;
    const from = st.addr[b] - st.segs[seg].addr;
    const p = pieces.find((q) => q.seg === seg && from < q.to)!;
    const at = box.current!.getBoundingClientRect();
    const y = at.top + p.y;
    if (y < 60 || y > innerHeight - 220) scrollBy(0, y - innerHeight / 2);
    hover.value = { seg, block: b, x: at.left + p.x + ((from - p.from) / (p.to - p.from)) * p.w, y: box.current!.getBoundingClientRect().top + p.y };
  };
  const dark = ink().dark;
  const free = freeColor(dark);
  const kinds = new Set(st.segs.map((g) => (g.used < g.size ? freeKind(a, g) : '')));
  const cols: Col<Seg>[] = [
    col('Address', (g) => g.addr, (v) => address(a, sc.dev, v)),
    col('Size', (g) => g.size, bytes),
    col('In use', (g) => (100 * g.used) / g.size, percent, { bar: (g) => g.used / g.size }),
    col('Bytes in use', (g) => g.used, bytes),
    col('Blocks', (g) => g.n),
    col('Kind', (g) => a.json.kinds[a.segKind[g.row]]),
    col('Stream', (g) => a.segStream[g.row]),
    col('Pool', (g) => sc.m.json.pools[a.segPool[g.row]].name),
  ];
  return (
    <Panel
      title={`The allocator of ${sc.name} at ${ns(position.t)}${position.exact ? ' (the peak)' : ''}`}
      extra={
        <Choice
          label="Layout"
          value={how}
          options={[
            ['scale', 'To scale'],
            ['rows', 'One row per segment'],
          ]}
          onPick={(v) => (shape.value = v)}
        />
      }
    >
      <Totals st={st} />
      <div class="chart blocks" ref={box}>
        <Canvas
          height={height}
          label={`${plural(st.segs.length, 'segment')} with ${plural(st.addr.length, 'block')}; arrow keys go between blocks, Enter chooses`}
          onKeyDown={press}
          onBlur={() => {
            hover.value = null;
            cursor.value = -1;
          }}
          onPointerMove={(e: PointerEvent) => {
            const at = find(e);
            hover.value = at ? { ...at, x: e.clientX, y: e.clientY } : null;
          }}
          onPointerLeave={() => (hover.value = null)}
          onClick={(e: MouseEvent) => {
            const at = find(e);
            if (at && st.alloc[at.block] >= 0) alloc.value = st.alloc[at.block];
          }}
          draw={(s) => draw(s, sc, a, st, how, pieces)}
        />
        <Under sc={sc} a={a} st={st} />
      </div>
      {how === 'rows' && st.segs.length > MOST_ROWS && <p class="soft">The largest {MOST_ROWS} of {count(st.segs.length)} segments; the table has all.</p>}
      <Legend items={(['split', 'cached', 'expandable'] as const).filter((k) => kinds.has(k)).map((k) => ({ color: css(free[k]), text: freeText[k] }))} />
      <Fold title="Segments as a table">{() => <Table label="segments" rows={st.segs} sort="Size" height={420} cols={cols} />}</Fold>
      <Fold title="Blocks as a table">{() => <Blocks sc={sc} a={a} st={st} />}</Fold>
    </Panel>
  );
}
