// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Tables of records, and the view of phases.
import { byKey, bytes, delta, ns } from '../data/format';
import { getTables, type Scope } from '../data/page';
import { look, moment, range, view } from '../state';
import { Loading, Panel, useData } from '../ui/parts';
import { type Col, Table } from '../ui/table';

export type Rec = Record<string, unknown>;

/** Rows of records as a table: a column a key, written by the key's end. */
export function Records({ label, rows, keys, sort, wide, height, note, onPick, picked }: { label: string; rows: Rec[]; keys: readonly (readonly [string, string])[]; sort: string; wide: string; height?: number; note?: string; onPick?: (r: Rec) => void; picked?: (r: Rec) => boolean }) {
  const most = rows.reduce((a, r) => Math.max(a, Number(r[sort]) || 0), 1);
  const cols: Col<Rec>[] = keys.map(([key, title]) => ({
    key,
    title,
    value: (r) => (typeof r[key] === 'number' ? (r[key] as number) : String(r[key] ?? '')),
    text: (r) => byKey(key, r[key]),
    wide: key === wide,
    bar: key === sort ? (r) => (Number(r[key]) || 0) / most : undefined,
  }));
  return <Table label={label} rows={rows} cols={cols} sort={sort} height={height ?? 560} note={note} onPick={onPick} picked={picked} compact />;
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
