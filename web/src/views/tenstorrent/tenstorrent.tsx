// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// A Tenstorrent run: memory over operations, the change by each, and its text. The axis counts operations; durations are unknown.
import { useMemo, useState } from 'preact/hooks';
import { byKey, bytes, count, delta, percent } from '../../data/format';
import { changeOf, getTt, type Part, partOf, ranksOf, type Row, type Tt } from '../../data/tt';
import { groups, ink } from '../../draw/colors';
import { css } from '../../draw/pixels';
import { keep } from '../../state';
import { Canvas, type Surface } from '../../ui/canvas';
import { Choice, Facts, Figure, Legend, Loading, Panel, useData } from '../../ui/parts';
import { col, type Col, Table } from '../../ui/table';

const poolKey = keep('pool');
const opKey = keep('op');
const rankKey = keep('rank');
const HEIGHT = 220;
const LEFT = 78;
const BLUE = '#0072b2';
const RED = '#d55e00';
const GREEN = '#009e73';
const ORANGE = '#e69f00';
/** Returns the colour of the kth rank, without red and green, which mean something else here. */
const lineColor = (k: number): string => css([0, 1, 4, 5, 7, 8, 9, 11].map((i) => groups[i])[k % 8]);

const poolOf = (t: Tt): number => {
  const i = t.json.pools.findIndex((p) => p.name === poolKey.value);
  return i < 0 ? 0 : i;
};
const rankOf = (t: Tt): number | null => ranksOf(t).find((r, _, all) => all.length > 1 && String(r) === rankKey.value) ?? null;
const picked = (): number => (opKey.value === '' ? -1 : Number(opKey.value));
const pick = (i: number): void => {
  opKey.value = String(i);
};

/** Returns the highest value of a column in each pixel, so that no operation is lost. A rank that waits for others keeps its
 * level. */
function perPixel(t: Tt, p: Part, v: (i: number) => number, width: number): Float64Array {
  const out = new Float64Array(width);
  p.at.forEach((i, k) => {
    const next = k + 1 < p.at.length ? Math.max(t.position[i] + 1, t.position[p.at[k + 1]]) : p.length;
    const from = Math.floor((t.position[i] * width) / p.length);
    const to = Math.max(from + 1, Math.ceil((next * width) / p.length));
    for (let x = from, y = v(i); x < to && x < width; x++) if (y > out[x]) out[x] = y;
  });
  return out;
}

function label(ctx: CanvasRenderingContext2D, text: string, x: number, y: number, color: string): void {
  ctx.fillStyle = color;
  ctx.font = '11px system-ui, sans-serif';
  ctx.fillText(text, x, y);
}

