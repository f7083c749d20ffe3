// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Ops: nesting, time, counts and memory changes, as a tree and by name.
import { useMemo, useState } from 'preact/hooks';
import { bytes, count, delta, ns, percent } from '../../data/format';
import { childrenOf, hotPath, matching, type ModuleRow, type OpTree, sameRows, visible } from '../../data/optree';
import { getOps, getSpans, type OpRow } from '../../data/page';
import { most } from '../../data/sums';
import { go, keep, query, span } from '../../state';
import { Kept, Loading, Panel, Search, useData } from '../../ui/parts';
import { px } from '../../ui/scale';
import { col, Pad, rowKey, Table } from '../../ui/table';

const shape = keep('ops');
const TALL = 620;

/** Buttons that open another view for a name. */
export function Follow({ name }: { name: string }) {
  const to = (view: string) => () => {
    query.value = name;
    go(view);
  };
  return (
    <span class="actions" id="follow">
      <b class="cut" title={name}>{name}</b>
      <button onClick={to('timeline')}>On the timeline</button>
      <button onClick={to('flame')}>In the flame graph</button>
    </span>
  );
}

/** Columns: title, value of a node, text, and the member of a row by name. */
const figures: [string, (t: OpTree, i: number) => number, (v: number) => string, number][] = [
  ['Self', (t, i) => t.self[i], ns, 3],
  ['Wall', (t, i) => t.wall[i], ns, 2],
  ['Count', (t, i) => t.count[i], count, 1],
  ['Allocated', (t, i) => t.alloc[i], bytes, 4],
  ['Freed', (t, i) => t.free[i], bytes, 5],
  ['Change', (t, i) => t.alloc[i] - t.free[i], delta, 6],
  ['Transient peak', (t, i) => t.peak[i], bytes, 7],
];

/** Keeps a set of rows of a tree; when the trace grows, the same rows of the new tree. */
function useRows(t: OpTree, ...first: number[]): [Set<number>, (rows: Set<number>) => void] {
  const [kept, set] = useState({ of: t, rows: new Set(first) });
  const rows = useMemo(() => (kept.of === t ? kept.rows : sameRows(kept.of, kept.rows, t)), [t, kept]);
  return [rows, (now) => set({ of: t, rows: now })];
}

