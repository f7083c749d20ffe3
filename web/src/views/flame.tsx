// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Flame graphs, drawn from the top down: CPU time, device time, memory at the peak.
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { readTree, type Tree, type TreeName } from '../data/flame';
import { bytes, count, ns, percent } from '../data/format';
import { getFlame } from '../data/page';
import { ink, nameColor } from '../draw/colors';
import { inkOn, Pixels, rgb } from '../draw/pixels';
import { fit } from '../draw/text';
import { query } from '../state';
import { Canvas, type Surface } from '../ui/canvas';
import { Choice, Loading, useData } from '../ui/parts';
import { Table } from '../ui/table';

const ROW = 19;
const kind = signal<TreeName>('cpu');
const root = signal(0);
const hover = signal<{ x: number; y: number; node: number } | null>(null);
const base: Record<TreeName, number> = { cpu: 0x4c8fd6, gpu: 0x1f9e89, memory: 0xe09f3e };

interface Box {
  x0: number;
  x1: number;
  y: number;
  node: number;
}

/** Nodes to draw when `at` fills the width: its ancestors above it, what is below to its size. */
export function boxes(t: Tree, at: number, width: number): Box[] {
  const out: Box[] = [];
  const scale = width / (t.total[at] || 1);
  const up = new Set<number>();
  for (let p = at; p; p = t.parent[p]) up.add(t.parent[p]);
  const inside = new Uint8Array(t.n);
  for (let i = 0; i < t.n; i++) {
    inside[i] = i === at || (i > 0 && inside[t.parent[i]] === 1) ? 1 : 0;
    if (up.has(i)) {
      out.push({ x0: 0, x1: width, y: t.depth[i], node: i });
    } else if (inside[i]) {
      const x0 = (t.x[i] - t.x[at]) * scale;
      const x1 = x0 + t.total[i] * scale;
      if (x1 - x0 >= 0.4) out.push({ x0, x1, y: t.depth[i], node: i });
    }
  }
  return out;
}

function draw(s: Surface, t: Tree, list: Box[], find: string, color: number): void {
  const c = ink();
  const p = new Pixels(s.width, s.height);
  const low = find.toLowerCase();
  p.clear(c.back);
  const dim = rgb(c.dark ? 0x2a3038 : 0xe4e8ec);
  const hits = list.map((b) => !low || t.names[t.name[b.node]].toLowerCase().includes(low));
  list.forEach((b, i) => {
    const x0 = Math.round(b.x0);
    const x1 = Math.max(x0 + 1, Math.round(b.x1) - (b.x1 - b.x0 > 3 ? 1 : 0));
    p.rect(x0, b.y * ROW, x1, b.y * ROW + ROW - 1, hits[i] ? rgb(nameColor(t.names[t.name[b.node]], color)) : dim);
  });
  p.show(s.ctx);
  s.ctx.font = '11.5px system-ui, sans-serif';
  s.ctx.textBaseline = 'middle';
  list.forEach((b, i) => {
    const text = b.x1 - b.x0 < 24 ? '' : fit(s.ctx, t.names[t.name[b.node]] || '(unnamed)', b.x1 - b.x0 - 7);
    if (!text) return;
    s.ctx.fillStyle = hits[i] ? inkOn(nameColor(t.names[t.name[b.node]], color)) : c.soft;
    s.ctx.fillText(text, b.x0 + 4, b.y * ROW + ROW / 2);
  });
}