/** Two series as areas, or a line for each rank; a dashed line at the capacity, marks of const-eval operations and of the chosen one. */
function drawMemory(s: Surface, t: Tt, p: Part, pool: number, scale: boolean): void {
  const { ctx, width, height } = s;
  const room = Math.max(1, width - LEFT);
  const low = height - 22;
  const capacity = t.json.pools[pool].capacity;
  const highest = (i: number) => t.high[pool][i];
  const high = perPixel(t, p, highest, room);
  let top = 1;
  for (const v of high) if (v > top) top = v;
  if (scale && capacity) top = Math.max(top, capacity);
  const y = (v: number) => low - (v / (top * 1.05)) * (low - 8);
  const pen = ink();
  ctx.fillStyle = css(pen.back);
  ctx.fillRect(0, 0, width, height);
  if (rankOf(t) === null && t.json.ranks > 1)
    ranksOf(t).forEach((r, k) => {
      ctx.strokeStyle = lineColor(k);
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      perPixel(t, partOf(t, r), highest, room).forEach((v, x) => ctx.lineTo(LEFT + x, y(v)));
      ctx.stroke();
    });
  else
    for (const [v, color] of [[high, ORANGE], [perPixel(t, p, (i) => t.before[pool][i], room), BLUE]] as const) {
      ctx.fillStyle = color;
      v.forEach((b, x) => ctx.fillRect(LEFT + x, y(b), 1, low - y(b)));
    }
  ctx.fillStyle = RED;
  for (const i of p.at) if (t.graph[i]) ctx.fillRect(LEFT + (t.position[i] / p.length) * room, low + 2, Math.max(1, room / p.length), 3);
  for (const o of t.json.out_of_memory) {
    if (rankOf(t) !== null && o.rank !== rankOf(t)) continue;
    const at = Math.min(LEFT + (((o.position as number) + 1) / p.length) * room, width - 2);
    ctx.fillStyle = RED;
    ctx.fillRect(at, 4, 2, low - 4);
    label(ctx, 'out of memory', Math.min(at + 4, width - 80), 14, RED);
  }
  if (capacity && capacity <= top * 1.05) {
    ctx.setLineDash([5, 4]);
    ctx.strokeStyle = RED;
    ctx.beginPath();
    ctx.moveTo(LEFT, y(capacity));
    ctx.lineTo(width, y(capacity));
    ctx.stroke();
    ctx.setLineDash([]);
    label(ctx, `capacity ${bytes(capacity)}`, LEFT + 4, y(capacity) + 12, RED);
  }
  if (picked() >= 0 && picked() < t.n) {
    ctx.fillStyle = GREEN;
    ctx.fillRect(LEFT + ((t.position[picked()] + 0.5) / p.length) * room, 4, 1.5, low - 4);
  }
  label(ctx, bytes(top), 4, y(top) + 4, pen.text);
  label(ctx, '0 B', 4, low, pen.text);
  for (let k = 0; k < 4; k++) label(ctx, `op ${count(Math.floor((p.length * k) / 4))}`, LEFT + (room * k) / 4, height - 4, pen.text);
  label(ctx, `op ${count(p.length)}`, width - 60, height - 4, pen.text);
}

/** Draws series in front of each other, the highest first, on one scale from 0 to at least `top`. */
function drawStrip({ ctx, width, height }: Surface, t: Tt, p: Part, top: number, text: (v: number) => string, series: readonly (readonly [string, (i: number) => number])[]): void {
  const pen = ink();
  ctx.fillStyle = css(pen.back);
  ctx.fillRect(0, 0, width, height);
  for (const [color, v] of series) {
    const high = perPixel(t, p, v, Math.max(1, width - LEFT));
    top = high.reduce((a, b) => Math.max(a, b), top);
    ctx.fillStyle = color;
    high.forEach((y, x) => ctx.fillRect(LEFT + x, height - 4 - (y / top) * (height - 12), 1, (y / top) * (height - 12)));
  }
  label(ctx, text(top), 4, 14, pen.text);
  label(ctx, text(0), 4, height - 4, pen.text);
}

/** Returns the operation under the pointer: the last that began there or before. */
function toOp(e: MouseEvent, t: Tt, p: Part): number {
  const box = (e.currentTarget as HTMLElement).getBoundingClientRect();
  const x = Math.floor(((e.clientX - box.left - LEFT) / Math.max(1, box.width - LEFT)) * p.length);
  return p.at.filter((i) => t.position[i] <= x).at(-1) ?? p.at[0];
}

/** Shows the lines of the module around an operation's line. */
function IrLines({ t, at }: { t: Tt; at: number }) {
  const lines = useMemo(() => t.json.ir.split('\n'), [t]);
  const from = Math.max(0, at - 6);
  return (
    <pre class="ir" aria-label="The operation in the ttnn module">
      {lines.slice(from, at + 5).map((l, i) => (
        <div key={from + i} class={from + i + 1 === at ? 'here' : ''}>
          {String(from + i + 1).padStart(6)} {l.length > 400 ? `${l.slice(0, 400)}…` : l}
        </div>
      ))}
    </pre>
  );
}

