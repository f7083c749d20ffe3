// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Flame graphs: time and bytes by path, as a graph or as a sandwich of one function.
import { signal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type Change, changeOf, type Func, functions, isMixed, isPython, matched, nameOf, nodeAt, type Order, pathOf, pythonOnly, readDiffTree, readTree, sandwich, type Sides, type Tree, type TreeName, type Width } from '../../data/flame';
import { bytes, count, delta, ns, percent, plural } from '../../data/format';
import { getDiffFlame, getFlame, getSpans, type Main } from '../../data/page';
import { served } from '../../data/source';
import { placeOf } from '../../data/spans';
import { css } from '../../draw/pixels';
import { frame, go, keep, moment, query, span, under, views } from '../../state';
import { Canvas } from '../../ui/canvas';
import { Choice, Fold, Kept, Legend, Loading, Search, useData } from '../../ui/parts';
import { col, Table } from '../../ui/table';
import { pointed, Tip } from '../../ui/tip';
import { inside, useKeys } from '../../ui/travel';
import { framePath } from '../timeline/panel';
import { type Box, boxAt, boxes, brief, changeColors, drawFlame, levelAt, rowHigh } from './draw';

const kind = keep('tree');
const order = keep('order');
const up = keep('up');
const mode = keep('mode');
const zoomed = keep('node');
const chosen = keep('fn');
const width = keep('width');
const frames = keep('frames');
const cursor = signal(-1);
const hover = pointed<{ x: number; y: number; tree: Tree; node: number }>();

const titles: Record<TreeName, string> = { cpu: 'CPU time', gpu: 'GPU time', memory: 'Memory at the peak', allocated: 'Memory allocated', left: 'Not freed' };
const base: Record<TreeName, number> = { cpu: 0x4c8fd6, gpu: 0x1f9e89, memory: 0xe09f3e, allocated: 0xc9a227, left: 0xc4682f };
const keys = Object.keys(titles) as TreeName[];
const NARROW = 0.004; // share of the width from which on a frame can be seen and pressed
const changes: Change[] = ['grown', 'shrunk', 'new', 'gone', 'same'];

/** Formats an exact number, digits in groups of 3. */
const whole = (t: Tree, v: number) => `${count(v)} ${t.bytes ? 'B' : 'ns'}`;
const writer = (t: Tree) => (t.bytes ? bytes : ns);
const share = (part: number, of: number) => percent((100 * part) / (of || 1));

function SideLines({ t, s, node }: { t: Tree; s: Sides; node: number }) {
  const w = writer(t);
  const [a, b] = [0, 1].map((k) => s.total[k][node]);
  return (
    <>
      {['A', 'B'].map((x, k) => <span key={x}>{x} {w(s.total[k][node])} · {count(s.count[k][node])} {t.bytes ? 'allocations' : 'calls'}, itself {w(s.self[k][node])}</span>)}
      <span><b>{(b > a ? '+' : '') + w(b - a)}</b>{a ? ` (${b > a ? '+' : ''}${percent((100 * (b - a)) / a)})` : ''} · {changeOf(s, node)}</span>
    </>
  );
}

function Lines({ t, node }: { t: Tree; node: number }) {
  if (t.sides) return <SideLines t={t} s={t.sides} node={node} />;
  const w = writer(t);
  return (
    <>
      <span>{w(t.total[node])} ({whole(t, t.total[node])})</span>
      <span>{share(t.total[node], t.total[0])} of all{node ? ` · ${share(t.total[node], t.total[t.parent[node]])} of its parent` : ''}</span>
      <span>itself {w(t.self[node])} ({whole(t, t.self[node])}) · {count(t.count[node])} {t.bytes ? 'allocations' : 'times'}</span>
    </>
  );
}

function Hover() {
  const h = hover.value;
  if (!h || h.node >= h.tree.n) return null;
  return (
    <Tip at={h}>
      <b>{nameOf(h.tree, h.node)}</b>
      <Lines t={h.tree} node={h.node} />
    </Tip>
  );
}

