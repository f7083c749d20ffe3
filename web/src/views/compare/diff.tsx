// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Two runs compared: figures, added, removed and changed rows, memory curves over each other, flame graphs coloured by change.
// The figures are the document of `tidemark diff --json`.
import { byKey, bytes, count, delta, ns, percent } from '../../data/format';
import { getDiff, getMains, type Main } from '../../data/page';
import { most as highest, same } from '../../data/sums';
import { drawAxis } from '../../draw/axis';
import { ink } from '../../draw/colors';
import { box, face, line, stairs, word } from '../../draw/marks';
import { keep } from '../../state';
import { Canvas, type Surface } from '../../ui/canvas';
import { wipe } from '../../ui/minimap';
import { Figure, Fold, Kept, Legend, Loading, Panel, useData } from '../../ui/parts';
import { px } from '../../ui/scale';
import { col, Table } from '../../ui/table';
import { DiffFlame } from '../flame/flame';
import { type Rec, Records } from '../common/tables';

const table = keep('table');
const axis = keep('axis');
const A = '#3b7dc4';
const B = '#d9773d';

const kinds: [string, string, string, 'ns' | 'bytes'][] = [
  ['ops', 'Ops', 'name', 'ns'],
  ['kernels', 'Kernels', 'name', 'ns'],
  ['device_by_op', 'Device by op', 'name', 'ns'],
  ['device_by_shape', 'Device by shapes', 'name', 'ns'],
  ['device_by_module', 'Device by module', 'name', 'ns'],
  ['device_by_category', 'Device by kind', 'name', 'ns'],
  ['calls', 'Calls of one only', 'name', 'ns'],
  ['by_stack', 'Peak by stack', 'stack', 'bytes'],
  ['by_op', 'Peak by op', 'op', 'bytes'],
  ['by_role', 'Peak by role', 'role', 'bytes'],
];

const short: Record<string, string> = { time: 'First work to last', cpu_time: 'CPU active', gpu_time: 'GPU active', kernel_time: 'Kernel time', peak: 'Peak memory', ops: 'Ops', kernels: 'Kernels', reserved: 'Reserved, highest', allocated: 'Allocated in all' };

/** Highest live bytes of both runs; on a common clock, or each run stretched to the whole width. */
function curves(mains: Main[], stretched: boolean) {
  return (s: Surface) => {
    const c = ink();
    const { ctx, width, height } = s;
    wipe(s);
    const end = Math.max(1, ...mains.map((m) => m.t_end));
    if (!stretched) drawAxis(ctx, 0, width, height, 0, end, c);
    const most = Math.max(1, ...mains.map((m) => m.devices[m.device].peak));
    const at = (v: number) => height - 4 - (v / most) * (height - 30);
    face(ctx, 11);
    for (const v of [most, most / 2]) {
      box(ctx, c.line, 0, at(v), width, 1);
      word(ctx, c.soft, bytes(v), 4, at(v) + px(8));
    }
    mains.forEach((m, k) => line(ctx, k ? B : A, stairs(m.curve, (i) => (i / m.curve.length) * width * (stretched ? 1 : m.t_end / end), at), 2));
  };
}

const LINES = 64; // of the curves as a table

/** Highest live bytes of each run in equal intervals of the longer run's time, or of each run's own time. */
function CurveTable({ mains, stretched }: { mains: Main[]; stretched: boolean }) {
  const end = Math.max(...mains.map((m) => m.t_end));
  const most = (m: Main, i: number) => {
    const per = (m.curve.length / LINES) * (stretched ? 1 : end / Math.max(1, m.t_end));
    const part = m.curve.subarray(Math.floor(i * per), Math.ceil((i + 1) * per));
    return part.length ? highest(part, same, 0) : -1;
  };
  const side = (name: string, m: Main) => col(name, (i: number) => most(m, i), (v) => (v < 0 ? 'over' : bytes(v)));
  return (
    <Table
      label="live memory of both runs"
      rows={Array.from({ length: LINES }, (_, i) => i)}
      sort="From"
      ascending
      height={340}
      cols={[col('From', (i: number) => i, (i) => (stretched ? percent((100 * i) / LINES) : ns((i / LINES) * end))), side('A', mains[0]), side('B', mains[1])]}
    />
  );
}

