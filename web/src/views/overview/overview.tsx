// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Overview: description of the trace, its peak and the cause, advice, and losses.
import { bytes, count, held, host, lasts, ns, percent, plural } from '../../data/format';
import { type Device, errorsOf, getTables, type Main, oomsOf, rowName, sizeOf } from '../../data/page';
import { drawAxis } from '../../draw/axis';
import { GROWN, ink, MEMORY } from '../../draw/colors';
import { box, face, word } from '../../draw/marks';
import { css } from '../../draw/pixels';
import { go, keep, lookAll, moment } from '../../state';
import { Bars } from '../../ui/bars';
import { Canvas, type Surface } from '../../ui/canvas';
import { Minimap, strip, wipe } from '../../ui/minimap';
import { Facts as Pairs, Figure, Panel, useData } from '../../ui/parts';
import { px } from '../../ui/scale';
import { drawScale, left, RED } from '../memory/chart';
import { brief, by, colorsOf, device, focus, pane } from '../memory/scene';

const CURVE = 128; // intervals of a device's small curve

/** Opens the memory view of the whole trace at a moment, with its grouping and a highlighted group. */
function toMemory(t: number | null, how = '', one = '', below = ''): void {
  moment.value = t;
  by.value = how;
  focus.value = one;
  pane.value = below;
  lookAll();
  go('memory');
}

function curve(main: Main) {
  const d = main.devices[main.device];
  return (s: Surface) => {
    const c = ink();
    const { ctx, height } = s;
    const from = left();
    const width = s.width - from;
    wipe(s);
    const ooms = main.marks.filter((m) => m.kind === 'oom' && m.device === main.device);
    const top = px(ooms.length ? 50 : 34);
    drawScale(s, d.peak, (v) => height - (v / (d.peak || 1)) * (height - top), top, c);
    ctx.translate(from, 0);
    drawAxis(ctx, 0, width, height, 0, main.t_end, c);
    strip({ ctx, width, height }, main.curve, d.peak, top, height, css(MEMORY));
    const at = (t: number, color: string, text = '', y = 0) => {
      const x = Math.min(width - 2, (t / Math.max(1, main.t_end)) * width);
      const right = t > main.t_end / 2;
      box(ctx, color, x, px(18), 2, height);
      word(ctx, color === RED ? RED : c.text, text, x + (right ? -6 : 8), y, right ? 'right' : 'left');
    };
    if (moment.value !== null) at(moment.value, c.link);
    face(ctx, 12, '600');
    for (const m of ooms) at(m.t, RED, 'out of memory', px(42));
    at(d.peak_t, c.accent, `peak ${bytes(d.peak)}`, px(26));
    ctx.translate(-from, 0);
  };
}

const whys = [
  ['role', 'By role'],
  ['module', 'By module'],
  ['stack', 'By allocating code'],
  ['op', 'By op'],
  ['tensor', 'By tensor'],
] as const;

/** Live memory at the peak: by role, and by the most informative other grouping. */
function Why({ main, d }: { main: Main; d: Device }) {
  const why = main.peak_groups;
  if (!why) return null;
  const says = (k: (typeof whys)[number][0]) => why[k].some(([name]) => name[0] !== '(' && name !== 'unknown');
  const shown = whys.filter(([k]) => says(k)).slice(0, 3);
  return (
    <Panel title={`The ${bytes(d.peak)} at the peak`} extra={<span class="soft hint">click one to see its allocations</span>}>
      {shown.map(([k, title]) => {
        const colors = colorsOf(why[k].map(([name]) => name), k);
        return (
          <section key={k}>
            <h3>{title}</h3>
            <Bars
              full={d.peak}
              rows={why[k].map(([name, v, n], i) => ({ name: brief(name, k), title: name, parts: [{ size: v, color: css(colors[i]), title: `${name}: ${plural(n, 'allocation')}` }], value: bytes(v), more: percent((100 * v) / d.peak) }))}
              onPick={(n) => toMemory(d.peak_t, k, why[k][n][0])}
            />
          </section>
        );
      })}
      {!shown.length && <p class="soft">The trace has no roles, code or ops of live allocations.</p>}
    </Panel>
  );
}

