// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Device time of each rank: bars whose parts add up to the whole, causes of idle time, late ranks, the critical
// path of a step, and advice. Every figure is one of `tidemark hta --json`.
import { byKey, count, ns, percent } from '../../data/format';
import { getHta, type Hta } from '../../data/page';
import type { ComponentChildren } from 'preact';
import { most, sum as add } from '../../data/sums';
import { causeColors, typeColors } from '../../draw/colors';
import { Legend, Loading, Panel, useData } from '../../ui/parts';
import { CriticalPath } from './critical';
import { type Rec, Records } from '../common/tables';


interface Part {
  types: string[];
  time_ns: number;
  pct: number;
}

const partName = (p: Part) => (p.types.length ? p.types.join(' + ') : 'idle');
const partColor = (p: Part) => (p.types.length ? (typeColors[partName(p)] ?? typeColors.other) : 'var(--idle)');

export interface Slice {
  name: string;
  color: string;
  ns: number;
}

/** Slices next to each other, in proportion to `whole`. */
export function Bar({ slices, whole, thin }: { slices: Slice[]; whole: number; thin?: boolean }) {
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
    .map(([k, ns]) => {
      const cause = k.replace(/_ns$/, '');
      return { name: cause.replaceAll('_', ' '), color: causeColors[cause], ns };
    })
    .filter((s) => s.ns > 0);
export const legend = (slices: Slice[], whole: number) => slices.map((s) => ({ color: s.color, text: s.name, value: `${ns(s.ns)} · ${percent((100 * s.ns) / (whole || 1))}` }));

const sum = (slices: Slice[]) => add(slices, (s) => s.ns);
/** Adds up slices of the same name. */
function merge(lists: Slice[][]): Slice[] {
  const seen = new Map<string, Slice>();
  for (const list of lists) for (const s of list) seen.set(s.name, { ...s, ns: (seen.get(s.name)?.ns ?? 0) + s.ns });
  return [...seen.values()];
}

function Rank({ r }: { r: Rec }) {
  const parts = typeSlices(r);
  const idle = causes(r);
  const waited = sum(idle);
  const whole = Number(r.kernel_time_ns);
  const time = (key: string) => byKey('_ns', r[key]);
  return (
    <div class="rank">
      <h3>{rankName(r)}</h3>
      <Bar slices={parts} whole={whole} />
      <Legend items={legend(parts, whole)} />
      <p class="soft">
        Busy {time('busy_ns')} of {ns(whole)}, idle {time('idle_ns')}
        {overlap(r, `; ${time('comm_comp_overlap_ns')} (${byKey('_pct', r.comm_comp_overlap_pct)}) of ${time('communication_ns')} of communication overlapped compute`)}.
      </p>
      {waited > 0 && (
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
function Bars({ ranks, of, say }: { ranks: Rec[]; of: (r: Rec) => Slice[]; say: (r: Rec) => string }) {
  const high = most(ranks, (r) => sum(of(r)));
  const all = merge(ranks.map(of));
  return (
    <>
      <div class="ranks">
        {ranks.map((r, i) => (
          <div key={i}>
            <span title={String(r.trace)}>{rankName(r)}</span>
            <Bar slices={of(r)} whole={high} thin />
            <span class="soft">{say(r)}</span>
          </div>
        ))}
      </div>
      <Legend items={legend(all, sum(all))} />
    </>
  );
}

const typeSlices = (r: Rec) => slicesOf((r.type_sets as Part[]) ?? []);
const overlap = (r: Rec, words: string) => (r.comm_comp_overlap_pct === null ? '' : words);

function Ranks({ ranks }: { ranks: Rec[] }) {
  return (
    <>
      <Bars ranks={ranks} of={typeSlices} say={(r) => `${byKey('_ns', r.busy_ns)} busy · ${byKey('_pct', r.idle_pct)} idle${overlap(r, ` · ${byKey('_pct', r.comm_comp_overlap_pct)} overlap`)}`} />
      <h4>What the host did while streams waited for it</h4>
      <Bars ranks={ranks} of={causes} say={(r) => `${ns(sum(causes(r)))} over all streams`} />
      <Records label="ranks" rows={ranks} sort="kernel_time_ns" wide="trace" keys="rank,trace,kernel_time_ns:Window,busy_ns,idle_ns,idle_pct:Idle %,compute_ns,communication_ns,memory_ns:Copies,comm_comp_overlap_ns:Overlap,comm_comp_overlap_pct:Overlap %,gpu_rows:Rows" />
    </>
  );
}

function streams(ranks: Rec[]): Rec[] {
  return ranks.flatMap((r) =>
    ((r.streams as Rec[]) ?? []).map((s) => ({ ...s, rank: r.rank, where: `${s.device == null ? 'device ?' : `${s.device_kind ?? 'device'}:${s.device}`} stream ${s.stream}`, ...(s.idle as Rec), mean_queue: (s.queue as Rec)?.mean, max_queue: (s.queue as Rec)?.max })),
  );
}

function launches(ranks: Rec[]): Rec[] {
  return ranks.map((r) => {
    const l = (r.launches as Rec) ?? {};
    const of = (name: string): Rec => Object.fromEntries(Object.entries((l[name] as Rec) ?? {}).map(([k, v]) => [`${name}_${k}`, v]));
    return { where: rankName(r), ...l, ...of('cpu'), ...of('delay') };
  });
}

/** Each item shows the recommendation, then its evidence, which is in brackets in the text. */
function Advice({ list }: { list: Rec[] }) {
  if (!list.length) return <p class="soft">No rule found a problem.</p>;
  return (
    <ul class="findings">
      {list.map((a, i) => {
        const [text, why] = String(a.text).split(/ \[([^[]*)\]$/);
        return (
          <li key={i} class={String(a.severity)}>
            <b class="tag">{String(a.severity)}</b>
            <div>
              <p>{text}</p>
              {why && <p class="soft">{why}</p>}
            </div>
          </li>
        );
      })}
    </ul>
  );
}

/** A table with a title, if there are rows. */
const section = (title: string, rows: Rec[], sort: string, keys: string, extra?: string, wide?: string) =>
  rows.length > 0 && (
    <Panel title={title} extra={extra && <span class="soft">{extra}</span>}>
      <Records label={title.toLowerCase()} {...{ rows, sort, keys, wide }} />
    </Panel>
  );

export function Body({ h, first }: { h: NonNullable<Hta>; first?: ComponentChildren }) {
  const notes = [...((h.notes as string[]) ?? []), ...((h.failed as Rec[]) ?? []).map((f) => `${f.trace} could not be read: ${f.error}${f.offset === null ? '' : ` (byte ${f.offset})`}`)];
  const rows = (key: string): Rec[] => (h[key] as Rec[]) ?? [];
  const many = h.ranks.length > 1;
  return (
    <>
      {notes.length > 0 && <section class="losses" role="note"><ul>{notes.map((n, i) => <li key={i}>{n}</li>)}</ul></section>}
      {first}
      <Panel title={many ? `Device time of ${count(h.ranks.length)} ranks` : 'Device time'}>{many ? <Ranks ranks={h.ranks} /> : h.ranks.map((r, i) => <Rank key={i} r={r} />)}</Panel>
      {section('Stragglers', rows('stragglers'), 'late_ns', 'rank,collectives,last:Came last,late_ns:Late in all,worst_ns:Latest once,worst_step:In step', 'late: how much shorter it was in a collective than the rank that waited longest', '')}
      <Panel title="What to do"><Advice list={rows('recommendations')} /></Panel>
      {!first && <CriticalPath many={many} />}
      {section('Streams', streams(h.ranks), 'busy_ns', 'where:Stream,rank,rows,span_ns:Window,busy_ns,host_wait_ns:Waits for the host,kernel_wait_ns:Between kernels,other_ns,mean_queue,max_queue:Longest queue')}
      {section('Launches', launches(h.ranks), 'count', 'where:Rank,count:Launches,cpu_mean_ns:Mean call,cpu_p50_ns:p50,cpu_p99_ns:p99,cpu_max_ns:Longest,delay_mean_ns:Mean delay,delay_p50_ns:p50,delay_p99_ns:p99,delay_max_ns:Longest delay,short_kernels:Shorter than their launch,runtime_outliers:Slow calls,delay_outliers:Late starts')}
      {section('Launch calls', rows('launch_calls'), 'cpu_sum_ns', 'name:Call,launches,gpu_rows:Rows,cpu_sum_ns:On the CPU,cpu_mean_ns:Mean,cpu_max_ns:Longest,delay_mean_ns:Mean delay,delay_max_ns:Longest delay,gpu_sum_ns:On the device,short_kernels:Short')}
      {section('Collectives', rows('collectives'), 'sum_ns', 'collective,group,group_size:Ranks,count,sum_ns:Total,mean_ns,max_ns,bytes,algbw_gb_s:GB/s,busbw_gb_s:Bus GB/s,overlap_ns:Overlap with compute,overlap_pct:Share')}
      {section('Copies', rows('copies'), 'sum_ns', 'kind:Copy,count,sum_ns:Total,bytes,mean_gb_s:GB/s,p50_gb_s:p50,peak_gb_s:Highest')}
      {section('Steps', h.ranks.flatMap((r) => ((r.steps as Rec[]) ?? []).map((s) => ({ ...s, rank: r.rank }))), 'duration_ns', 'step,rank,duration_ns:Host time,gpu_window_ns:Device window,busy_ns,compute_ns,communication_ns,memory_ns:Copies,gpu_rows:Rows', undefined, '')}
    </>
  );
}

export function HtaView() {
  const h = useData(getHta);
  if (h === undefined) return <Loading />;
  if (!h) return <p class="loading">This trace has no device work to break down.</p>;
  return <div class="stack"><Body h={h} /></div>;
}