function Tree({ t, onPick }: { t: OpTree; onPick: (name: string) => void }) {
  const [by, setBy] = useState(1);
  const kids = useMemo(() => childrenOf(t, (i) => figures[by][1](t, i)), [t, by]);
  const hot = useMemo(() => hotPath(t, kids), [t, kids]);
  const [open, setOpen] = useRows(t, 0);
  const [picked, setPicked] = useRows(t);
  const pick = (i: number) => {
    setPicked(new Set([i]));
    onPick(t.names[t.name[i]]);
  };
  const [find, setFind] = useState('');
  const [top, setTop] = useState(0);
  const found = useMemo(() => (find ? matching(t, find) : undefined), [t, find]);
  const rows = useMemo(() => visible(t, kids, found ? (i) => found.around.has(i) : (i) => open.has(i), found?.shown), [t, kids, open, found]);
  const high = px(26);
  const first = Math.max(0, Math.floor(top / high) - 8);
  const last = Math.min(rows.length, first + Math.ceil(px(TALL) / high) + 16);
  const whole = t.wall[0] || 1;
  const toggle = (i: number) => {
    const next = new Set(open);
    if (!next.delete(i)) next.add(i);
    setOpen(next);
  };
  const key = (e: KeyboardEvent, i: number) => {
    if (e.key === 'ArrowRight' || e.key === 'ArrowLeft') {
      if (open.has(i) === (e.key === 'ArrowLeft')) toggle(i);
      e.preventDefault();
    } else rowKey(e, () => pick(i));
  };
  return (
    <section class="table">
      <div class="tablebar">
        <Search label="Filter op tree" hint="Filter…" value={find} set={setFind} />
        <button onClick={() => setOpen(new Set([0, ...hot]))} title="Open the heaviest ops, down to the end">Hot path</button>
        <button onClick={() => setOpen(new Set([0]))}>Close all</button>
        <span class="soft">
          {found ? `${count(found.hits)} match` : `${count(t.n - 1)} nodes`}
          {t.folded ? ` · ${count(t.folded)} small ones put together` : ''}
        </span>
      </div>
      <div class="scroll" style={{ maxHeight: `${px(TALL)}px` }} onScroll={(e) => setTop(e.currentTarget.scrollTop)}>
        <table aria-label="op tree" role="treegrid">
          <thead>
            <tr>
              <th class="left"><button disabled>Op</button></th>
              {figures.map(([title], i) => (
                <th key={title} aria-sort={i === by ? 'descending' : 'none'}>
                  <button onClick={() => setBy(i)}>{title}{i === by ? ' ▼' : ''}</button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <Pad rows={first} high={high} />
            {rows.slice(first, last).map((i) => (
              <tr key={i} tabIndex={0} aria-level={t.depth[i]} aria-expanded={kids[i].length ? open.has(i) : undefined} class={`${hot.has(i) ? 'hot ' : ''}${picked.has(i) ? 'picked' : ''}`} onClick={() => pick(i)} onKeyDown={(e) => key(e, i)}>
                <td class="left" title={t.names[t.name[i]]}>
                  <i class="indent" style={{ width: `${px((t.depth[i] - 1) * 14)}px` }} />
                  <button
                    class="twist"
                    aria-label="Open or close"
                    disabled={!kids[i].length}
                    onClick={(e) => {
                      e.stopPropagation();
                      toggle(i);
                    }}
                  >
                    {kids[i].length ? (found || open.has(i) ? '▾' : '▸') : '·'}
                  </button>
                  <span>{t.names[t.name[i]] || '[small ones together]'}</span>
                </td>
                {figures.map(([title, value, text], c) => (
                  <td key={title}>
                    {c === 1 && <i class="bar" style={{ width: `${Math.min(100, (100 * t.wall[i]) / whole)}%` }} />}
                    <span>{text(value(t, i))}{c === 1 ? <small class="soft"> {percent((100 * t.wall[i]) / whole)}</small> : null}</span>
                  </td>
                ))}
              </tr>
            ))}
            <Pad rows={rows.length - last} high={high} />
          </tbody>
        </table>
        {rows.length === 0 && <p class="soft empty">Nothing here{find ? ' matches the filter' : ''}.</p>}
      </div>
    </section>
  );
}

/** Modules as the model calls them. A backward op counts for those around its forward op. */
function Modules({ rows, all, onPick, picked }: { rows: ModuleRow[]; all: number; onPick: (name: string) => void; picked: string }) {
  const time = (r: ModuleRow) => r[2] + r[3] + r[7];
  const high = most(rows, time);
  const again = rows.some((r) => r[7] > 0); // activation checkpointing
  const name = (r: ModuleRow) => `nn.Module: ${r[0]}`;
  return (
    <Table
      label="modules"
      rows={rows}
      height={TALL}
      note={rows.length < all ? `the first ${count(rows.length)} of ${count(all)}` : 'all figures include nested modules'}
      onPick={(r) => onPick(name(r))}
      picked={(r) => name(r) === picked}
      cols={[
        col('Module', (r: ModuleRow) => r[0], undefined, { wide: true }),
        col('Calls', (r: ModuleRow) => r[1], count),
        col('Time', time, ns, { bar: (r) => time(r) / high }),
        col('Forward', (r: ModuleRow) => r[2], ns),
        col('Backward', (r: ModuleRow) => r[3], ns),
        ...(again ? [col('Recompute', (r: ModuleRow) => r[7], ns), col('Recompute allocates', (r: ModuleRow) => r[8], bytes)] : []),
        col('Forward allocates', (r: ModuleRow) => r[4], bytes),
        col('Backward allocates', (r: ModuleRow) => r[5], bytes),
        col('Backward ops', (r: ModuleRow) => r[6], count),
      ]}
    />
  );
}

const titles: Record<string, string> = { tree: 'Ops by enclosing op', modules: 'Modules, in the order of their first calls' };

export function Ops() {
  const t = useData(getOps);
  const s = getSpans.now?.();
  const [name, setName] = useState(s && span.value !== null && span.value < s.n ? s.names[s.name[span.value]] : '');
  if (!t) return <Loading />;
  const high = most(t.ops, (r) => r[3]);
  const shapes: [string, string][] = [['table', 'By name'], ['tree', 'Tree']];
  if (t.modules.length) shapes.push(['modules', 'Modules']);
  return (
    <Panel
      title={titles[shape.value] ?? 'Ops by name'}
      extra={
        <>
          {name ? <Follow name={name} /> : <span class="soft hint">Click a row to open its op in the timeline or the flame graph</span>}
          <Kept label="Shape" of={shape} options={shapes} />
        </>
      }
    >
      {shape.value === 'modules' ? (
        <Modules rows={t.modules} all={t.modules_in_all} picked={name} onPick={setName} />
      ) : shape.value === 'tree' ? (
        <Tree t={t.tree} onPick={setName} />
      ) : (
        <Table
          label="ops"
          rows={t.ops}
          sort="Self"
          height={TALL}
          note={t.ops.length < t.ops_in_all ? `the ${count(t.ops.length)} with most self time of ${count(t.ops_in_all)} names` : undefined}
          onPick={(r) => setName(r[0])}
          picked={(r) => r[0] === name}
          cols={[
            col('Op', (r: OpRow) => r[0], undefined, { wide: true }),
            ...figures.map(([title, , text, at]) => col<OpRow>(title, (r) => r[at] as number, text, at === 3 ? { bar: (r) => r[3] / high } : {})),
          ]}
        />
      )}
    </Panel>
  );
}
