// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The memory view: live memory over time; below it one moment, as a list of live allocations or as a map of
// the allocator.
import { useMemo } from 'preact/hooks';
import { address, type Allocator } from '../../data/allocator';
import { bytes, exact, held, lasts, ns } from '../../data/format';
import { levelAt } from '../../data/levels';
import type { Memory } from '../../data/memory';
import { getAllocator, getMemory, getTables, type Main } from '../../data/page';
import { after } from '../../data/spans';
import { css } from '../../draw/pixels';
import { alloc, look, moment, range } from '../../state';
import { Choice, Kept, Loading, Panel, Square, useData } from '../../ui/parts';
import { px } from '../../ui/scale';
import { type Col, col, Table } from '../../ui/table';
import { keyTime, useKeys } from '../../ui/travel';
import { Chosen, LiveSet } from './live_set';
import { Chart } from './chart';
import { MapPanel } from './map';
import { OverTime } from './allocator_over_time';
import { brief, by, canCount, chosenBy, chosenPlace, device, focus, focusOf, makeScene, momentOf, over, pane, pictureOf, places, scaleOf, type Scene, waysOf } from './scene';

const LINES = 60; // of the chart as a table

/** Layers with their bytes at the moment; a click highlights one. */
function Layers({ sc, now }: { sc: Scene; now: Float64Array }) {
  const one = focusOf(sc.g);
  return (
    <ul class="legend layers">
      {sc.g.labels.map((text, i) => (
        <li key={text}>
          <button aria-pressed={one === i} title={`${text}: only this one`} onClick={() => (focus.value = one === i ? '' : text)}>
            <Square color={css(sc.colors[i])} />
            <span>{brief(text, sc.by)}</span>
            <b>{bytes(now[i])}</b>
          </button>
        </li>
      ))}
    </ul>
  );
}

interface Line {
  t: number;
  sum: number;
  v: Float64Array;
}

/** The chart's window as text: the highest moment of each of LINES intervals. */
function AsTable({ sc }: { sc: Scene }) {
  const [t0, t1] = range.value;
  const rows = useMemo(() => {
    const { pic: p, timeAt } = pictureOf(sc, LINES);
    return Array.from({ length: LINES }, (_, i): Line => ({ t: timeAt(i), sum: Math.max(0, p.sum[i]), v: p.values.subarray(i * p.k, (i + 1) * p.k) }));
  }, [sc, t0, t1]);
  const cols: Col<Line>[] = [
    col('From', (r) => r.t, exact),
    col('Live', (r) => r.sum, bytes, { bar: (r) => r.sum / (sc.peak.bytes || 1) }),
    ...sc.g.labels.map((l, k) => col(l.length > 28 ? `…${l.slice(-27)}` : l, (r: Line) => r.v[k], bytes, { key: `g${k}` })),
  ];
  return (
    <Panel title={`The highest moment of each of ${LINES} intervals of ${sc.events ? 'equally many memory events' : lasts((t1 - t0) / LINES)}`}>
      <Table
        label="live memory over time"
        rows={rows}
        sort="From"
        ascending
        height={420}
        cols={cols}
      />
    </Panel>
  );
}

function Below({ sc, main, map }: { sc: Scene; main: Main; map?: Given }) {
  const own = useData(getAllocator);
  const a = map ? map.a : own;
  const position = momentOf(sc);
  const row = alloc.value;
  const known = !!a && a.json.bases[sc.dev] !== null;
  const dev = row !== null && row < sc.m.n ? sc.m.json.pools[sc.m.pool[row]].device : 0;
  const where = a && row !== null && row < sc.m.n && a.json.bases[dev] ? address(a, dev, a.addr[row]) : undefined;
  return (
    <>
      {pane.value === 'map' && a && known && <OverTime sc={sc} a={a} />}
      {pane.value === 'table' && <AsTable sc={sc} />}
      {pane.value === 'map' && a === undefined && <Loading />}
      {pane.value === 'map' && a && known && <MapPanel sc={sc} a={a} position={position} />}
      {pane.value === 'map' && a !== undefined && !known && (
        <p class="loading">
          {sc.dev ? 'This trace has no segments: addresses of blocks are unknown. A memory snapshot of torch has them.' : 'Select one device: a map shows one allocator.'}
        </p>
      )}
      {pane.value !== 'map' && pane.value !== 'table' && <LiveSet sc={sc} position={position} />}
      <Chosen m={sc.m} main={main} where={where} />
    </>
  );
}

