// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The critical path: bounding resources of the step, time by span, and the path itself over time.
// The figures are the document of `tidemark critical-path --json`.
import { useState } from 'preact/hooks';
import { count, ns } from '../../data/format';
import { type Critical, getCritical, getPage, getSpans } from '../../data/page';
import { traceNumber } from '../../data/section';
import { spanNamed } from '../../data/spans';
import { most, same } from '../../data/sums';
import type { ComponentChildren } from 'preact';
import { boundColors, typeColors } from '../../draw/colors';
import { go, lookAround, moment, span } from '../../state';
import { Choice, Legend, Panel, useData } from '../../ui/parts';
import { col, Table } from '../../ui/table';
import { Bar, legend } from './hta';
import { type Rec, Records } from '../common/tables';

const words = (s: unknown) => String(s).replaceAll('_', ' ').replace('gpu kernel kernel overhead', 'gap between kernels');

/** Functions that a server replaces: it finds a span among many, and computes a path on request. */
export const asked = {
  span: async (name: string, t0: number, t1: number): Promise<number> => spanNamed(await getSpans(), name, t0, t1),
  path: (why: string, whose: string): ComponentChildren => <Panel title={`Critical path${whose}`}><p class="soft">Not found: {why}.</p></Panel>,
};

/** Shows an edge of the path on the timeline: its time, and its span if it is found. */
async function follow(t0: number, dur: number, name: string): Promise<void> {
  lookAround(t0, t0 + dur);
  moment.value = t0;
  const found = await asked.span(name, t0, t0 + dur);
  span.value = found < 0 ? null : found;
  go('timeline');
}

function PathTable({ c }: { c: Critical }) {
  const rows = Array.from({ length: c.t0.length }, (_, i) => i);
  const high = most(c.dur, same);
  return (
    <Table
      label="critical path"
      rows={rows}
      sort="At"
      ascending
      height={340}
      note={c.json.path_left_out ? `${count(c.json.path_left_out)} shorter edges, ${ns(c.json.path_left_out_ns)} together, are not in the page` : undefined}
      onPick={(i) => void follow(c.t0[i], c.dur[i], c.json.names[c.name[i]])}
      cols={[
        col('At', (i: number) => c.t0[i], ns),
        col('Time', (i: number) => c.dur[i], ns, { bar: (i: number) => c.dur[i] / high }),
        col('Edge', (i: number) => words(c.json.types[c.type[i]])),
        col('Bound by', (i: number) => words(c.json.bounds[c.bound[i]])),
        col('Charged to', (i: number) => c.json.names[c.name[i]], undefined, { wide: true }),
      ]}
    />
  );
}

export function CriticalPath({ many }: { many: boolean }) {
  const c = useData(getCritical);
  const page = useData(getPage);
  if (!c) return null;
  const whose = many ? `, ${page?.traces[traceNumber()]?.title ?? ''}` : '';
  return c.json.found ? <Path c={c} whose={whose} /> : asked.path(c.json.why ?? 'the reason is unknown', whose);
}

export function Path({ c, whose }: { c: Critical; whose: string }) {
  const [shown, show] = useState<'top' | 'path'>('top');
  const d = c.json;
  const bounds = (d.bound_by as Rec[]).map((b) => ({ name: words(b.bound), color: boundColors[String(b.bound)] ?? typeColors.other, ns: Number(b.time_ns) }));
  return (
    <Panel title={`Critical path of ${d.annotation ? `the first ${d.annotation}` : 'the whole trace'}${whose}`} extra={<Choice label="Show" value={shown} options={[['top', 'Where the time is'], ['path', 'The path']]} onPick={show} />}>
      <p class="soft">
        Window {ns(d.window_ns)}, path {ns(d.path_ns)}: {count(d.path_nodes)} of {count(d.nodes)} moments. Only work on this path determines the length of the step.{d.path_ns < d.window_ns && ` For the other ${ns(d.window_ns - d.path_ns)} nothing is recorded on the path, or the path waits for earlier work.`}
      </p>
      <Bar slices={bounds} whole={d.path_ns} />
      <Legend items={legend(bounds, d.path_ns)} />
      {shown === 'path' ? (
        <PathTable c={c} />
      ) : (
        <Records label="on the critical path" rows={(d.top as Rec[]).map((r) => ({ ...r, bound: words(r.bound) }))} sort="time_ns" height={300} keys="name,bound:Bound by,edges,time_ns,pct:%" />
      )}
    </Panel>
  );
}