interface GraphProps {
  t: Tree;
  at: number;
  color: number;
  flip: boolean;
  hit?: Uint8Array;
  matches?: readonly number[]; // nodes that the search matches
  label: string;
  mark?: number;
  onPick: (node: number, e: MouseEvent) => void;
}

/** Draws one tree. */
function Graph({ t, at, color, flip, hit, matches, label, mark, onPick }: GraphProps) {
  const seen = useRef<Box[]>([]);
  const height = (t.deepest + 1) * rowHigh() + 2;
  const nodeAt = (e: MouseEvent): number => {
    const [x, y] = inside(e);
    return boxAt(seen.current, x, levelAt(flip, y, height))?.node ?? -1;
  };
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (frame.current) frame.current.scrollTop = flip ? frame.current.scrollHeight : 0;
  }, [t, flip]);
  useEffect(() => { // the row of the frame under the cursor
    const box = frame.current;
    if (!box || mark === undefined || mark < 0) return;
    const y = flip ? height - (t.depth[mark] + 1) * rowHigh() : t.depth[mark] * rowHigh();
    if (y < box.scrollTop || y + rowHigh() > box.scrollTop + box.clientHeight) box.scrollTop = y - box.clientHeight / 2;
  }, [mark]);
  return (
    <div class="chart flame" ref={frame}>
      <Canvas
        height={height}
        label={label}
        draw={(s) => {
          seen.current = boxes(t, at, s.width);
          drawFlame(s, t, seen.current, { color, at, up: flip, hit, matches, cursor: mark });
        }}
        onClick={(e) => {
          const n = nodeAt(e);
          if (n >= 0) onPick(n, e);
        }}
        onPointerMove={(e) => {
          const n = nodeAt(e);
          hover.value = n >= 0 ? { x: e.clientX, y: e.clientY, tree: t, node: n } : null;
        }}
        onPointerLeave={() => (hover.value = null)}
      />
    </div>
  );
}

/** Returns the node that an arrow key leads to. */
export function step(t: Tree, from: number, key: string, flip: boolean): number {
  const inwards = flip ? 'ArrowUp' : 'ArrowDown';
  if (key === 'ArrowUp' || key === 'ArrowDown') return key === inwards ? (t.kids[from][0] ?? from) : t.parent[from];
  const row = t.kids[t.parent[from]];
  const at = row.indexOf(from) + (key === 'ArrowRight' ? 1 : -1);
  return from ? (row[at] ?? from) : from;
}

const look = (node: number) => {
  zoomed.value = node ? String(node) : '';
  cursor.value = node || -1;
  hover.value = null;
};

function useTreeKeys(t: Tree | undefined, at: number, flip: boolean, next?: (by: number) => void) {
  useKeys((e) => {
    if (!t) return;
    const from = cursor.value >= 0 && cursor.value < t.n ? cursor.value : at;
    if (e.key.startsWith('Arrow')) cursor.value = step(t, from, e.key, flip);
    else if (e.key === 'Enter' && (e.target as HTMLElement).tagName !== 'BUTTON') look(from);
    else if (e.key === 'Backspace') look(t.parent[at]);
    else if (e.key === 'Escape' || e.key === '0') look(0);
    else if ((e.key === 'n' || e.key === 'N') && next) next(e.key === 'n' ? 1 : -1);
    else return;
    e.preventDefault();
  });
}

function Crumbs({ t, at }: { t: Tree; at: number }) {
  if (!at) return null;
  return (
    <nav class="crumbs" aria-label="Path">
      <button onClick={() => look(0)}>All</button>
      {pathOf(t, at).map((n) => (
        <button key={n} aria-current={n === at ? 'true' : undefined} title={nameOf(t, n)} onClick={() => look(n)}>{brief(nameOf(t, n))}</button>
      ))}
    </nav>
  );
}

