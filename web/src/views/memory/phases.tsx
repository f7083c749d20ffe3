// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Memory per phase: one bar each, stacked by groups of live memory at its highest moment, beside the limit of
// the device; and every figure as a table.
import { useMemo } from 'preact/hooks';
import { bytes, delta, lasts, percent } from '../../data/format';
import { phasePeaks } from '../../data/memory_phases';
import type { Memory } from '../../data/memory';
import { getMemory, getTables, type Main, type Scope, sizeOf, type Tables } from '../../data/page';
import { most } from '../../data/sums';
import { css } from '../../draw/pixels';
import { go, keep, look, moment } from '../../state';
import { Bars } from '../../ui/bars';
import { Choice, Legend, Loading, Panel, useData } from '../../ui/parts';
import { type Col, col, Table } from '../../ui/table';
import { brief, by, chosenBy, colorsOf, device, focus, waysOf } from './scene';

const MOST_BARS = 400;
const scopeKey = keep('scope');
const limitKey = keep('limit'); // GiB, if the trace lacks it or the user enters another

const scopeName = (s: Scope, t: Tables): string => {
  const many = new Set(t.scopes.filter((x) => x.scope === 'pool').map((x) => x.device)).size > 1;
  const dev = many || s.scope !== 'pool' ? s.device : '';
  const what: Record<string, string> = { pool: s.pool, device: 'in all', l1: 'L1 in all', l1_cb: 'L1 circular buffers', l1_buffer: 'L1 buffers' };
  return s.scope === 'total' ? 'all devices' : `${dev} ${what[s.scope] ?? s.scope}`.trim();
};

/** Capacity in bytes: as recorded, or of the whole device. */
function limitOf(main: Main, m: Memory, s: Scope): number {
  const d = m.json.pools[s.of[0]]?.device ?? 0;
  return s.limit || (s.scope !== 'total' && s.of.length === m.json.pools.filter((p) => p.device === d).length ? sizeOf(main, d) : 0);
}

/** Returns the informative scopes: a sum over one pool is left out. */
function shownScopes(t: Tables): { s: Scope; i: number }[] {
  const devices = new Set(t.scopes.filter((x) => x.scope === 'pool').map((x) => x.device)).size;
  return t.scopes
    .map((s, i) => ({ s, i }))
    .filter(({ s, i }) => (s.scope === 'total' ? devices > 1 : s.scope === 'pool' || s.pools > 1) && t.phases.some((p) => p.levels[i][6] > 0));
}

const nameOf = (t: Tables, n: number): string => t.phases[n].name ?? (t.phases.length > 1 ? '(after the last phase)' : '(whole trace)');

interface Bars {
  t: Tables;
  main: Main;
  scope: Scope;
  at: number; // number of the scope
}

function show(p: { t0: number; t1: number }, t: number): void {
  look(p.t0, Math.max(p.t1, p.t0 + 1));
  moment.value = t;
  go('memory');
}

/** The function that gets the allocations for the bars; a server's page replaces it. */
export const forPhases = { get: getMemory };

function Histogram({ t, main, scope, at }: Bars) {
  const m = useData(forPhases.get);
  const how = chosenBy(main);
  const names = main.devices.map((d) => d.device);
  const made = useMemo(() => m && phasePeaks(m, m.json.phase_events ?? t.phases.map((p) => p.events), scope.of, how, names), [m, scope, how]);
  if (!m || !made) return <Loading />;
  const colors = colorsOf(made.labels, how).map(css);
  const own = Number(limitKey.value) * 1073741824;
  const limit = own > 0 ? own : limitOf(main, m, scope);
  const high = most(made.peaks, (p) => p.top);
  const wide = limit && limit < high * 3 ? Math.max(high, limit) * 1.02 : high * 1.02;
  const pick = (n: number, k = -1) => {
    const d = m.json.pools[scope.of[0]]?.device ?? 0;
    device.value = scope.scope === 'total' ? 'all' : String(d);
    focus.value = k >= 0 ? made.labels[k] : '';
    by.value = how;
    show(t.phases[n], made.peaks[n].t);
  };
  return (
    <>
      <Legend items={made.labels.map((text, i) => ({ color: colors[i], text: brief(text, how), title: text }))} />
      <Bars
        full={wide}
        limit={limit}
        onPick={pick}
        data-tops={JSON.stringify(made.peaks.map((p) => p.top))}
        rows={made.peaks.slice(0, MOST_BARS).map((p, n) => ({
          name: nameOf(t, n),
          parts: p.parts.map((size, i) => ({ size, color: colors[i], title: `${made.labels[i]}: ${bytes(size)}` })),
          value: bytes(p.top),
          more: limit ? percent((100 * p.top) / limit) : '',
          over: limit > 0 && p.top > limit,
        }))}
      />
      {t.phases.length > Math.min(MOST_BARS, made.peaks.length) && <p class="soft">The first {Math.min(MOST_BARS, made.peaks.length)} of {t.phases.length} phases; the table has all.</p>}
      <p class="soft">
        {limit ? `Red line and percent: the limit of ${bytes(limit)}${own > 0 ? ', as given here' : ''}.` : 'The trace lacks the capacity of the device: enter a limit to compare with.'} A bar is the first highest moment of its phase ({scopeName(t.scopes[at], t)}){main.only ? '' : '; a click shows it in the memory view'}.
      </p>
    </>
  );
}