export function Flame() {
  const section = useData(getFlame);
  const tree = useMemo(() => section && readTree(section, kind.value), [section, kind.value]);
  const rows = useMemo(() => (tree ? Array.from({ length: tree.n }, (_, i) => i).slice(1) : []), [tree]);
  if (!tree) return <Loading />;
  const write = tree.bytes ? bytes : ns;
  const total = tree.total[0];
  const at = Math.min(root.value, tree.n - 1);
  const nodeAt = (e: { currentTarget: EventTarget | null; clientX: number; clientY: number }): number => {
    const el = e.currentTarget as HTMLCanvasElement;
    const box = el.getBoundingClientRect();
    const [x, y] = [e.clientX - box.left, Math.floor((e.clientY - box.top) / ROW)];
    return boxes(tree, at, el.clientWidth).find((b) => b.y === y && x >= b.x0 && x < Math.max(b.x1, b.x0 + 1))?.node ?? -1;
  };
  const find = query.value.toLowerCase();
  let matched = 0;
  if (find)
    for (let i = 1; i < tree.n; i++) {
      let inner = false;
      for (let p = tree.parent[i]; p && !inner; p = tree.parent[p]) inner = tree.names[tree.name[p]].toLowerCase().includes(find);
      if (!inner && tree.names[tree.name[i]].toLowerCase().includes(find)) matched += tree.total[i];
    }
  const h = hover.value;
  return (
    <div class="stack">
      <div class="bar">
        <Choice
          label="What"
          value={kind.value}
          options={[['cpu', 'CPU time'], ['gpu', 'GPU time'], ['memory', 'Memory at the peak']]}
          onPick={(v) => {
            kind.value = v;
            root.value = 0;
            hover.value = null;
          }}
        />
        <input type="search" placeholder="Search frames" aria-label="Search frames" value={query.value} onInput={(e) => (query.value = e.currentTarget.value)} />
        {find && <span class="soft">{write(matched)} · {percent((100 * matched) / (total || 1))} match</span>}
        <span class="grow" />
        <span class="soft">{write(total)} in all{tree.folded ? ` · ${count(tree.folded)} small ones folded` : ''}</span>
        <button disabled={!at} onClick={() => (root.value = 0)}>Reset</button>
      </div>
      {total === 0 ? (
        <p class="loading">Nothing of this kind is in the trace.</p>
      ) : (
        <div class="chart flame">
          <Canvas
            height={(tree.deepest + 1) * ROW + 2}
            label={`Flame graph, ${kind.value}: ${write(total)} in all`}
            draw={(s) => draw(s, tree, boxes(tree, Math.min(root.value, tree.n - 1), s.width), query.value, base[kind.value])}
            onClick={(e) => {
              const n = nodeAt(e);
              if (n >= 0) root.value = n;
            }}
            onPointerMove={(e) => {
              const n = nodeAt(e);
              hover.value = n >= 0 ? { x: e.clientX, y: e.clientY, node: n } : null;
            }}
            onPointerLeave={() => (hover.value = null)}
            onKeyDown={(e) => e.key === 'Escape' && (root.value = 0)}
          />
        </div>
      )}
      {h && h.node < tree.n && (
        <div class="tip" style={{ left: h.x > innerWidth - 380 ? 'auto' : `${h.x + 14}px`, right: h.x > innerWidth - 380 ? `${innerWidth - h.x + 14}px` : 'auto', top: `${Math.min(h.y + 14, innerHeight - 110)}px` }}>
          <b>{tree.names[tree.name[h.node]] || '(unnamed)'}</b>
          <span>{write(tree.total[h.node])} · {percent((100 * tree.total[h.node]) / (total || 1))} of all</span>
          <span>{write(tree.self[h.node])} of it itself · {count(tree.count[h.node])} {tree.bytes ? 'allocations' : 'times'}</span>
        </div>
      )}
      <details>
        <summary>The same as a table</summary>
        <Table
          label="flame graph nodes"
          rows={rows}
          sort="self"
          height={360}
          onPick={(i) => (root.value = i)}
          cols={[
            { key: 'name', title: 'Name', value: (i) => tree.names[tree.name[i]] || '(unnamed)', wide: true },
            { key: 'self', title: 'Self', value: (i) => tree.self[i], text: (i) => write(tree.self[i]), bar: (i) => tree.self[i] / (total || 1) },
            { key: 'total', title: 'Total', value: (i) => tree.total[i], text: (i) => write(tree.total[i]) },
            { key: 'count', title: 'Count', value: (i) => tree.count[i], text: (i) => count(tree.count[i]) },
            { key: 'depth', title: 'Depth', value: (i) => tree.depth[i] },
          ]}
        />
      </details>
    </div>
  );
}
