// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Where the device time of each rank went: bars whose parts add up to the whole, and why it idled.
import { byKey, ns, percent } from '../data/format';
import { getHta } from '../data/page';
import { Legend, Loading, Panel, useData } from '../ui/parts';
import { type Rec, Records } from './tables';

const colors: Record<string, string> = { compute: '#1f9e89', communication: '#8a6fb5', memory: '#d1603d', other: '#8b98a5' };
const mixed = '#3b7dc4';

interface Part {
  types: string[];
  time_ns: number;
  pct: number;
}

const partName = (p: Part) => (p.types.length ? p.types.join(' + ') : 'idle');
const partColor = (p: Part) => (p.types.length === 0 ? 'var(--idle)' : p.types.length === 1 ? (colors[p.types[0]] ?? mixed) : mixed);

function Bar({ parts }: { parts: Part[] }) {
  let x = 0;
  return (
    <svg class="breakdown" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={parts.map((p) => `${partName(p)} ${percent(p.pct)}`).join(', ')}>
      {parts.map((p) => {
        const at = x;
        x += p.pct;
        return (
          <rect key={partName(p)} x={at} y={0} width={Math.max(0, p.pct - 0.08)} height={10} fill={partColor(p)}>
            <title>{`${partName(p)}: ${ns(p.time_ns)}, ${percent(p.pct)}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}

const order = (parts: Part[]) => [...parts].filter((p) => p.time_ns > 0).sort((a, b) => (a.types.length === 0 ? 1 : b.types.length === 0 ? -1 : b.time_ns - a.time_ns));

function Rank({ r }: { r: Rec }) {
  const parts = order((r.type_sets as Part[]) ?? []);
  const causes = Object.entries((r.idle_causes as Record<string, number>) ?? {}).filter(([k, v]) => k.endsWith('_ns') && v > 0);
  return (
    <div class="rank">
      <h3>{typeof r.rank === 'number' && r.rank >= 0 ? `Rank ${r.rank}` : 'This trace'}</h3>
      <Bar parts={parts} />
      <Legend items={parts.map((p) => ({ color: partColor(p), text: partName(p), value: `${ns(p.time_ns)} · ${percent(p.pct)}` }))} />
      <p class="soft">
        Busy {byKey('x_ns', r.busy_ns)}, idle {byKey('x_ns', r.idle_ns)}
        {r.comm_comp_overlap_pct !== null ? `; ${percent(Number(r.comm_comp_overlap_pct))} of communication hidden behind compute` : ''}
        {causes.length ? `; while idle the host was in ${causes.map(([k, v]) => `${k.replace(/_ns$/, '').replaceAll('_', ' ')} ${ns(v)}`).join(', ')}` : ''}.
      </p>
    </div>
  );
}

function streams(ranks: Rec[]): Rec[] {
  return ranks.flatMap((r) =>
    ((r.streams as Rec[]) ?? []).map((s) => ({ ...s, rank: r.rank, where: `device ${s.device} stream ${s.stream}`, ...(s.idle as Rec), mean_queue: (s.queue as Rec)?.mean, max_queue: (s.queue as Rec)?.max })),
  );
}

export function HtaView() {
  const h = useData(getHta);
  if (h === undefined) return <Loading />;
  if (!h) return <p class="loading">This trace holds no device work, so there is no device time to break down.</p>;
  const notes = (h.notes as string[]) ?? [];
  const collectives = h.collectives as Rec[];
  return (
    <div class="stack">
      {notes.length > 0 && <section class="losses" role="note"><ul>{notes.map((n, i) => <li key={i}>{n}</li>)}</ul></section>}
      <Panel title="Device time">{h.ranks.map((r, i) => <Rank key={i} r={r} />)}</Panel>
      <Panel title="By type">
        <Records label="kernel types" rows={h.kernel_types as Rec[]} sort="sum_ns" wide="type" height={220} keys={[['type', 'Type'], ['names', 'Names'], ['count', 'Count'], ['sum_ns', 'Total'], ['union_ns', 'Union'], ['mean_ns', 'Mean'], ['max_ns', 'Max']]} />
      </Panel>
      <Panel title="Streams: busy, and what they waited for">
        <Records label="streams" rows={streams(h.ranks)} sort="busy_ns" wide="where" height={260} keys={[['where', 'Stream'], ['rank', 'Rank'], ['rows', 'Rows'], ['busy_ns', 'Busy'], ['host_wait_ns', 'Waits for the host'], ['kernel_wait_ns', 'Between kernels'], ['other_ns', 'Other'], ['mean_queue', 'Mean queue'], ['max_queue', 'Longest queue']]} />
      </Panel>
      {collectives.length > 0 && (
        <Panel title="Collectives">
          <Records label="collectives" rows={collectives} sort="sum_ns" wide="name" height={260} keys={Object.keys(collectives[0]).map((k) => [k, k.replaceAll('_', ' ')] as const)} />
        </Panel>
      )}
      <Panel title="Launch calls">
        <Records label="launch calls" rows={h.launch_calls as Rec[]} sort="cpu_sum_ns" wide="name" height={260} keys={[['name', 'Call'], ['launches', 'Launches'], ['cpu_sum_ns', 'On the CPU'], ['cpu_max_ns', 'Longest'], ['delay_mean_ns', 'Mean delay'], ['delay_max_ns', 'Longest delay'], ['gpu_sum_ns', 'On the device']]} />
      </Panel>
    </div>
  );
}