interface PhaseRow {
  n: number;
  name: string;
  scope: string;
  limit: number;
  t0: number;
  t1: number;
  v: number[];
}

function AsTable({ t, scopes, limit }: { t: Tables; scopes: { s: Scope; i: number }[]; limit: (s: Scope) => number }) {
  const rows: PhaseRow[] = t.phases
    .flatMap((p, n) => scopes.map(({ s, i }) => ({ n: n + 1, name: nameOf(t, n), scope: scopeName(s, t), limit: limit(s), t0: p.t0, t1: p.t1, v: p.levels[i] })))
    .filter((r) => r.v[6] > 0 || r.v[1] > 0);
  const high = most(rows, (r) => r.v[6]);
  const figure = (title: string, at: number, text: (v: number) => string = bytes, more?: Partial<Col<PhaseRow>>) => col(title, (r: PhaseRow) => r.v[at], text, more);
  const cols: (Col<PhaseRow> | false)[] = [
    col('#', (r) => r.n),
    col('Phase', (r) => r.name, undefined, { wide: true }),
    col('Memory', (r) => r.scope),
    col('Lasts', (r) => r.t1 - r.t0, lasts),
    figure('Highest', 6, bytes, { bar: (r) => r.v[6] / high }),
    rows.some((r) => r.limit) && col('Of the limit', (r) => (r.limit ? (100 * r.v[6]) / r.limit : -1), (v) => (v < 0 ? '–' : percent(v))),
    figure('Segment peak', 0),
    figure('Allocations', 1),
    figure('Deallocations', 2),
    figure('Segment change', 3, delta),
    figure('Cumulative current', 5),
    figure('Cumulative peak', 4),
  ];
  return (
    <Panel title="Every phase and memory" extra={<span class="soft">Segment peak: highest use above the phase's start</span>}>
      <Table
        label="phases"
        rows={rows}
        sort="#"
        ascending
        height={520}
        picked={(r) => moment.value !== null && moment.value >= r.t0 && moment.value < r.t1}
        onPick={(r) => {
          look(r.t0, r.t1);
          moment.value = null;
          go('memory');
        }}
        cols={cols.filter((c) => c !== false)}
      />
    </Panel>
  );
}

export function Phases({ main }: { main: Main }) {
  const t = useData(getTables);
  const m = useData(getMemory);
  if (!t || !m) return <Loading />;
  const scopes = shownScopes(t);
  if (!scopes.length) return <p class="loading">This trace has no allocations.</p>;
  // At first the main memory of the device that holds most of it.
  const highestOf = (s: Scope) => most(t.phases, (p) => p.levels[t.scopes.indexOf(s)][6]);
  const largest = t.scopes.filter((s) => s.scope === 'device').sort((a, b) => highestOf(b) - highestOf(a))[0];
  const first = scopes.find(({ s }) => s === largest) ?? scopes.find(({ s }) => s.scope === 'pool' && s.of[0] === largest?.of[0]) ?? scopes[0];
  const chosen = scopes.find(({ i }) => String(i) === scopeKey.value) ?? first;
  const known = limitOf(main, m, chosen.s);
  const hows = waysOf(main, m).filter(([k]) => k !== 'device');
  return (
    <div class="stack">
      <div class="bar">
        <Choice label="Group by" value={chosenBy(main)} options={hows} onPick={(v) => (by.value = v)} />
        {scopes.length > 1 && <Choice label="Memory" value={String(chosen.i)} options={scopes.map(({ s, i }): [string, string] => [String(i), scopeName(s, t)])} onPick={(v) => (scopeKey.value = v)} />}
        <span class="grow" />
        <label class="soft">
          Limit <input type="number" min="0" step="any" value={limitKey.value} placeholder={known ? (known / 1073741824).toPrecision(4) : 'unknown'} onChange={(e) => (limitKey.value = e.currentTarget.value)} /> GiB
        </label>
      </div>
      <Panel title={`Live allocations at the peak of each phase: ${scopeName(chosen.s, t)}`}>
        <Histogram t={t} main={main} scope={chosen.s} at={chosen.i} />
      </Panel>
      <AsTable t={t} scopes={scopes} limit={(s) => limitOf(main, m, s)} />
    </div>
  );
}