function Memory() {
  const mains = useData(getMains);
  if (!mains) return <Loading />;
  if (mains.every((m) => !m.device)) return null;
  const peak = (m: Main) => (m.device ? `${m.devices[m.device].device}: peak ${bytes(m.devices[m.device].peak)} at ${ns(m.devices[m.device].peak_t)}` : 'no memory recorded');
  return (
    <Panel title="Live memory" extra={<Kept label="Axis" of={axis} options={[['time', 'By time'], ['share', 'Whole runs']]} />}>
      <div class="chart">
        <Canvas height={px(190)} label={`Live memory of both runs. A: ${peak(mains[0])}; B: ${peak(mains[1])}`} draw={curves(mains, axis.value === 'share')} />
      </div>
      <Legend items={mains.map((m, k) => ({ color: k ? B : A, text: `${k ? 'B' : 'A'} · ${peak(m)}` }))} />
      <Fold title="These curves as a table">{() => <CurveTable mains={mains} stretched={axis.value === 'share'} />}</Fold>
    </Panel>
  );
}

type Metrics = NonNullable<Awaited<ReturnType<typeof getDiff>>>['metrics'];

function Figures({ metrics, what }: { metrics: Metrics; what: Record<string, string> }) {
  const write = { ns, bytes, count };
  return (
    <div class="figures">
      {Object.entries(metrics)
        .filter(([k, m]) => short[k] && m.a !== null && m.b !== null)
        .map(([k, m]) => {
          const d = m.delta!;
          const change = m.unit === 'bytes' ? delta(d) : `${d > 0 ? '+' : ''}${write[m.unit](d)}`;
          return <Figure key={k} label={short[k]} title={what[k]} value={d === 0 ? 'the same' : m.pct === null ? change : `${m.pct > 0 ? '+' : ''}${percent(m.pct)}`} sub={d === 0 ? write[m.unit](m.a!) : `${write[m.unit](m.a!)} → ${write[m.unit](m.b!)} (${change})`} />;
        })}
    </div>
  );
}

/** Keys that end in their unit, so that cells are formatted as in other tables. */
function rowsOf(rows: Rec[], unit: 'ns' | 'bytes'): Rec[] {
  return rows.map((r) => ({ ...r, [`delta_${unit}`]: r.delta, [`a_${unit}`]: r.a, [`b_${unit}`]: r.b, size: Math.abs(Number(r.delta)), change_pct: r.pct, [`total_a_${unit}`]: r.total_a, [`total_b_${unit}`]: r.total_b }));
}

const signed = (k: string, v: unknown) => (/delta_|change_|^time_pct|^peak_pct/.test(k) && Number(v) > 0 ? `+${byKey(k, v)}` : undefined);

export function Compare() {
  const d = useData(getDiff);
  if (!d) return <Loading />;
  const all = d.counts as Record<string, Record<string, number>>;
  const known = kinds.filter(([k]) => Object.values(all[k]).some(Boolean)); // in either run
  const [key, title, name, unit] = known.find(([k]) => k === table.value) ?? known[0] ?? kinds[0];
  const counts = all[key];
  const rows = rowsOf((d[key] as Rec[]) ?? [], unit);
  const own = key === 'ops' ? ' self' : '';
  const changes = counts.added + counts.removed + counts.changed;
  return (
    <div class="stack">
      <p>
        <b class="mark-a">A</b> {d.a.trace} <span class="soft">before</span> · <b class="mark-b">B</b> {d.b.trace} <span class="soft">after</span>
        {d.speedup !== null && <> · B takes {percent(100 / d.speedup)} of A’s time</>}
      </p>
      <Figures metrics={d.metrics} what={d.what as Record<string, string>} />
      {d.ranks && (
        <Panel title="Rank by rank">
          <Records label="ranks" rows={d.ranks as Rec[]} sort="time_change_ns" wide="" keys="rank,time_a_ns:Time A,time_b_ns:Time B,time_change_ns:Change,time_pct:%,peak_a_bytes:Peak A,peak_b_bytes:Peak B,peak_change_bytes:Change,peak_pct:%" text={signed} />
        </Panel>
      )}
      <Memory />
      <Panel title={`${title}: ${count(counts.added)} added, ${count(counts.removed)} removed, ${count(counts.changed)} changed, ${count(counts.same)} the same`} extra={<Kept label="Table" of={table} options={known.map(([k, t]) => [k, t] as const)} />}>
        <Records
          key={key}
          label={`changes of ${key}`}
          rows={rows}
          sort="size"
          wide={name}
          height={420}
          note={rows.length < changes ? `the largest ${count(rows.length)} of ${count(changes)} changes` : undefined}
          keys={`${name}:${title},status,delta_${unit}:Change,change_pct:%,a_${unit}:A${own},b_${unit}:B${own},count_a:A count,count_b:B count${own && ',total_a_ns:A total,total_b_ns:B total'}`}
          text={signed}
        />
      </Panel>
      <Panel title="Flame graphs of both">
        <DiffFlame />
      </Panel>
    </div>
  );
}
