// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Where the device time of each rank went: bars whose parts add up to the whole, why it idled, who came
// late, what decided a step's length, and what to do. Every figure is one of `tidemark hta --json`.
import { byKey, count, ns, percent } from '../data/format';
import { getHta, getJob, type Hta } from '../data/page';
import { Legend, Loading, Panel, useData } from '../ui/parts';
import { CriticalPath } from './critical';
import { typeColors } from './kernels';
import { type Rec, Records } from './tables';

const mixed = '#3b7dc4';
const causeColors = ['#3b7dc4', '#e09f3e', '#2a9d8f', '#c8553d', '#8a6fb5', '#6bbf59', '#d48ab8', '#8c6d46', '#a9b4bf'];

interface Part {
  types: string[];
  time_ns: number;
  pct: number;
}

const partName = (p: Part) => (p.types.length ? p.types.join(' + ') : 'idle');
const partColor = (p: Part) => (p.types.length === 0 ? 'var(--idle)' : p.types.length === 1 ? (typeColors[p.types[0]] ?? mixed) : mixed);

interface Slice {
  name: string;
  color: string;
  ns: number;
}

/** Slices next to each other, in proportion to `whole`. */
function Bar({ slices, whole, thin }: { slices: Slice[]; whole: number; thin?: boolean }) {
  let x = 0;
  return (
    <svg class={thin ? 'breakdown thin' : 'breakdown'} viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={slices.map((s) => `${s.name} ${percent((100 * s.ns) / (whole || 1))}`).join(', ')}>
      {slices.map((s) => {
        const at = x;
        const w = (100 * s.ns) / (whole || 1);
        x += w;
        return (
          <rect key={s.name} x={at} y={0} width={Math.max(0, w - 0.08)} height={10} fill={s.color}>
            <title>{`${s.name}: ${ns(s.ns)}, ${percent(w)}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}

const order = (parts: Part[]) => [...parts].filter((p) => p.time_ns > 0).sort((a, b) => (a.types.length === 0 ? 1 : b.types.length === 0 ? -1 : b.time_ns - a.time_ns));
const slicesOf = (parts: Part[]): Slice[] => order(parts).map((p) => ({ name: partName(p), color: partColor(p), ns: p.time_ns }));
const rankName = (r: Rec) => (typeof r.rank === 'number' && r.rank >= 0 ? `Rank ${r.rank}` : 'This trace');
const causes = (r: Rec): Slice[] =>
  Object.entries((r.idle_causes as Record<string, number>) ?? {})
    .map(([k, v], i) => ({ name: k.replace(/_ns$/, '').replaceAll('_', ' '), color: causeColors[i % causeColors.length], ns: v }))
    .filter((s) => s.ns > 0);
const legend = (slices: Slice[], whole: number) => slices.map((s) => ({ color: s.color, text: s.name, value: `${ns(s.ns)} · ${percent((100 * s.ns) / (whole || 1))}` }));

function Rank({ r }: { r: Rec }) {
  const parts = slicesOf((r.type_sets as Part[]) ?? []);
  const idle = causes(r);
  const waited = idle.reduce((a, s) => a + s.ns, 0);
  const [whole, idled, comm, hidden] = [r.kernel_time_ns, r.idle_ns, r.communication_ns, r.comm_comp_overlap_ns].map(Number);
  return (
    <div class="rank">
      <h3>{rankName(r)}</h3>
      <Bar slices={parts} whole={whole} />
      <Legend items={legend(parts, whole)} />
      <p class="soft">
        Busy {byKey('x_ns', r.busy_ns)} of {ns(whole)}, idle {ns(idled)}
        {r.comm_comp_overlap_pct !== null ? `; of ${ns(comm)} of communication ${ns(hidden)} (${percent(Number(r.comm_comp_overlap_pct))}) ran behind compute` : ''}.
      </p>
      {idle.length > 0 && (
        <>
          <h4>What the host did while streams waited for it, {ns(waited)} over all streams</h4>
          <Bar slices={idle} whole={waited} thin />
          <Legend items={legend(idle, waited)} />
        </>
      )}
    </div>
  );
}

/** Many ranks: one thin bar each, all on one scale, so that the odd one stands out. */
function Ranks({ ranks }: { ranks: Rec[] }) {
  const most = ranks.reduce((a, r) => Math.max(a, Number(r.kernel_time_ns)), 1);
  const seen = new Map<string, Slice>();
  const bars = ranks.map((r) => slicesOf((r.type_sets as Part[]) ?? []));
  for (const b of bars) for (const s of b) seen.set(s.name, { ...s, ns: (seen.get(s.name)?.ns ?? 0) + s.ns });
  const all = [...seen.values()].reduce((a, s) => a + s.ns, 0);
  return (
    <>
      <div class="ranks">
        {ranks.map((r, i) => (
          <div key={i}>
            <span title={String(r.trace)}>{rankName(r)}</span>
            <Bar slices={bars[i]} whole={most} thin />
            <span class="soft">{ns(Number(r.busy_ns))} busy · {percent(Number(r.idle_pct))} idle{r.comm_comp_overlap_pct !== null ? ` · ${percent(Number(r.comm_comp_overlap_pct))} overlap` : ''}</span>
          </div>
        ))}
      </div>
      <Legend items={legend([...seen.values()], all)} />
      <Records label="ranks" rows={ranks} sort="kernel_time_ns" wide="trace" height={260} keys={[['rank', 'Rank'], ['trace', 'Trace'], ['kernel_time_ns', 'Window'], ['busy_ns', 'Busy'], ['idle_ns', 'Idle'], ['idle_pct', 'Idle %'], ['compute_ns', 'Compute'], ['communication_ns', 'Communication'], ['memory_ns', 'Copies'], ['comm_comp_overlap_ns', 'Overlap'], ['comm_comp_overlap_pct', 'Overlap %'], ['gpu_rows', 'Rows']]} />
    </>
  );
}

function streams(ranks: Rec[]): Rec[] {
  return ranks.flatMap((r) =>
    ((r.streams as Rec[]) ?? []).map((s) => ({ ...s, rank: r.rank, where: `device ${s.device} stream ${s.stream}`, ...(s.idle as Rec), mean_queue: (s.queue as Rec)?.mean, max_queue: (s.queue as Rec)?.max })),
  );
}

function launches(ranks: Rec[]): Rec[] {
  return ranks.map((r) => {
    const l = (r.launches as Rec) ?? {};
    const of = (key: string, name: string): Rec => Object.fromEntries(Object.entries((l[key] as Rec) ?? {}).map(([k, v]) => [`${name}_${k}`, v]));
    return { rank: r.rank, where: rankName(r), ...l, ...of('cpu', 'cpu'), ...of('delay', 'delay') };
  });
}

function Advice({ list }: { list: Rec[] }) {
  if (!list.length) return <p class="soft">No rule found anything worth a word.</p>;
  return (
    <ul class="findings">
      {list.map((a, i) => (
        <li key={i} class={String(a.severity)}>
          <b class="tag">{String(a.severity)}</b>
          <div>
            <p>{String(a.text)}</p>
            <p class="soft">{String(a.figure).replaceAll('_', ' ')} is {String(a.value)}, the rule speaks {String(a.when)} {String(a.threshold)}</p>
          </div>
        </li>
      ))}
    </ul>
  );
}

function Body({ h }: { h: NonNullable<Hta> }) {
  const notes = [...((h.notes as string[]) ?? []), ...((h.failed as Rec[]) ?? []).map((f) => `${f.trace} could not be read: ${f.error}${f.offset === null ? '' : ` (byte ${f.offset})`}`)];
  const rows = (key: string): Rec[] => (h[key] as Rec[]) ?? [];
  const many = h.ranks.length > 1;
  return (
    <>
      {notes.length > 0 && <section class="losses" role="note"><ul>{notes.map((n, i) => <li key={i}>{n}</li>)}</ul></section>}
      <Panel title={many ? `Device time of ${count(h.ranks.length)} ranks` : 'Device time'}>{many ? <Ranks ranks={h.ranks} /> : h.ranks.map((r, i) => <Rank key={i} r={r} />)}</Panel>
      {rows('stragglers').length > 0 && (
        <Panel title="Stragglers: who came late to collectives" extra={<span class="soft">late: how much after the first rank it began</span>}>
          <Records label="stragglers" rows={rows('stragglers')} sort="late_ns" wide="" height={230} keys={[['rank', 'Rank'], ['collectives', 'Collectives'], ['last', 'Came last'], ['late_ns', 'Late in all'], ['worst_ns', 'Latest once'], ['worst_step', 'In step']]} />
        </Panel>
      )}
      <Panel title="What to do"><Advice list={rows('recommendations')} /></Panel>
      <CriticalPath />
      <Panel title="Streams: busy, and what they waited for">
        <Records label="streams" rows={streams(h.ranks)} sort="busy_ns" wide="where" height={260} keys={[['where', 'Stream'], ['rank', 'Rank'], ['rows', 'Rows'], ['span_ns', 'Window'], ['busy_ns', 'Busy'], ['host_wait_ns', 'Waits for the host'], ['kernel_wait_ns', 'Between kernels'], ['other_ns', 'Other'], ['mean_queue', 'Mean queue'], ['max_queue', 'Longest queue']]} />
      </Panel>
      <Panel title="Launches">
        <Records label="launches" rows={launches(h.ranks)} sort="count" wide="where" height={170} keys={[['where', 'Rank'], ['count', 'Launches'], ['cpu_mean_ns', 'Mean call'], ['cpu_p50_ns', 'p50'], ['cpu_p99_ns', 'p99'], ['cpu_max_ns', 'Longest'], ['delay_mean_ns', 'Mean delay'], ['delay_p50_ns', 'p50'], ['delay_p99_ns', 'p99'], ['delay_max_ns', 'Longest delay'], ['short_kernels', 'Shorter than their launch'], ['runtime_outliers', 'Slow calls'], ['delay_outliers', 'Late starts']]} />
        <Records label="launch calls" rows={rows('launch_calls')} sort="cpu_sum_ns" wide="name" height={260} keys={[['name', 'Call'], ['launches', 'Launches'], ['gpu_rows', 'Rows'], ['cpu_sum_ns', 'On the CPU'], ['cpu_mean_ns', 'Mean'], ['cpu_max_ns', 'Longest'], ['delay_mean_ns', 'Mean delay'], ['delay_max_ns', 'Longest delay'], ['gpu_sum_ns', 'On the device'], ['short_kernels', 'Short']]} />
      </Panel>
      {rows('collectives').length > 0 && (
        <Panel title="Collectives">
          <Records label="collectives" rows={rows('collectives')} sort="sum_ns" wide="collective" height={260} keys={[['collective', 'Collective'], ['group', 'Group'], ['group_size', 'Ranks'], ['count', 'Count'], ['sum_ns', 'Total'], ['mean_ns', 'Mean'], ['max_ns', 'Max'], ['bytes', 'Bytes'], ['algbw_gb_s', 'GB/s'], ['busbw_gb_s', 'Bus GB/s'], ['overlap_ns', 'Behind compute'], ['overlap_pct', 'Share']]} />
        </Panel>
      )}
      {rows('copies').length > 0 && (
        <Panel title="Copies">
          <Records label="copies" rows={rows('copies')} sort="sum_ns" wide="kind" height={200} keys={[['kind', 'Copy'], ['count', 'Count'], ['sum_ns', 'Total'], ['bytes', 'Bytes'], ['mean_gb_s', 'GB/s'], ['p50_gb_s', 'p50'], ['peak_gb_s', 'Highest']]} />
        </Panel>
      )}
      {h.ranks.some((r) => ((r.steps as Rec[]) ?? []).length > 0) && (
        <Panel title="Steps">
          <Records label="steps" rows={h.ranks.flatMap((r) => ((r.steps as Rec[]) ?? []).map((s) => ({ ...s, rank: r.rank })))} sort="duration_ns" wide="" height={260} keys={[['step', 'Step'], ['rank', 'Rank'], ['duration_ns', 'Host time'], ['gpu_window_ns', 'Device window'], ['busy_ns', 'Busy'], ['compute_ns', 'Compute'], ['communication_ns', 'Communication'], ['memory_ns', 'Copies'], ['gpu_rows', 'Rows']]} />
        </Panel>
      )}
    </>
  );
}

export function HtaView() {
  const one = useData(getHta);
  const all = useData(getJob);
  if (one === undefined || all === undefined) return <Loading />;
  const h = all ?? one;
  if (!h) return <p class="loading">This trace holds no device work, so there is no device time to break down.</p>;
  return <div class="stack"><Body h={h} /></div>;
}
