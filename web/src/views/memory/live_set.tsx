// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Live allocations at a moment: one by one, or in groups; and the details of one of them.
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { bytes, count, exact, lasts, ns, percent, plural } from '../../data/format';
import { type By, type Group, grouped, keyOf } from '../../data/levels';
import { faceText, stackFrames } from '../../data/calls';
import { liveSetAt, madeUnder, type Memory, moduleText, opPath, type Position } from '../../data/memory';
import { type Main, rowName } from '../../data/page';
import { most, sum } from '../../data/sums';
import { alloc, go, keep, look, lookAround, moment, under, views } from '../../state';
import { Choice, Facts, Panel } from '../../ui/parts';
import { type Col, col, Table } from '../../ui/table';
import { brief, focus, focusOf, type Scene, waysOf } from './scene';

const how = signal<By | 'each'>('each');
const within = signal<{ by: By; key: number; label: string } | null>(null);
const waysFor = (sc: Scene): readonly (readonly [By | 'each', string])[] => [['each', 'One by one'], ...waysOf(sc.main, sc.m), ['size', 'Size']];

/** Scrolls the list of frames to the one that represents the stack. */
const toSight = (e: HTMLLIElement | null) => {
  const list = e?.parentElement;
  if (list) list.scrollTop = e.offsetTop - list.offsetTop - list.clientHeight / 2;
};

/** The details of one allocation. */
export function Chosen({ m, main, where }: { m: Memory; main: Main; where?: string }) {
  const row = alloc.value;
  if (row === null || row < 0 || row >= m.n) return null;
  const frames = stackFrames(m, m.stack[row]);
  const face = faceText(m, m.face[row]);
  const pool = m.json.pools[m.pool[row]];
  const facts: (false | [string, string])[] = [
    ['Role', m.json.roles[m.role[row]]],
    ['Asked for', bytes(m.size[row] - m.slack[row])],
    ['Pool', `${main.devices[pool.device]?.device ?? ''} ${pool.name}`],
    !!where && ['Address', where],
    ['Born', m.flags[row] & 1 ? 'before the recording' : exact(m.born[row])],
    ['Died', m.died[row] === Infinity ? 'never' : exact(m.died[row])],
    ['Op', opPath(m, m.op[row]) || '–'],
    m.json.modules && ['Module', moduleText(m, m.module[row]) || '–'],
  ];
  return (
    <div class="details" id="chosen" aria-label="The selected allocation">
      <h3>{bytes(m.size[row])}{m.tensor[row] ? ` · ${m.json.tensors[m.tensor[row]]}` : ''}</h3>
      <Facts rows={facts} />
      <p class="crumbs">
        <button onClick={() => look(m.born[row] - 1, Math.min(m.died[row], main.t_end) + 1)}>Show its lifetime</button>
        {views.value.includes('timeline') && (
          <button
            onClick={() => {
              moment.value = m.born[row];
              lookAround(m.born[row], m.born[row] + Math.max(1000, main.t_end / 500));
              go('timeline');
            }}
          >
            Work at its allocation
          </button>
        )}
        {views.value.includes('flame') && (frames.length > 0 || m.op[row] > 0) && (
          <button
            onClick={() => {
              under.value = (frames.length ? [...frames].reverse() : opPath(m, m.op[row]).split(' / ')).join('\n');
              keep('tree').value = 'allocated';
              keep('node').value = keep('mode').value = '';
              go('flame');
            }}
          >
            In the flame graph
          </button>
        )}
        <button onClick={() => (alloc.value = null)}>Close</button>
      </p>
      {frames.length ? <ol class="frames">{frames.map((f, i) => (f === face ? <li key={i} ref={toSight}><b>{f}</b></li> : <li key={i}>{f}</li>))}</ol> : <p class="soft">No call stack was recorded with it.</p>}
    </div>
  );
}