function Picked({ t, node }: { t: Tree; node: number }) {
  const name = nameOf(t, node);
  return (
    <section class="details" aria-label="Chosen frame">
      <h3>{name}</h3>
      <div class="facts row"><Lines t={t} node={node} /></div>
      <span class="actions">
        <button onClick={() => look(node)}>Zoom</button>
        {t.bytes && !t.sides && views.value.includes('memory') && (
          <button
            onClick={() => {
              under.value = pathOf(t, node).map((n) => nameOf(t, n)).join('\n');
              moment.value = null;
              go('memory');
            }}
          >
            In the memory view
          </button>
        )}
        {!t.sides && (
          <button
            onClick={() => {
              chosen.value = name;
              mode.value = 'sandwich';
            }}
          >
            Callers and callees
          </button>
        )}
        <button
          onClick={() => {
            query.value = name;
            go('timeline');
          }}
        >
          On the timeline
        </button>
      </span>
    </section>
  );
}

/** Shows callers above and callees below, with a list of functions beside them. */
function SandwichView({ t, color, hit }: { t: Tree; color: number; hit?: Uint8Array }) {
  const rows = useMemo(() => functions(t), [t]);
  const first = useMemo(() => rows.reduce((a, f) => (f.self > a.self ? f : a), rows[0]), [rows]);
  const f = rows.find((r) => t.names[r.name] === chosen.value) ?? first;
  const two = useMemo(() => (f ? sandwich(t, f.name) : undefined), [t, f]);
  if (!f || !two) return <p class="loading">The trace has no such data.</p>;
  const w = writer(t);
  const all = t.total[0];
  const pick = (tree: Tree) => (n: number) => (chosen.value = nameOf(tree, n));
  const shown = hit ? rows.filter((r) => hit[r.name]) : rows;
  return (
    <div class="sandwich">
      <Table
        label="functions"
        rows={shown}
        sort="Self"
        height={560}
        onPick={(r) => (chosen.value = t.names[r.name])}
        picked={(r) => r === f}
        cols={[
          col('Function', (r: Func) => t.names[r.name] || '(unnamed)', undefined, { wide: true, text: (r) => brief(t.names[r.name] || '(unnamed)') }),
          col('Self', (r: Func) => r.self, w, { bar: (r) => r.self / (all || 1) }),
          col('Total', (r: Func) => r.total, w),
          col('Count', (r: Func) => r.count, count),
        ]}
      />
      <div class="stack">
        <h3 id="slice">{t.names[f.name]}</h3>
        <p class="soft">total {w(f.total)} ({whole(t, f.total)}, {share(f.total, all)} of all) · itself {w(f.self)} · {count(f.count)} {t.bytes ? 'allocations' : 'times'}; inside itself it counts once</p>
        <h3>Callers</h3>
        <Graph t={two.callers} at={0} color={color} flip label="Callers" onPick={pick(two.callers)} />
        <h3>Callees</h3>
        <Graph t={two.callees} at={0} color={color} flip={false} label="Callees" onPick={pick(two.callees)} />
      </div>
    </div>
  );
}

function AsTable({ t, rows }: { t: Tree; rows: number[] }) {
  const w = writer(t);
  const s = t.sides;
  return (
    <Fold title="The same as a table">
      {() => <Table
        label="flame graph nodes"
        rows={rows}
        sort={s ? 'Change' : 'Self'}
        height={360}
        onPick={(i) => (cursor.value = i)}
        picked={(i) => i === cursor.value}
        cols={[
          col('Name', (i: number) => nameOf(t, i), undefined, { wide: true }),
          ...(s
            ? [col('Change', (i: number) => s.total[1][i] - s.total[0][i], t.bytes ? delta : ns), col('A', (i: number) => s.total[0][i], w), col('B', (i: number) => s.total[1][i], w), col('Status', (i: number) => changeOf(s, i))]
            : [col('Self', (i: number) => t.self[i], w, { bar: (i) => t.self[i] / (t.total[0] || 1) }), col('Total', (i: number) => t.total[i], w), col('Count', (i: number) => t.count[i], count)]),
          col('Depth', (i: number) => t.depth[i]),
        ]}
      />}
    </Fold>
  );
}