function Details({ t, i }: { t: Tt; i: number }) {
  const text = t.json.names[t.text[i]] ?? '';
  const rows = t.json.pools.flatMap((p, k): (readonly [string, string])[] => {
    const did = changeOf(t.change[k][i]);
    if (!p.banks || (!t.before[k][i] && !t.high[k][i] && !did)) return [];
    return [[p.name, `${bytes(t.before[k][i])} per bank before it; it changed ${did === null ? 'by an unknown amount' : `by ${delta(did)} per bank, ${delta(did * p.banks)} in all`}`]];
  });
  return (
    <Panel title={`op ${count(t.position[i])}${t.rank[i] >= 0 ? ` of rank ${t.rank[i]}` : ''}: ${t.json.names[t.name[i]] ?? ''}`}>
      <Facts rows={[...rows, t.graph[i] > 0 && ['const-eval program', t.json.names[t.graph[i]]], ['line of the log', count(t.line[i])], t.rank[i] >= 0 && ['rank', String(t.rank[i])]]} />
      {text ? <pre class="ir">{text}</pre> : t.json.texts_left_out && <p>The page is too large for texts of operations; NAME_operations.json has them.</p>}
      {t.ir[i] > 0 && t.json.ir && <IrLines t={t} at={t.ir[i]} />}
    </Panel>
  );
}

const titles: Record<string, string> = { position: 'Op#', op: 'Operation', loc: 'Location' };
const title = (key: string): string => titles[key] ?? (key.charAt(0).toUpperCase() + key.slice(1)).replace(/_(bytes|pct|shapes)(?=_|$)/g, '').replace(/_/g, ' ');

/** Shows a table of the report; a click on a row selects its operation. */
function Report({ name, rows, drop = [] }: { name: string; rows: readonly Row[]; drop?: readonly string[] }) {
  if (!rows.length) return null;
  const keys = Object.keys(rows[0]).filter((k) => !drop.includes(k) && k !== 'index' && (k !== 'rank' || rows.some((r) => r.rank !== null)));
  const cols = keys.map((k): Col<Row> => ({ key: k, title: title(k), value: (r) => r[k] ?? '', text: (r) => byKey(k, r[k]), wide: k === keys[keys.length - 1] }));
  const first = typeof rows[0][keys[0]] === 'number' ? keys[0] : undefined;
  return (
    <Panel title={name}>
      <Table cols={cols} rows={rows} sort={first} label={name} onPick={(r) => typeof r.index === 'number' && pick(r.index)} compact />
    </Panel>
  );
}

function Ops({ t, p, pool }: { t: Tt; p: Part; pool: number }) {
  const rows = useMemo(() => Array.from(p.at), [p]);
  const name = (i: number) => t.json.names[t.name[i]] ?? '';
  const loc = (i: number) => /loc\("([^"]*)"/.exec(t.json.names[t.text[i]] ?? '')?.[1] ?? '';
  const cols: Col<number>[] = [
    col('Op#', (i) => t.position[i], count),
    col('Before', (i) => t.before[pool][i], bytes),
    col('Change', (i) => changeOf(t.change[pool][i]) ?? 0, undefined, { text: (i) => ((d) => (d === null ? '–' : delta(d)))(changeOf(t.change[pool][i])) }),
    col('Operation', name),
    col('Location', loc, undefined, { wide: true }),
    ...(t.json.ranks > 1 ? [col<number>('Rank', (i) => t.rank[i], count)] : []),
  ];
  return (
    <Panel title={`Operations (${t.json.pools[pool].name}, per bank)`}>
      <Table cols={cols} rows={rows} sort="Op#" ascending label="Operations" onPick={pick} picked={(i) => i === picked()} height={420} />
    </Panel>
  );
}

const reports = [
  ['Weights and activations: DRAM at its peak', 'dram_at_peak'],
  ['Top growers, DRAM', 'top_growers_dram'],
  ['Top growers, L1', 'top_growers_l1'],
  ['Top consumers, DRAM: allocated after the operation', 'top_consumers_dram'],
  ['Fragmentation', 'fragmentation'],
  ['Tile padding', 'padding'],
  ['Const-eval', 'const_eval'],
  ['Out of memory', 'out_of_memory'],
  ['Model weights', 'weights'],
  ['Operations without a memory state, left out', 'skipped'],
] as const;