function each(m: Memory, rows: readonly number[]): Col<number>[] {
  const high = most(rows, (r) => m.size[r]);
  const any = (v: ArrayLike<number>) => rows.some((r) => v[r]);
  const wide = { wide: true };
  const opOf = (r: number) => opPath(m, m.op[r]) || (m.flags[r] & 1 ? '(before the recording)' : '–');
  const cols: (Col<number> | false)[] = [
    col('Size', (r) => m.size[r], bytes, { bar: (r) => m.size[r] / high }),
    col('Role', (r) => m.json.roles[m.role[r]]),
    m.json.modules && col('Module', (r) => moduleText(m, m.module[r]) || '–'),
    any(m.tensor) && col('Tensor', (r) => m.json.tensors[m.tensor[r]] || '–', undefined, wide),
    col('Op that made it', opOf, undefined, { wide: true, text: (r) => brief(opOf(r), 'op') }),
    any(m.stack) && col('Code that made it', (r) => faceText(m, m.face[r]), undefined, wide),
    col('Pool', (r) => m.json.pools[m.pool[r]].name),
    col('Born', (r) => m.born[r], ns),
    col('Lives', (r) => m.died[r] - m.born[r], (v) => (v === Infinity ? 'to the end' : lasts(v))),
  ];
  return cols.filter((c) => c !== false);
}

function Groups({ m, rows, by, title, devices }: { m: Memory; rows: readonly number[]; by: By; title: string; devices: readonly string[] }) {
  const groups = useMemo(() => grouped(m, rows, by, devices), [m, rows, by]);
  const all = sum(groups, (g) => g.bytes) || 1;
  const high = most(groups, (g) => g.bytes);
  const cols: Col<Group>[] = [
    col(title, (g) => g.label, undefined, { wide: true }),
    col('Bytes', (g) => g.bytes, bytes, { bar: (g) => g.bytes / high }),
    col('Part', (g) => (100 * g.bytes) / all, percent),
    col('Allocations', (g) => g.count, count),
    col('Asked for', (g) => g.asked, bytes),
    col('Largest', (g) => g.largest, bytes),
  ];
  return (
    <Table
      label="groups alive"
      rows={groups}
      sort="Bytes"
      height={420}
      onPick={(g) => {
        within.value = { by, key: g.key, label: g.label };
        how.value = 'each';
      }}
      cols={cols}
    />
  );
}

export function LiveSet({ sc, position }: { sc: Scene; position: Position }) {
  const m = sc.m;
  const devices = sc.main.devices.map((d) => d.device);
  const all = useMemo(() => Array.from(position === sc.peak ? sc.atPeak : liveSetAt(m, position, sc.place)), [m, position.events, sc.place]);
  const hows = waysFor(sc);
  const as = hows.find(([k]) => k === how.value) ?? hows[0];
  const one = focusOf(sc.g);
  const w = within.value;
  const path = under.value;
  const made = useMemo(() => (path ? madeUnder(m, path.split('\n')) : null), [m, path]);
  const rows = useMemo(() => {
    const key = w && keyOf(m, w.by);
    return all.filter((r) => (one < 0 || sc.g.of[r] === one) && (!w || key!.of(r) === w.key) && (!made || made(r)));
  }, [all, one, sc.g, w, made]);
  const held = sum(rows, (r) => m.size[r]);
  return (
    <Panel
      title={`Alive at ${ns(position.t)}: ${bytes(held)} in ${plural(rows.length, rowName(sc.main, sc.main.devices[sc.dev]))}${position.exact ? ' (the peak)' : ''}`}
      extra={<Choice label="Show" value={as[0]} options={hows} onPick={(v) => (how.value = v)} />}
    >
      <p class="crumbs" id="alive" data-bytes={held} data-count={rows.length}>
        {one >= 0 && <button onClick={() => (focus.value = '')}>{sc.g.labels[one]} ✕</button>}
        {w && <button onClick={() => (within.value = null)}>{w.label} ✕</button>}
        {path && <button title={path} onClick={() => (under.value = '')}>made under {brief(path.split('\n').pop()!, 'stack')} ✕</button>}
      </p>
      {as[0] === 'each' ? (
        <Table label="allocations alive" rows={rows} sort="Size" height={420} onPick={(r) => (alloc.value = r)} picked={(r) => r === alloc.value} cols={each(m, rows)} />
      ) : (
        <Groups m={m} rows={rows} by={as[0]} title={as[1]} devices={devices} />
      )}
    </Panel>
  );
}
