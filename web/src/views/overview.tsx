// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// What this trace is, where its peak is and why, what to do, and what is not in it.
import { bytes, count, ns } from '../data/format';
import { getTables, type Main } from '../data/page';
import { ink } from '../draw/colors';
import { drawAxis } from '../draw/axis';
import { go as show, lookAll, moment, type View } from '../state';
import { Canvas, type Surface } from '../ui/canvas';
import { Figure, Panel, useData } from '../ui/parts';

const go = (v: View, t?: number) => {
  if (t !== undefined) moment.value = t;
  show(v);
};

function curve(main: Main) {
  const d = main.devices[main.device];
  return (s: Surface) => {
    const c = ink();
    const css = getComputedStyle(document.documentElement);
    s.ctx.fillStyle = css.getPropertyValue('--panel');
    s.ctx.fillRect(0, 0, s.width, s.height);
    drawAxis(s.ctx, 0, s.width, s.height, 0, main.t_end, c);
    const y = (v: number) => s.height - 4 - (v / (d.peak || 1)) * (s.height - 40);
    s.ctx.fillStyle = '#3b7dc4';
    s.ctx.beginPath();
    s.ctx.moveTo(0, s.height);
    const n = main.curve.length;
    for (let i = 0; i < n; i++) {
      s.ctx.lineTo((i / n) * s.width, y(main.curve[i]));
      s.ctx.lineTo(((i + 1) / n) * s.width, y(main.curve[i]));
    }
    s.ctx.lineTo(s.width, s.height);
    s.ctx.fill();
    const x = (d.peak_t / Math.max(1, main.t_end)) * s.width;
    s.ctx.strokeStyle = c.accent;
    s.ctx.beginPath();
    s.ctx.moveTo(x, 18);
    s.ctx.lineTo(x, s.height);
    s.ctx.stroke();
    s.ctx.fillStyle = c.text;
    s.ctx.font = '600 12px system-ui, sans-serif';
    s.ctx.textAlign = x > s.width / 2 ? 'right' : 'left';
    s.ctx.fillText(`peak ${bytes(d.peak)} at ${ns(d.peak_t)}`, x + (x > s.width / 2 ? -6 : 6), 26);
    s.ctx.textAlign = 'left';
  };
}

function Facts({ main }: { main: Main }) {
  const started = main.wall0_ns === null ? 'unknown' : new Date(main.wall0_ns / 1e6).toISOString().replace('T', ' ').replace('Z', ' UTC');
  const rows: [string, string][] = [
    ['File', main.file],
    ['Format', main.format],
    ['Started', started],
    ['Spans', count(main.spans)],
    ['Allocations', count(main.allocs)],
    ...main.processes
      .filter((p) => p.command || p.pid > 0)
      .slice(0, 8)
      .map((p): [string, string] => ['Process', `${p.pid}${p.rank >= 0 ? ` · rank ${p.rank}` : ''}${p.command ? ` · ${p.command}` : ''}${p.host ? ` on ${p.host}` : ''}`]),
    ...main.devices
      .slice(1)
      .filter((d) => d.allocs || d.name)
      .map((d): [string, string] => ['Device', `${d.device}${d.name ? ` · ${d.name}` : ''}${d.capacity ? ` · ${bytes(d.capacity)}` : ''}`]),
  ];
  return (
    <dl class="facts">
      {rows.map(([k, v], i) => (
        <div key={i}>
          <dt>{k}</dt>
          <dd>{v}</dd>
        </div>
      ))}
    </dl>
  );
}

function Findings({ main }: { main: Main }) {
  const list = main.findings.filter((f) => f.text);
  if (!list.length) return <p class="soft">No rule found anything worth a word in this trace.</p>;
  return (
    <ul class="findings">
      {list.map((f, i) => (
        <li key={i} class={f.severity}>
          <b class="tag">{f.severity}</b>
          <div>
            {f.what && <strong>{f.what}</strong>}
            <p>{f.text}</p>
          </div>
          <button onClick={() => go(f.view as View)}>Show</button>
        </li>
      ))}
    </ul>
  );
}

export function Overview({ main }: { main: Main }) {
  const tables = useData(getTables);
  const d = main.devices[main.device];
  const losses = main.losses.split('\n').map((l) => l.replace(/^note: /, '')).filter(Boolean);
  const phase = tables?.phases.find((p) => d.peak_t >= p.t0 && d.peak_t <= p.t1 && p.name);
  const pct = (v: number) => (main.total_ns ? `${((100 * v) / main.total_ns).toFixed(1)} % of ${ns(main.total_ns)}` : undefined);
  return (
    <div class="stack">
      {losses.length > 0 && (
        <section class="losses" role="note">
          <h2>Not everything is here</h2>
          <ul>{losses.map((l, i) => <li key={i}>{l}</li>)}</ul>
        </section>
      )}
      <div class="figures">
        <Figure label="Duration" value={ns(main.t_end)} />
        {main.device > 0 && <Figure label={`Peak memory, ${d.device}`} value={bytes(d.peak)} sub={`at ${ns(d.peak_t)}${phase ? ` in ${phase.name}` : ''}`} title="Highest live bytes over all moments" />}
        {main.device > 0 && <Figure label="Alive at the peak" value={count(d.peak_count)} sub="allocations" />}
        {main.device > 0 && <Figure label="Still alive at the end" value={bytes(d.live)} sub={d.count === 1 ? '1 allocation' : `${count(d.count)} allocations`} />}
        {d.reserved_peak !== null && <Figure label="Reserved, highest" value={bytes(d.reserved_peak)} sub={d.capacity ? `of ${bytes(d.capacity)}` : undefined} />}
        <Figure label="CPU active" value={main.cpu_ns ? ns(main.cpu_ns) : 'none'} sub={main.cpu_ns ? pct(main.cpu_ns) : 'no CPU spans recorded'} title="Union of all CPU spans" />
        <Figure label="GPU active" value={main.gpu_ns ? ns(main.gpu_ns) : 'none'} sub={main.gpu_ns ? pct(main.gpu_ns) : 'no device spans recorded'} title="Union of all device spans" />
      </div>
      {main.device > 0 && (
        <Panel
          title={`Live memory of ${d.device}`}
          extra={
            <span class="actions">
              <button
                onClick={() => {
                  lookAll();
                  go('memory', d.peak_t);
                }}
              >
                What is alive at the peak
              </button>
              <button onClick={() => go('timeline', d.peak_t)}>What runs at the peak</button>
            </span>
          }
        >
          <div class="chart">
            <Canvas draw={curve(main)} height={170} label={`Live memory over time; peak ${bytes(d.peak)} at ${ns(d.peak_t)}`} />
          </div>
        </Panel>
      )}
      <div class="two">
        <Panel title="Findings">
          <Findings main={main} />
        </Panel>
        <Panel title="This trace">
          <Facts main={main} />
        </Panel>
      </div>
    </div>
  );
}