/** The panes below the chart; the map needs segments. */
const panes: readonly (readonly ['alive' | 'map' | 'table', string])[] = [
  ['alive', 'What is alive'],
  ['map', 'Allocator map'],
  ['table', 'Chart as a table'],
];

/** Steps to the memory event before or after the moment. */
function step(sc: Scene, to: number): void {
  const { t, events } = sc.m;
  const now = moment.value ?? sc.peak.t;
  const i = to > 0 ? after(t, 0, events, now) : after(t, 0, events, now - 1) - 1;
  if (i >= 0 && i < events) moment.value = t[i];
}

export function MemoryView({ main }: { main: Main }) {
  const m = useData(getMemory);
  return m ? <MemoryOf main={main} m={m} /> : <Loading />;
}

/** Addresses of blocks, for a part of the allocations; undefined until they are read. */
export interface Given {
  a?: Allocator;
}

export function MemoryOf({ main, m, map }: { main: Main; m: Memory; map?: Given }) {
  const tables = useData(getTables);
  const all = useMemo(() => places(main, m), [main, m]);
  const place = chosenPlace(main, all);
  const how = chosenBy(main);
  const made = useMemo(() => (m.n ? makeScene(main, m, place, how) : null), [main, m, place, how, over.value]);
  const named = tables && tables.phases.length > 1 ? tables.phases : [];
  const sc = useMemo(() => made && { ...made, phases: named }, [made, tables]);
  useKeys((e) => {
    if (!sc) return;
    if (keyTime(e, scaleOf(sc.events, main.t_end))) e.preventDefault();
    else if (e.key === 'p') moment.value = sc.peak.t;
    else if (e.key === '.') step(sc, 1);
    else if (e.key === ',') step(sc, -1);
    else if (e.key === 'Escape') moment.value = alloc.value = null;
  });
  if (!sc || !main.device) return <p class="loading">This trace has no allocations.</p>;
  const reservedText = place < 0 ? '' : place || !sc.res.t.length ? held(main.devices[place || main.device]) : 'reserved';
  const position = momentOf(sc);
  return (
    <div class="stack">
      <div class="bar">
        <Choice
          label="Group by"
          value={how}
          options={waysOf(main, m)}
          onPick={(v) => {
            by.value = v;
            focus.value = '';
          }}
        />
        {all.length > 1 && (
          <Choice label="Device" value={place ? String(place) : 'all'} options={[...all.map(([p, name]): [string, string] => [String(p), name]), ['all', 'All']]} onPick={(v) => (device.value = v)} />
        )}
        {canCount(m) && <Kept label="Axis" of={over} options={[['', 'Over time'], ['events', 'Over events']]} />}
        <span class="grow" />
        <span class="soft">
          peak <b>{bytes(sc.peak.bytes)}</b> at {ns(sc.peak.t)}
          {reservedText && ` · ${sc.res.t.length ? 'line: ' : ''}${reservedText}`}
        </span>
        <button onClick={() => (moment.value = sc.peak.t)}>Go to the peak</button>
        <button onClick={() => look(0, main.t_end)}>Whole trace</button>
      </div>
      <Chart sc={sc} height={Math.max(px(320), Math.round(innerHeight * 0.36))} />
      <Layers sc={sc} now={levelAt(m, sc.g, sc.mip, position.events)} />
      <div class="bar">
        <Choice
          label="Below"
          value={pane.value === 'map' || pane.value === 'table' ? pane.value : 'alive'}
          options={panes.filter(([k]) => k !== 'map' || pane.value === k || main.devices.some((d) => d.reserved_source === 'segments'))}
          onPick={(v) => (pane.value = v === 'alive' ? '' : v)}
        />
        <span class="soft">at {exact(position.t)}{position.exact ? ', the peak' : ''}; <kbd>,</kbd> <kbd>.</kbd> go to the previous and next memory event</span>
      </div>
      <Below sc={sc} main={main} map={map} />
    </div>
  );
}