/** The memory view that shows a finding best. */
const places: Record<string, [how: string, one: string, below: string]> = {
  activations: ['role', 'activation', ''],
  gradients: ['role', 'gradient', ''],
  optimizer: ['role', 'optimizer', ''],
  fragmentation: ['', '', 'map'],
  retries: ['', '', 'map'],
  empty_cache: ['', '', 'map'],
  out_of_memory: ['stack', '', ''],
};

/** Failed requests: free bytes, and the holders of the rest. */
const Ooms = ({ main }: { main: Main }) => (
  <>
    {oomsOf(main).map(({ oom, text, t }, i) => (
      <Panel key={i} title={`Out of memory at ${ns(t)}`} extra={!main.only && <button onClick={() => toMemory(t, 'stack')}>Show</button>}>
        <p>{text}{oom.by && ` Requested by ${oom.by}.`}</p>
        <div class="two oom">
          <section>
            <h3>What held the memory</h3>
            <Bars
              whole
              full={Math.max(...oom.holders.map((h) => h[1]))}
              rows={oom.holders.map(([name, size, n, enough]) => ({ name, parts: [{ size, color: css(MEMORY), title: plural(n, 'allocation') }], value: bytes(size), more: enough ? 'enough' : '' }))}
              onPick={() => toMemory(t, 'stack')}
            />
            <p class="soft">{oom.holders.some((h) => h[3]) && `Enough: freeing it would have served the request${oom.banks ? ' if contiguous' : ''}. `}<code>tidemark oom</code> says more.</p>
          </section>
          <Pairs class="facts" rows={oom.lines.map(([name, v, more]) => [<span title={more}>{name}</span>, v === null ? 'unknown' : bytes(v)])} />
        </div>
      </Panel>
    ))}
  </>
);

/* Shows a line of text with `commands` in it. */
const told = (text: string) => text.split('`').map((t, i) => (i % 2 ? <code key={i}>{t}</code> : t));

