// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Live memory over time, stacked by what it is for; and everything that is alive at one moment.
import { signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { bytes, exact, ns, plural } from '../data/format';
import { buildMip, type By, type Groups, groupBy, levelAt, type Mip, picture, reserved } from '../data/levels';
import { aliveAfter, aliveAt, faceText, type Memory, opPath, peakOf, stackFrames } from '../data/memory';
import { type Device, getMemory, getTables, type Main, type Phase } from '../data/page';
import { after } from '../data/spans';
import { drawAxis } from '../draw/axis';
import { groupColor, ink } from '../draw/colors';
import { css, Pixels, rgb } from '../draw/pixels';
import { fit } from '../draw/text';
import { look, lookAround, moment, range, view } from '../state';
import { Canvas, type Surface } from '../ui/canvas';
import { Choice, Legend, Loading, Panel, useData } from '../ui/parts';
import { Table } from '../ui/table';
import { dragTime, keyTime, typing, wheelTime } from '../ui/travel';

const LEFT = 78;
const TOP = 20;
const HIGH = 340;
const by = signal<By>('role');
const device = signal(0);
const chosen = signal<number | null>(null); // an allocation

interface Scene {
  m: Memory;
  g: Groups;
  mip: Mip;
  res: { t: Float64Array; v: Float64Array };
  phases: Phase[];
  dev: Device;
  main: Main;
}

let kept: Pixels | undefined;

function scaleTop(sc: Scene): number {
  const most = Math.max(sc.mip.peak, sc.res.v.reduce((a, b) => Math.max(a, b), 0), 1);
  return sc.dev.capacity && sc.dev.capacity < most * 1.6 ? Math.max(most, sc.dev.capacity) * 1.04 : most * 1.08;
}

function areas(p: Pixels, sc: Scene, t0: number, t1: number, width: number, y: (v: number) => number): void {
  const pic = picture(sc.m, sc.g, sc.mip, t0, t1, width);
  const words = sc.g.labels.map((l, i) => rgb(groupColor(l, i)));
  for (let x = 0; x < width; x++) {
    let sum = 0;
    let low = y(0);
    for (let k = 0; k < pic.k; k++) {
      sum += pic.values[x * pic.k + k];
      const high = y(sum);
      p.rect(LEFT + x, high, LEFT + x + 1, low, words[k]);
      low = high;
    }
  }
}

function stepLine(s: Surface, sc: Scene, t0: number, t1: number, width: number, y: (v: number) => number, color: string): void {
  const { t, v } = sc.res;
  if (!t.length) return;
  let i = Math.max(0, after(t, 0, t.length, t0) - 1);
  s.ctx.strokeStyle = color;
  s.ctx.lineWidth = 1.5;
  s.ctx.beginPath();
  s.ctx.moveTo(LEFT, y(t[i] <= t0 ? v[i] : 0));
  for (; i < t.length && t[i] <= t1; i++) {
    const x = LEFT + (Math.max(0, t[i] - t0) / (t1 - t0)) * width;
    s.ctx.lineTo(x, y(i && t[i] > t0 ? v[i - 1] : v[i]));
    s.ctx.lineTo(x, y(v[i]));
  }
  s.ctx.lineTo(LEFT + width, y(v[Math.max(0, i - 1)]));
  s.ctx.stroke();
  s.ctx.lineWidth = 1;
}

function bands(s: Surface, sc: Scene, t0: number, t1: number, width: number): void {
  const c = ink();
  s.ctx.font = '10.5px system-ui, sans-serif';
  sc.phases.forEach((p) => {
    const a = Math.max(LEFT, LEFT + ((p.t0 - t0) / (t1 - t0)) * width);
    const b = Math.min(LEFT + width, LEFT + ((p.t1 - t0) / (t1 - t0)) * width);
    if (b <= LEFT || a >= LEFT + width || !p.name) return;
    s.ctx.strokeStyle = c.soft;
    s.ctx.setLineDash([2, 4]);
    s.ctx.beginPath();
    s.ctx.moveTo(Math.round(b) - 0.5, TOP);
    s.ctx.lineTo(Math.round(b) - 0.5, s.height);
    s.ctx.stroke();
    s.ctx.setLineDash([]);
    const text = fit(s.ctx, p.name, b - a - 6);
    s.ctx.fillStyle = c.text;
    if (text) s.ctx.fillText(text, a + 4, TOP + 9);
  });
}

function lines(s: Surface, sc: Scene, t0: number, t1: number, width: number, y: (v: number) => number): void {
  const c = ink();
  stepLine(s, sc, t0, t1, width, y, c.text);
  if (sc.dev.capacity && y(sc.dev.capacity) > TOP) {
    s.ctx.strokeStyle = '#c8553d';
    s.ctx.setLineDash([6, 4]);
    s.ctx.beginPath();
    s.ctx.moveTo(LEFT, y(sc.dev.capacity));
    s.ctx.lineTo(LEFT + width, y(sc.dev.capacity));
    s.ctx.stroke();
    s.ctx.setLineDash([]);
  }
  const at = (t: number) => Math.round(LEFT + ((t - t0) / (t1 - t0)) * width) + 0.5;
  for (const m of sc.main.marks)
    if (m.kind === 'oom' && m.t >= t0 && m.t <= t1) {
      s.ctx.fillStyle = '#c8553d';
      s.ctx.fillRect(at(m.t) - 1, TOP, 3, s.height);
      s.ctx.fillText('out of memory', at(m.t) + 5, TOP + 24);
    }
  if (moment.value !== null && moment.value >= t0 && moment.value <= t1) {
    s.ctx.strokeStyle = c.accent;
    s.ctx.lineWidth = 2;
    s.ctx.beginPath();
    s.ctx.moveTo(at(moment.value), TOP);
    s.ctx.lineTo(at(moment.value), s.height);
    s.ctx.stroke();
    s.ctx.lineWidth = 1;
  }
}

function draw(s: Surface, sc: Scene): void {
  const c = ink();
  const [t0, t1] = range.value;
  const width = s.width - LEFT;
  const top = scaleTop(sc);
  const y = (v: number) => Math.round(s.height - (v / top) * (s.height - TOP - 14));
  if (!kept || kept.width !== s.width || kept.height !== s.height) kept = new Pixels(s.width, s.height);
  kept.clear(c.back);
  areas(kept, sc, t0, t1, width, y);
  kept.rect(0, 0, s.width, TOP, c.band);
  kept.rect(0, 0, LEFT, s.height, c.band);
  kept.show(s.ctx);
  drawAxis(s.ctx, LEFT, width, TOP, t0, t1, c);
  s.ctx.fillStyle = c.soft;
  s.ctx.textAlign = 'right';
  const step = 2 ** Math.ceil(Math.log2(top / 6));
  for (let v = 0; v < top; v += step) s.ctx.fillText(bytes(v), LEFT - 6, Math.min(s.height - 7, y(v)));
  s.ctx.textAlign = 'left';
  bands(s, sc, t0, t1, width);
  lines(s, sc, t0, t1, width, y);
}

interface Live {
  row: number;
  size: number;
}

/** One allocation: all that is known of it. */
function Chosen({ m, main }: { m: Memory; main: Main }) {
  const row = chosen.value;
  if (row === null || row >= m.n) return null;
  const frames = stackFrames(m, m.stack[row]);
  return (
    <div class="details" id="chosen">
      <h3>{bytes(m.size[row])}{m.tensor[row] ? ` · ${m.json.tensors[m.tensor[row]]}` : ''}</h3>
      <dl class="facts row">
        <div><dt>Role</dt><dd>{m.json.roles[m.role[row]]}</dd></div>
        <div><dt>Asked for</dt><dd>{bytes(m.size[row] - m.slack[row])}</dd></div>
        <div><dt>Pool</dt><dd>{m.json.pools[m.pool[row]].name}</dd></div>
        <div><dt>Born</dt><dd>{m.flags[row] & 1 ? 'before the recording' : exact(m.born[row])}</dd></div>
        <div><dt>Died</dt><dd>{m.died[row] === Infinity ? 'never' : exact(m.died[row])}</dd></div>
        <div><dt>Op</dt><dd>{opPath(m, m.op[row]) || '–'}</dd></div>
      </dl>
      <p class="crumbs">
        <button onClick={() => look(m.born[row] - 1, Math.min(m.died[row], main.t_end) + 1)}>Show its life</button>
        <button
          onClick={() => {
            moment.value = m.born[row];
            lookAround(m.born[row], m.born[row] + Math.max(1000, main.t_end / 500));
            view.value = 'timeline';
          }}
        >
          What ran when it was made
        </button>
        <button onClick={() => (chosen.value = null)}>Close</button>
      </p>
      {frames.length ? <ol class="frames">{frames.map((f, i) => <li key={i}>{f}</li>)}</ol> : <p class="soft">No call stack was recorded with it.</p>}
    </div>
  );
}

function Alive({ m, t, dev, main }: { m: Memory; t: number; dev: number; main: Main }) {
  const d = main.devices[dev];
  const rows = useMemo(() => {
    const exact = t === d.peak_t ? aliveAfter(m, peakOf(m, dev).move, dev) : aliveAt(m, t, dev);
    return Array.from(exact, (row): Live => ({ row, size: m.size[row] }));
  }, [m, t, dev]);
  const sum = rows.reduce((a, r) => a + r.size, 0);
  const most = rows.reduce((a, r) => Math.max(a, r.size), 1);
  const stack = (r: Live) => faceText(m, m.face[r.row]);
  const hasStack = rows.some((r) => m.stack[r.row]);
  const hasTensor = rows.some((r) => m.tensor[r.row]);
  return (
    <Panel title={`Alive at ${ns(t)}: ${bytes(sum)} in ${plural(rows.length, 'allocation')}${t === d.peak_t ? ' (the peak)' : ''}`}>
      <Table
        label="allocations alive"
        rows={rows}
        sort="size"
        height={420}
        onPick={(r) => (chosen.value = r.row)}
        picked={(r) => r.row === chosen.value}
        cols={[
          { key: 'size', title: 'Size', value: (r) => r.size, text: (r) => bytes(r.size), bar: (r) => r.size / most },
          { key: 'role', title: 'Role', value: (r) => m.json.roles[m.role[r.row]] },
          ...(hasTensor ? [{ key: 'tensor', title: 'Tensor', value: (r: Live) => m.json.tensors[m.tensor[r.row]] || '–', wide: true }] : []),
          { key: 'op', title: 'Op that made it', value: (r) => opPath(m, m.op[r.row]) || (m.flags[r.row] & 1 ? '(existed before the recording)' : '–'), wide: true },
          ...(hasStack ? [{ key: 'stack', title: 'Code that made it', value: stack, wide: true }] : []),
          { key: 'pool', title: 'Pool', value: (r) => m.json.pools[m.pool[r.row]].name },
          { key: 'born', title: 'Born', value: (r) => m.born[r.row], text: (r) => ns(m.born[r.row]) },
          { key: 'lived', title: 'Lives', value: (r) => m.died[r.row] - m.born[r.row], text: (r) => (m.died[r.row] === Infinity ? 'to the end' : ns(m.died[r.row] - m.born[r.row])) },
        ]}
      />
    </Panel>
  );
}

const bys: readonly (readonly [By, string])[] = [
  ['role', 'Role'],
  ['op', 'Op'],
  ['tensor', 'Tensor'],
  ['stack', 'Code'],
  ['pool', 'Pool'],
];

export function MemoryView({ main }: { main: Main }) {
  const m = useData(getMemory);
  const tables = useData(getTables);
  const dev = device.value || main.device;
  const g = useMemo(() => m && groupBy(m, dev, by.value), [m, dev, by.value]);
  const mip = useMemo(() => m && g && buildMip(m, g), [g]);
  const res = useMemo(() => m && reserved(m, dev), [m, dev]);
  const wheel = useMemo(() => wheelTime(LEFT), []);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (typing(e)) return;
      if (keyTime(e)) e.preventDefault();
      else if (e.key === 'p') moment.value = main.devices[dev].peak_t;
      else if (e.key === 'Escape') moment.value = null;
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  });
  if (!m || !g || !mip || !res) return <Loading />;
  if (!m.n || !dev) return <p class="loading">This trace holds no memory events.</p>;
  const d = main.devices[dev];
  const sc: Scene = { m, g, mip, res, phases: tables?.phases ?? [], dev: d, main };
  const at = moment.value ?? d.peak_t;
  const now = at === d.peak_t ? levelAt(m, g, mip, peakOf(m, dev).move + 1) : levelAt(m, g, mip, after(m.t, 0, m.moves, at));
  const usable = main.devices.map((x, i) => [String(i), x.device, x.allocs] as const).filter((x) => x[2] > 0);
  return (
    <div class="stack">
      <div class="bar">
        <Choice label="Group by" value={by.value} options={bys} onPick={(v) => (by.value = v)} />
        {usable.length > 1 && <Choice label="Device" value={String(dev)} options={usable.map((x) => [x[0], x[1]] as const)} onPick={(v) => (device.value = Number(v))} />}
        <span class="grow" />
        <span class="soft">peak {bytes(mip.peak)} at {ns(mip.peakT)}{res.t.length ? ' · line: reserved' : ''}{d.capacity ? ` · device has ${bytes(d.capacity)}` : ''}</span>
        <button onClick={() => (moment.value = d.peak_t)}>Go to the peak</button>
        <button onClick={() => look(0, main.t_end)}>Whole trace</button>
      </div>
      <div class="chart memory">
        <Canvas
          height={HIGH}
          label={`Live memory of ${d.device} by ${by.value}; peak ${bytes(mip.peak)}`}
          onWheelTime={wheel}
          onPointerDown={dragTime(LEFT, (x) => {
            const el = document.querySelector('.chart.memory canvas') as HTMLCanvasElement;
            const [t0, t1] = range.value;
            moment.value = Math.round(t0 + (Math.max(0, x - LEFT) / (el.clientWidth - LEFT)) * (t1 - t0));
          })}
          draw={(s) => draw(s, sc)}
        />
      </div>
      <Legend items={g.labels.map((text, i) => ({ color: css(groupColor(text, i)), text, value: bytes(now[i]) }))} />
      <Chosen m={m} main={main} />
      <Alive m={m} t={at} dev={dev} main={main} />
    </div>
  );
}
