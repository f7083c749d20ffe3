// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Views that are tables: ops, kernels, phases.
import { byKey, bytes, count, delta, ns } from '../data/format';
import { getHta, getTables, type OpRow, type Scope } from '../data/page';
import { look, moment, query, range, view } from '../state';
import { Loading, Panel, useData } from '../ui/parts';
import { type Col, Table } from '../ui/table';

export type Rec = Record<string, unknown>;

/** Rows of records as a table: a column a key, written by the key's end. */
export function Records({ label, rows, keys, sort, wide, height, note, onPick }: { label: string; rows: Rec[]; keys: readonly (readonly [string, string])[]; sort: string; wide: string; height?: number; note?: string; onPick?: (r: Rec) => void }) {
  const most = rows.reduce((a, r) => Math.max(a, Number(r[sort]) || 0), 1);
  const cols: Col<Rec>[] = keys.map(([key, title]) => ({
    key,
    title,
    value: (r) => (typeof r[key] === 'number' ? (r[key] as number) : String(r[key] ?? '')),
    text: (r) => byKey(key, r[key]),
    wide: key === wide,
    bar: key === sort ? (r) => (Number(r[key]) || 0) / most : undefined,
  }));
  return <Table label={label} rows={rows} cols={cols} sort={sort} height={height ?? 560} note={note} onPick={onPick} />;
}

const search = (name: string) => {
  query.value = name;
  view.value = 'timeline';
};

export function Ops() {
  const t = useData(getTables);
  if (!t) return <Loading />;
  const most = t.ops.reduce((a, r) => Math.max(a, r[2]), 1);
  const figure = (key: string, title: string, at: number, text: (v: number) => string): Col<OpRow> => ({ key, title, value: (r) => r[at] as number, text: (r) => text(r[at] as number) });
  return (
    <Panel title="Ops by name" extra={<span class="soft">A click finds the op on the timeline</span>}>
      <Table
        label="ops"
        rows={t.ops}
        sort="wall"
        height={620}
        note={t.ops.length < t.ops_in_all ? `the longest ${count(t.ops.length)} of ${count(t.ops_in_all)} names` : undefined}
        onPick={(r) => search(r[0])}
        cols={[
          { key: 'op', title: 'Op', value: (r) => r[0], wide: true },
          figure('count', 'Count', 1, count),
          { ...figure('wall', 'Wall', 2, ns), bar: (r) => r[2] / most },
          figure('self', 'Self', 3, ns),
          figure('alloc', 'Allocated', 4, bytes),
          figure('free', 'Freed', 5, bytes),
          figure('change', 'Change', 6, delta),
          figure('peak', 'Transient peak', 7, bytes),
        ]}
      />
    </Panel>
  );
}

export function Kernels() {
  const h = useData(getHta);
  if (h === undefined) return <Loading />;
  if (!h) return <p class="loading">This trace holds no device work.</p>;
  return (
    <div class="stack">
      <Panel title="Kernels, copies and fills" extra={<span class="soft">A click finds the kernel on the timeline</span>}>
        <Records
          label="kernels"
          rows={h.kernels as Rec[]}
          sort="sum_ns"
          wide="name"
          onPick={(r) => search(String(r.name))}
          keys={[['name', 'Name'], ['type', 'Type'], ['count', 'Count'], ['sum_ns', 'Total'], ['pct', '%'], ['mean_ns', 'Mean'], ['p50_ns', 'Median'], ['p99_ns', 'p99'], ['max_ns', 'Max']]}
        />
      </Panel>
      <Panel title="Device time by op">
        <Records label="device time by op" rows={h.ops as Rec[]} sort="sum_ns" wide="op" height={420} keys={[['op', 'Op'], ['count', 'Kernels'], ['sum_ns', 'Total'], ['pct', '%'], ['mean_ns', 'Mean'], ['max_ns', 'Max']]} />
      </Panel>
    </div>
  );
}

const scopeName = (s: Scope): string => (s.scope === 'total' ? 'all devices' : `${s.device}${s.scope === 'pool' ? ` ${s.pool}` : s.scope === 'device' ? ' in all' : ` ${s.scope}`}`);

interface PhaseRow {
  n: number;
  name: string;
  scope: string;
  t0: number;
  t1: number;
  v: number[];
}

export function Phases() {
  const t = useData(getTables);
  if (!t) return <Loading />;
  // A sum over one thing says nothing new: show it only where it adds several.
  const shown = t.scopes.map((s, i) => ({ s, i })).filter(({ s }) => s.scope === 'pool' || s.scope.startsWith('l1') || (s.scope === 'device' && s.pools > 1) || (s.scope === 'total' && new Set(t.scopes.map((x) => x.device)).size > 2));
  const rows: PhaseRow[] = t.phases.flatMap((p, n) =>
    shown.map(({ s, i }) => ({ n: n + 1, name: p.name ?? (t.phases.length > 1 ? '(after the last phase)' : '(whole trace)'), scope: scopeName(s), t0: p.t0, t1: p.t1, v: p.levels[i] })),
  ).filter((r) => r.v[6] > 0 || r.v[1] > 0);
  const most = rows.reduce((a, r) => Math.max(a, r.v[6]), 1);
  const figure = (key: string, title: string, at: number, text: (v: number) => string): Col<PhaseRow> => ({ key, title, value: (r) => r.v[at], text: (r) => text(r.v[at]) });
  return (
    <Panel title="Memory phase by phase" extra={<span class="soft">A click shows the phase in the memory view</span>}>
      <Table
        label="phases"
        rows={rows}
        sort="n"
        ascending
        height={640}
        onPick={(r) => {
          look(r.t0, r.t1);
          if (moment.value !== null && (moment.value < range.value[0] || moment.value > range.value[1])) moment.value = null;
          view.value = 'memory';
        }}
        cols={[
          { key: 'n', title: '#', value: (r) => r.n },
          { key: 'name', title: 'Phase', value: (r) => r.name, wide: true },
          { key: 'scope', title: 'Memory', value: (r) => r.scope },
          { key: 'ns', title: 'Lasts', value: (r) => r.t1 - r.t0, text: (r) => ns(r.t1 - r.t0) },
          { ...figure('top', 'Highest', 6, bytes), bar: (r) => r.v[6] / most },
          figure('segment', 'Above its start', 0, bytes),
          figure('alloc', 'Allocated', 1, bytes),
          figure('free', 'Freed', 2, bytes),
          figure('change', 'Change', 3, delta),
          figure('current', 'At its end', 5, bytes),
          figure('peak', 'Peak so far', 4, bytes),
        ]}
      />
    </Panel>
  );
}
