// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The table behind the picture: sums by name of an area of the timeline, or of the visible window.
import { useEffect, useState } from 'preact/hooks';
import { axis, count, lasts, ns, percent, plural } from '../../data/format';
import { type Sum, sums } from '../../data/notes';
import type { Spans } from '../../data/spans';
import { sum } from '../../data/sums';
import { range } from '../../state';
import { col, Table } from '../../ui/table';
import type { Lane } from './lanes';
import type { Area } from './draw';

const MOST_ROWS = 20000;

function useSums(spans: Spans, on: boolean, t0: number, t1: number, tracks: readonly number[]): Sum[] {
  const [rows, set] = useState<Sum[]>([]);
  const key = tracks.join('.');
  useEffect(() => {
    if (!on) return;
    const later = setTimeout(() => set(sums(spans, t0, t1, tracks)), 120);
    return () => clearTimeout(later);
  }, [on, t0, t1, key]);
  return rows;
}

export function Sums({ spans, lanes, area, open, pick, close }: { spans: Spans; lanes: readonly Lane[]; area: Area | null; open: boolean; pick: (k: number) => void; close: () => void }) {
  const on = open || area !== null;
  const [t0, t1] = area ? [area.t0, area.t1] : on ? range.value : [0, 0];
  const tracks = area ? area.tracks : lanes.map((l) => l.track);
  const rows = useSums(spans, on, t0, t1, tracks);
  return on ? <SumTable area={!!area} time={t1 - t0} lanes={tracks.length} rows={rows} names={rows.length} pick={pick} close={close} /> : null;
}

/** A table of sums by name; `names` is the total number of names. */
export function SumTable({ area, time, lanes, rows, names, pick, close }: { area: boolean; time: number; lanes: number; rows: Sum[]; names: number; pick: (k: number) => void; close: () => void }) {
  const all = sum(rows, (r) => r.self);
  const n = sum(rows, (r) => r.n);
  return (
    <section class="panel" id="sums">
      <header>
        <h2>{area ? 'The area' : 'Visible spans'}: {lasts(time)} of {plural(lanes, 'lane')}, {plural(n, 'span')}{!axis.ops && `, ${ns(all)} covered`}</h2>
        <button onClick={close}>Close</button>
      </header>
      <Table
        label="spans by name"
        rows={rows.length > MOST_ROWS ? rows.slice(0, MOST_ROWS) : rows}
        sort={axis.ops ? 'Count' : 'Self'}
        height={320}
        note={names > Math.min(rows.length, MOST_ROWS) ? `the first ${count(Math.min(rows.length, MOST_ROWS))} of ${count(names)} names` : undefined}
        onPick={(r) => pick(r.at)}
        cols={[
          col('Name', (r: Sum) => r.name, undefined, { wide: true }),
          col('Type', (r: Sum) => r.cat.replaceAll('_', ' ')),
          col('Count', (r: Sum) => r.n, count),
          col('Total', (r: Sum) => r.total, ns),
          col('Self', (r: Sum) => r.self, ns, { bar: (r) => r.self / (rows[0]?.self || 1) }),
          col('Share of self', (r: Sum) => r.self, (v) => (all ? percent((100 * v) / all) : '–')),
          col('Longest', (r: Sum) => r.longest, ns),
        ].slice(0, axis.ops ? 3 : 7)}
      />
    </section>
  );
}
