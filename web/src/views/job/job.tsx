// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// A job as a whole: missing ranks first, then each rank with its figures, then the device time of all. A click on a rank opens it.
import { bytes, count, lasts, percent } from '../../data/format';
import { getJob, getMains, getPage, type Main } from '../../data/page';
import { most } from '../../data/sums';
import { go, traceShown } from '../../state';
import { Loading, Panel, useData } from '../../ui/parts';
import { col, Table } from '../../ui/table';
import { Body } from '../device/hta';

const LISTED = 64; // missing ranks

interface Row {
  at: number; // of the page's traces
  rank: string;
  file: string;
  lasts: number; // -1 = unknown, as the other figures
  peak: number;
  device: string;
  live: number;
  gpu: number;
  findings: string;
}

const known = (f: (v: number) => string) => (v: number) => (v < 0 ? '–' : f(v));

function Ranks({ rows }: { rows: readonly Row[] }) {
  const high = most(rows, (r) => r.peak);
  const cols = [
    col('Rank', (r: Row) => r.at, undefined, { text: (r) => r.rank }),
    col('Peak memory', (r: Row) => r.peak, known(bytes), { bar: (r: Row) => Math.max(0, r.peak) / (high || 1) }),
    col('Device', (r: Row) => r.device),
    col('At the end', (r: Row) => r.live, known(bytes)),
    col('GPU active', (r: Row) => r.gpu, known(percent)),
    col('Lasts', (r: Row) => r.lasts, known(lasts)),
    col('First finding', (r: Row) => r.findings, undefined, { wide: true }),
    col('Trace', (r: Row) => r.file, undefined, { wide: true }),
  ];
  return (
    <Panel title={`${count(rows.length)} ranks`} extra={<span class="soft hint">a click opens a rank</span>}>
      <Table
        label="ranks of the job"
        rows={rows}
        cols={cols}
        sort="Rank"
        ascending
        height={340}
        compact
        onPick={(r) => {
          if (r.lasts >= 0) void traceShown.show(r.at).then(() => go('overview'));
        }}
      />
    </Panel>
  );
}

/** Returns the missing ranks of a job without device time, whose document would name them. */
function missing(mains: readonly Main[]): string {
  const all = mains.flatMap((m) => m.processes);
  const seen = new Set(all.map((p) => p.rank).filter((r) => r >= 0));
  const world = most(all, (p) => p.world);
  const gone = Array.from({ length: Math.min(world, 4096) }, (_, r) => r).filter((r) => !seen.has(r));
  return gone.length ? `${count(gone.length)} of ${count(world)} ranks are missing: ${gone.slice(0, LISTED).join(' ')}${gone.length > LISTED ? ' …' : ''}` : '';
}

export function Job() {
  const page = useData(getPage);
  const mains = useData(getMains);
  const all = useData(getJob);
  if (!page || !mains || all === undefined) return <Loading />;
  const detailed = page.traces.flatMap((t, at) => (t.detail ? [at] : []));
  const rows = page.traces.map((t, at): Row => {
    const m = mains[detailed.indexOf(at)];
    const d = m && m.device > 0 ? m.devices[m.device] : undefined;
    const top = m?.findings.find((f) => f.text && f.severity !== 'info');
    return {
      at,
      rank: t.title,
      file: t.file,
      lasts: m ? m.t_end : -1,
      peak: d ? d.peak : -1,
      device: d ? d.device : '–',
      live: d ? d.live : -1,
      gpu: m && m.gpu_ns ? (100 * m.gpu_ns) / m.total_ns : -1,
      findings: m ? (top ? top.what || top.text : 'none') : 'device time only',
    };
  });
  const gone = all || mains.length < rows.length ? '' : missing(mains);
  return (
    <div class="stack">
      {gone && <section class="losses" role="note"><ul><li>{gone}</li></ul></section>}
      {all ? <Body h={all} first={<Ranks rows={rows} />} /> : <Ranks rows={rows} />}
    </div>
  );
}