/** Returns the node of a selection made in another view: the selected span, or the stack of an allocation. */
async function follow(t: Tree, k: TreeName): Promise<number> {
  if (t.bytes) return under.value ? nodeAt(t, under.value.split('\n').filter((n) => !t.python || isPython(n))) : 0;
  const asked = frame.value;
  frame.value = null;
  if (asked) return nodeAt(t, asked);
  const i = span.value;
  if (i === null || !views.value.includes('timeline')) return 0;
  const s = getSpans.now?.() ?? (served ? null : await getSpans()); // a server may have too many to request
  if (!s || i >= s.n) return 0;
  const path = framePath(s, i, k === 'gpu');
  return nodeAt(t, k === 'gpu' ? path : [s.tracks[placeOf(s, i).track].name.replace(/ · overlap .*/, ''), ...path]);
}

/** Tree, tools and pictures. `two` = rows of two runs instead of one. */
function Flames({ trees, read, two }: { trees: TreeName[]; read: (k: TreeName) => Tree; two?: boolean }) {
  const k = trees.includes(kind.value as TreeName) ? (kind.value as TreeName) : trees[0];
  const full = useMemo(() => read(k), [k, order.value, width.value, read]);
  const mixed = useMemo(() => !two && order.value !== 'time' && isMixed(full), [full]);
  const t = useMemo(() => (mixed && frames.value !== 'all' ? pythonOnly(full) : full), [full, mixed, frames.value]);
  const rows = useMemo(() => Array.from({ length: t.n - 1 }, (_, i) => i + 1), [t]);
  const find = query.value.toLowerCase();
  const named = useMemo(() => (find ? Uint8Array.from(t.names, (n) => (n.toLowerCase().includes(find) ? 1 : 0)) : undefined), [t, find]);
  const matches = useMemo(() => (named ? rows.filter((i) => named[t.name[i]] && t.total[i] > 0).sort((a, b) => t.x[a] - t.x[b] || a - b) : []), [t, named]);
  const hit = matches.length ? named : undefined; // without a match nothing is pale
  const share0 = useMemo(() => (hit ? matched(t, hit) : 0), [t, hit]);
  const at = Math.min(Number(zoomed.value) || 0, t.n - 1);
  const flip = up.value === '1';
  const sliced = mode.value === 'sandwich' && !two;
  const next = (by: number) => {
    if (!matches.length) return;
    const k = matches.indexOf(cursor.value);
    const to = matches[k < 0 ? (by < 0 ? matches.length - 1 : 0) : (k + by + matches.length) % matches.length];
    if (t.total[to] < t.total[at] * NARROW || !pathOf(t, to).includes(at || to)) {
      let wide = to;
      while (wide && t.total[to] >= t.total[t.parent[wide]] * 10 * NARROW) wide = t.parent[wide];
      look(wide);
    }
    cursor.value = to;
  };
  useTreeKeys(sliced ? undefined : t, at, flip, next);
  const last = useRef(t);
  useEffect(() => {
    const was = last.current;
    last.current = t;
    if (was !== t && at) look(nodeAt(t, pathOf(was, at).map((n) => was.names[was.name[n]]))); // the trace has grown
    if (!two && !at) void follow(t, k).then((n) => n && (cursor.value = n));
  }, [t]);
  const w = writer(t);
  const node = cursor.value < t.n ? cursor.value : -1;
  const again = () => look(0);
  return (
    <div class="stack">
      <div class="bar">
        <Choice
          label="What"
          value={k}
          options={trees.map((x) => [x, titles[x]] as const)}
          onPick={(v) => {
            kind.value = v;
            again();
          }}
        />
        {two ? (
          <Kept label="Width" of={width} options={[['both', 'Larger of A, B'], ['a', 'A'], ['b', 'B']]} then={again} />
        ) : (
          <>
            <Kept label="Show" of={mode} options={[['graph', 'Graph'], ['sandwich', 'Sandwich']]} />
            {!sliced && <Kept label="Order" of={order} options={[['heavy', 'Largest first'], ['time', 'In order of time']]} then={again} />}
          </>
        )}
        {mixed && <Kept label="Frames" of={frames} options={[['python', 'Python'], ['all', 'All frames']]} then={again} />}
        {!sliced && <Kept label="Direction" of={up} options={[['0', 'Icicle'], ['1', 'Flame']]} />}
        <Search label="Search frames" value={query.value} set={(v) => (query.value = v)} onKeyDown={(e) => e.key === 'Enter' && next(e.shiftKey ? -1 : 1)} />
        {find && !sliced && (
          <>
            <button onClick={() => next(-1)} disabled={!matches.length} aria-label="Previous match">‹</button>
            <button onClick={() => next(1)} disabled={!matches.length} aria-label="Next match">›</button>
          </>
        )}
        {find && <span class="soft" id="matched" role="status">{matches.length ? `${w(share0)} · ${share(share0, t.total[0])} in ${plural(matches.length, 'frame')} match` : 'no frame matches'}</span>}
        <span class="grow" />
        <span class="soft">
          {t.sides ? `A ${w(t.sides.total[0][0])}, B ${w(t.sides.total[1][0])}` : `${w(t.total[0])} in all`}{t.folded ? ` · ${count(t.folded)} small ones folded` : ''}
          {t.cut ? ` · ${plural(t.cut, 'path')} too deep to draw: counted for their ancestors` : ''}
        </span>
        {at > 0 && <button onClick={() => look(0)}>Reset</button>}
      </div>
      {two && <Legend items={changes.map((c) => ({ color: css(changeColors[c]), text: c }))} />}
      {t.total[0] === 0 ? (
        <p class="loading">The trace has no such data.</p>
      ) : sliced ? (
        <SandwichView t={t} color={base[k]} hit={hit} />
      ) : (
        <>
          <Crumbs t={t} at={at} />
          <Graph t={t} at={at} color={base[k]} flip={flip} hit={hit} matches={matches} mark={node} label={`Flame graph, ${titles[k]}: ${w(t.total[0])} in all`} onPick={look} />
          {node >= 0 && <Picked t={t} node={node} />}
          <AsTable t={t} rows={rows} />
        </>
      )}
      <Hover />
    </div>
  );
}

/** Selects time first; for a trace whose only times are annotations, memory, as the command does. */
export function Flame({ main }: { main: Main }) {
  const section = useData(getFlame);
  const read = useMemo(() => (k: TreeName) => readTree(section!, k, mode.value === 'sandwich' ? 'heavy' : ((order.value || 'heavy') as Order)), [section, mode.value]);
  const kinds = keys.filter((k) => section?.json[k]?.total);
  if (!main.cpu_ns) kinds.sort((a, b) => Number(a === 'cpu') - Number(b === 'cpu'));
  const first = section?.json.first; // the kind that the command chose
  if (first) kinds.sort((a, b) => Number(b === first) - Number(a === first));
  return section ? <Flames trees={kinds.length ? kinds : ['cpu']} read={read} /> : <Loading />;
}

/** The flame graph of two runs, coloured by change. */
export function DiffFlame() {
  const section = useData(getDiffFlame);
  const read = useMemo(() => (k: TreeName) => readDiffTree(section!, k, (width.value || 'both') as Width), [section]);
  return section ? <Flames trees={keys.filter((k) => section.json.trees[k])} read={read} two /> : <Loading />;
}