/* Returns a finding's line without the part that is in its heading. */
function plain({ what, text, view }: Main['findings'][number]): string {
  const rest = what && text.startsWith(what) ? text.slice(what.length).replace(/^\W+/, '') : text;
  return rest.replace(view === 'hta' ? / \[[^[]*\]$/ : '', '').replace(/ \(([\d.]+%)\)/, (all, n) => (what.includes(n) ? '' : all));
}

function show(main: Main, { view, id, device: d, t }: Main['findings'][number]): void {
  if (id === 'kept') {
    keep('tree').value = 'left';
    return go('flame');
  }
  if (view !== 'memory') return go(view);
  if (d && d !== main.device) device.value = String(d);
  toMemory(t, ...(places[id] ?? []));
}

function Findings({ main }: { main: Main }) {
  const list = main.findings.filter((f) => f.text);
  const none = 'No rule found a problem in this trace.';
  const few = main.allocs > 0 && main.steps < 3 ? ' It has too few steps to tell whether memory grows from one to the next: `tidemark leaks --every 5%` looks at equal intervals.' : '';
  return (
    <>
      {!list.length && <p class="soft">{told(none + few)}</p>}
      <ul class="findings">
        {list.map((f, i) => (
          <li key={i} class={f.severity}>
            <b class="tag">{f.severity}</b>
            <div>
              {f.what && <strong>{f.what}</strong>}
              <p>{told(plain(f))}</p>
              {f.growing && f.growing.length > 0 && (
                <Bars
                  whole
                  full={Math.max(...f.growing.map((g) => g[3]))}
                  rows={f.growing.map(([name, slope, first, last, n]) => ({
                    name,
                    parts: [
                      { size: first, color: css(MEMORY), title: `${bytes(first)} after the first step` },
                      { size: last - first, color: css(GROWN), title: `${bytes(last - first)} more after the last; ${plural(n, 'allocation')}` },
                    ],
                    value: `+${bytes(slope)} per step`,
                  }))}
                  onPick={() => toMemory(f.t, 'stack')}
                />
              )}
            </div>
            {!main.only && <button onClick={() => show(main, f)}>Show</button>}
          </li>
        ))}
      </ul>
      {main.untried && <p class="soft">{told('Allocator settings were not tried: the recording has too many memory events for a page, so advice on settings and retries is missing here. `tidemark advice` tries them.')}</p>}
    </>
  );
}

function Card({ main, at }: { main: Main; at: number }) {
  const d = main.devices[at];
  const v = main.each.subarray(at * CURVE, (at + 1) * CURVE);
  const line = Array.from(v, (y, x) => `${x},${30 - (28 * y) / ((d.sampled ?? d).peak || 1)}`).join(' ');
  const curve = v.length > 0 && (
    <>
      <svg viewBox="0 0 127 30" preserveAspectRatio="none" height="34" aria-hidden="true">
        <polygon points={`0,30 ${line} 127,30`} fill={css(MEMORY)} />
      </svg>
      <small class="soft">0 to {bytes((d.sampled ?? d).peak)}, over {lasts(main.t_end)}</small>
    </>
  );
  const size = sizeOf(main, at);
  if (d.sampled) {
    const { peak, peak_t, own_peak, own_since, own_told, samples, last } = d.sampled;
    const own = own_peak !== null && own_peak > peak;
    const of = plural(samples, 'sample');
    const when = own ? `at most, between ${ns(own_since)} and ${ns(own_told)} by its own counter · ${bytes(peak)} at most in ${of}: other values in between are unknown` : `at most as sampled, at ${ns(peak_t)} · ${of} of its own counter: memory may have been higher in between`;
    return (
      <div class="figure card">
        <span class="soft">{d.device}</span>
        <b>{bytes(own ? own_peak : peak)}</b>
        <small class="soft">{`${when} · its allocations are not recorded · ${bytes(last)} at the end`}</small>
        {curve}
      </div>
    );
  }
  const facts = [`at the peak${size ? ` (${percent((100 * d.peak) / size)} of ${d.capacity ? 'its' : 'a total of'} ${bytes(size)})` : host(d) ? '' : ' (the device’s size is not recorded)'}`, `at ${ns(d.peak_t)}`, plural(d.peak_count, rowName(main, d)), held(d), `${bytes(d.live)} at the end`];
  return (
    <button
      class="figure card"
      onClick={() => {
        device.value = String(at);
        toMemory(d.peak_t);
      }}
    >
      <span class="soft">{d.device}{d.name ? ` · ${d.name}` : ''}</span>
      <b>{bytes(d.peak)}</b>
      <small class="soft">{facts.filter(Boolean).join(' · ')}</small>
      {curve}
    </button>
  );
}

function Facts({ main }: { main: Main }) {
  const started = main.wall0_ns === null ? 'unknown' : new Date(main.wall0_ns / 1e6).toISOString().replace('T', ' ').replace('Z', ' UTC');
  const process = (p: Main['processes'][0]) => [p.pid >= 0 && p.pid, p.rank >= 0 && `rank ${p.rank}`, p.command].filter((x) => x || x === 0).join(' · ') + (p.host ? ` on ${p.host}` : '');
  const idle = main.devices.filter((d, i) => i && !d.allocs && !d.sampled && (d.name || d.capacity));
  const rows: [string, string][] = [
    ['File', main.file],
    ['Format', main.format],
    ['Started', started],
    ['Spans', count(main.spans)],
    [main.heap ? 'Samples' : 'Allocations', count(main.allocs)],
    ...(idle.length ? [['No memory of', `${idle.map((d) => d.device).sort().join(', ')}${idle[0].name ? ` (${[...new Set(idle.map((d) => d.name))].join(', ')})` : ''}`] as [string, string]] : []),
    ...main.processes
      .filter((p) => p.command || p.pid > 0)
      .slice(0, 8)
      .map((p): [string, string] => ['Process', process(p)]),
  ];
  return (
    <Pairs class="facts" rows={rows} />
  );
}

/** Commands to ask next in a terminal, with the name of this file. */
function Next({ main }: { main: Main }) {
  return (
    <Panel title="More in a terminal">
      <ul class="next">
        {main.next.map((x) => (
          <li key={x.command}>
            <code>{x.command}</code> {x.answers}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

export function Overview({ main }: { main: Main }) {
  const tables = useData(getTables);
  const d = main.devices[main.device];
  const errors = errorsOf(main, d);
  const losses = main.losses.split('\n').map((l) => l.replace(/^note: /, '')).filter(Boolean);
  const rescued = losses.find((l) => l.endsWith('from its ring file'));
  const basis = losses.find((l) => l.startsWith('allocations are inferred'));
  const lost = losses.filter((l) => l !== rescued && l !== basis);
  const phase = tables?.phases.find((p) => d.peak_t >= p.t0 && d.peak_t <= p.t1 && p.name);
  const active = (label: string, v: number, none: string) => (
    <Figure label={label} value={v ? percent((100 * v) / main.total_ns) : 'none'} sub={v ? `${ns(v)} of ${ns(main.total_ns)}` : none} title="Union of its spans as a share of the trace" />
  );
  const cards = main.devices.map((_, i) => i).filter((i) => i && (main.devices[i].sampled || main.devices[i].allocs));
  const findings = (
    <Panel title="Findings">
      <Findings main={main} />
    </Panel>
  );
  return (
    <div class="stack">
      {lost.length > 0 && (
        <section class="losses" role="note">
          <h2>Some data is missing</h2>
          <ul>{lost.map((l, i) => <li key={i}>{l}</li>)}</ul>
        </section>
      )}
      {basis && <p class="details" role="note">{basis[0].toUpperCase() + basis.slice(1)}.</p>}
      {rescued && <p class="details" role="note">{rescued[0].toUpperCase() + rescued.slice(1)}.{lost.length ? '' : ' Nothing that was recorded is missing.'}</p>}
      <div class="figures">
        <Figure label={main.axis === 'ops' ? 'Covers' : 'Duration'} value={lasts(main.t_end)} sub={main.steps ? `${plural(main.steps, main.unended_step ? 'whole step' : 'step')}${main.unended_step ? ', and one whose end is not recorded' : ''}` : 'first event to last'} />
        {main.device > 0 ? (
          <>
            <Figure label={`Peak memory, ${d.device}`} value={bytes(d.peak) + (errors ? ` ± ${bytes(errors.peak_error_bytes)}` : '')} sub={`at ${ns(d.peak_t)}${phase ? ` in ${phase.name}` : ''}`} title="Highest live bytes over all moments" />
            <Figure label={main.now ? 'Alive now' : 'Still alive at the end'} value={bytes(d.live) + (errors ? ` ± ${bytes(errors.left_error_bytes)}` : '')} sub={`${plural(d.count, rowName(main, d))} not freed`} />
          </>
        ) : (
          <Figure label="Peak memory" value="unknown" sub="no allocations recorded" />
        )}
        {main.cpu_ns + main.gpu_ns > 0 && (
          <>
            {active('CPU active', main.cpu_ns, 'no CPU spans recorded')}
            {active('GPU active', main.gpu_ns, 'no device spans recorded')}
          </>
        )}
      </div>
      <Ooms main={main} />
      {main.device > 0 ? (
        <Panel
          title={`Live memory of ${d.device}`}
          extra={
            <span class="actions">
              <button onClick={() => toMemory(d.peak_t)}>Alive at the peak</button>
              <button onClick={() => toMemory(d.peak_t, '', '', 'table')}>As a table</button>
              {main.spans > 0 && (
                <button
                  onClick={() => {
                    moment.value = d.peak_t;
                    go('timeline');
                  }}
                >
                  What runs at the peak
                </button>
              )}
            </span>
          }
        >
          <div class="chart memory">
            <Canvas
              draw={curve(main)}
              height={px(150)}
              label={`Live memory over time; peak ${bytes(d.peak)} at ${ns(d.peak_t)}`}
              onClick={(e: MouseEvent) => toMemory(Math.round((Math.max(0, e.offsetX - left()) / ((e.currentTarget as HTMLElement).clientWidth - left())) * main.t_end))}
            />
          </div>
        </Panel>
      ) : (
        <Minimap main={main} />
      )}
      <div class="two late">
        <div class="stack">
          {main.device > 0 ? <Why main={main} d={d} /> : findings}
          {cards.length > 0 && (
            <Panel title="Devices">
              <div class="figures">{cards.map((i) => <Card key={i} main={main} at={i} />)}</div>
            </Panel>
          )}
        </div>
        <div class="stack">
          {main.device > 0 && findings}
          <Panel title="This trace">
            <Facts main={main} />
          </Panel>
          <Next main={main} />
        </div>
      </div>
    </div>
  );
}