export function Tenstorrent() {
  const t = useData(getTt);
  const [scaled, setScaled] = useState(false);
  const rank = t ? rankOf(t) : null;
  const p = useMemo(() => t && partOf(t, rank), [t, rank]);
  if (!t || !p) return <Loading />;
  const ranks = ranksOf(t);
  const pool = poolOf(t);
  const at = picked();
  const shown = t.json.pools.filter((p) => p.banks > 0);
  const strip = (title: string, draw: (s: Surface) => void, legend: Parameters<typeof Legend>[0]['items'] = []) => (
    <Panel title={title}>
      <div style={{ height: '90px' }}>
        <Canvas label={title} height={90} draw={draw} onClick={(e: MouseEvent) => pick(toOp(e, t, p))} />
      </div>
      <Legend items={legend} />
    </Panel>
  );
  const high = (r?: Row) => (r?.peak_bytes as number) ?? 0;
  const peak = (name: string) => t.json.peaks.filter((r) => r.pool === name && (rank === null || r.device === `tt:${rank}`)).sort((a, b) => high(b) - high(a))[0];
  return (
    <div class="tenstorrent stack">
      <div class="figures">
        {shown.map((p) => (
          <Figure key={p.name} label={`${p.name} peak`} value={`${bytes(high(peak(p.name)) / p.banks)}/bank`} sub={`${bytes(high(peak(p.name)))} in ${count(p.banks)} banks${ranks.length > 1 ? ` of ${peak(p.name)?.device ?? 'each'}` : ''}`} />
        ))}
        <Figure label="Operations" value={count(p.at.length)} sub={ranks.length < 2 ? 'deallocates not counted' : rank === null ? `of ${ranks.length} ranks` : `of rank ${rank}`} />
        <Figure label="Tile padding" value={t.json.peak_padding_overhead_pct === null ? 'unknown' : percent(t.json.peak_padding_overhead_pct)} sub={t.json.peak_padding_overhead_pct === null ? 'no type has a layout in DRAM' : 'of live tensors in DRAM, at most'} />
      </div>
      <Panel
        title="Memory over operations, per bank"
        extra={
          <>
            {ranks.length > 1 && <Choice label="Rank" value={rankKey.value} options={[['', 'all ranks'] as const, ...ranks.map((r) => [String(r), `rank ${r}`] as const)]} onPick={(v) => (rankKey.value = v)} />}
            <Choice label="Pool" value={t.json.pools[pool].name} options={shown.map((p) => [p.name, p.name] as const)} onPick={(v) => (poolKey.value = v)} />
            <Choice label="Scale" value={scaled ? 'capacity' : 'use'} options={[['use', 'scale to use'], ['capacity', 'scale to capacity']]} onPick={(v) => setScaled(v === 'capacity')} />
          </>
        }
      >
        <div style={{ height: `${HEIGHT}px` }}>
          <Canvas label={`${t.json.pools[pool].name} allocated over operations`} height={HEIGHT} draw={(s) => drawMemory(s, t, p, poolOf(t), scaled)} onClick={(e: MouseEvent) => pick(toOp(e, t, p))} />
        </div>
        <Legend items={[...(ranks.length > 1 && rank === null ? ranks.map((r, k) => ({ color: lineColor(k), text: `rank ${r}, highest until its next operation` })) : [{ color: BLUE, text: 'allocated before the operation' }, { color: ORANGE, text: 'highest until the next one' }]), { color: RED, text: 'const-eval operations, capacity, out of memory' }, { color: GREEN, text: 'chosen: click a point' }]} />
      </Panel>
      {at >= 0 && at < t.n && <Details t={t} i={at} />}
      {strip('Fragmentation over operations: 1 − largest contiguous free / free', (s) => drawStrip(s, t, p, 1, percent, [[BLUE, (i) => Math.max(0, t.fragm[poolOf(t)][i] - 1) / 100]]))}
      {strip('Weights against activations over operations, DRAM of one bank', (s) => drawStrip(s, t, p, 1, bytes, [[ORANGE, (i) => t.weights[i] + t.activations[i]], [BLUE, (i) => t.weights[i]]]), [{ color: BLUE, text: 'weights' }, { color: ORANGE, text: 'activations' }])}
      <Report name="Peaks, charged to the operation that ran before the state" rows={t.json.peaks} drop={[...(ranks.length > 1 ? ['rank'] : ['device']), 'attributes', 'log_line']} />
      {reports.map(([name, key]) => <Report key={key} name={name} rows={t.json[key]} />)}
      <Ops t={t} p={p} pool={pool} />
    </div>
  );
}
