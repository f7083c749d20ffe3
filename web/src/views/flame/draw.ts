// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Draws flame trees: finds the visible boxes and draws them.
import { changeOf, nameOf, type Sides, type Tree } from '../../data/flame';
import { ink, nameColor } from '../../draw/colors';
import { face, word } from '../../draw/marks';
import { inkOn, Pixels, rgb, shade } from '../../draw/pixels';
import { fit } from '../../draw/text';
import type { Surface } from '../../ui/canvas';
import { px } from '../../ui/scale';

/** Height of a level. */
export const rowHigh = (): number => px(19);

export interface Box {
  x0: number;
  x1: number;
  level: number; // 0 = the root
  node: number;
}

/** Returns the nodes to draw when `at` fills the width: its ancestors above it, its descendants below, to scale. */
export function boxes(t: Tree, at: number, width: number): Box[] {
  const out: Box[] = [];
  const scale = width / (t.total[at] || 1);
  for (let p = at; p; p = t.parent[p]) out.push({ x0: 0, x1: width, level: t.depth[t.parent[p]], node: t.parent[p] });
  out.reverse();
  const todo = [at];
  while (todo.length) {
    const i = todo.pop()!;
    const x0 = (t.x[i] - t.x[at]) * scale;
    const x1 = x0 + t.total[i] * scale;
    if (x1 - x0 < 0.4) continue; // and nothing below it is wider
    out.push({ x0, x1, level: t.depth[i], node: i });
    for (const c of t.kids[i]) todo.push(c);
  }
  return out;
}

export function boxAt(list: Box[], x: number, level: number): Box | undefined {
  return list.find((b) => b.level === level && x >= b.x0 && x < Math.max(b.x1, b.x0 + 1));
}

export const changeColors = { grown: 0xd9773d, shrunk: 0x4a86c5, new: 0xb4431f, gone: 0x1d5a9c, same: 0x9aa4ad };

/** The more a row changed, the stronger its colour. */
function changeColor(s: Sides, i: number): number {
  const what = changeOf(s, i);
  if (what !== 'grown' && what !== 'shrunk') return changeColors[what];
  const [a, b] = [s.total[0][i], s.total[1][i]];
  return shade(changeColors[what], 0.72 * (1 - Math.min(1, (2 * Math.abs(b - a)) / Math.max(a, b))));
}

/** Shortens long names of generated code: drops `void`, namespaces and arguments; keeps the functor that distinguishes instances of a
 * template. */
export function brief(name: string): string {
  if (name.length > 4000 || name.startsWith('<')) return name; // no C++ name begins so, but `<script>` of a user does
  const functor = /[<,:( ](?!\w*kernel\b)(\w*(?:Functor|functor)\w*)/.exec(name)?.[1] ?? /[<, ](?:\w+::)*(\w+(?:Ops?|_kernel_cuda))\b/.exec(name)?.[1];
  let s = name.replace(/^void /, '').replace(/\(anonymous namespace\)::/g, '');
  for (let last = ''; last !== s; ) {
    last = s;
    s = s.replace(/(?<=[\w>)])<(?!\/)[^<>]*>/g, ''); // arguments follow a name; <b> and </b> are text
  }
  s = s.replace(/(?<=\S)\(.*$/, '').replace(/ \(.*\/([^/]+)\)$/, ' ($1)').replace(/^(?:\w+::)+(?=\w{3,}$)/, '');
  if (!s || (s.includes('<') && s.length < 12)) return name;
  const tells = functor ?? (s.length < 9 ? /<(?:\w+::)*(\w{4,})/.exec(name)?.[1] : ''); // "Kernel" alone is not informative
  return tells && name.includes('<') && !s.includes(tells) ? `${s} ‹${tells}›` : s;
}

/** Returns the name, or the part of its short form that fits; tooltips show it in full. */
export function fitBrief(ctx: CanvasRenderingContext2D, name: string, room: number): string {
  const text = fit(ctx, name, room);
  return text === name ? text : fit(ctx, brief(name), room);
}

export interface Look {
  color: number;
  at: number; // the node that fills the width
  up: boolean; // the root at the bottom
  hit?: Uint8Array; // by name; others are pale
  matches?: readonly number[]; // nodes with these names
  cursor?: number; // node with the frame
}

/** Returns the number of levels that fit into a height. */
const topOf = (l: Look, level: number, height: number) => (l.up ? height - (level + 1) * rowHigh() : level * rowHigh());
export const levelAt = (up: boolean, y: number, height: number): number => Math.floor((up ? height - y : y) / rowHigh());

/** Marks where matches are, on the row of the node that fills the width: also those too narrow to be drawn. */
function markMatches({ ctx, width, height }: Surface, t: Tree, look: Look, color: string): void {
  const { at } = look;
  const [x0, scale] = [t.x[at], width / (t.total[at] || 1)];
  const y = topOf(look, t.depth[at], height) + (look.up ? 0 : rowHigh() - 5);
  ctx.fillStyle = color;
  for (const i of look.matches!) {
    const [a, b] = [(t.x[i] - x0) * scale, (t.x[i] + t.total[i] - x0) * scale];
    if (b < 0 || a > width || !t.total[i]) continue;
    ctx.fillRect(Math.max(0, Math.min(a, width - 2)), y, Math.max(2, Math.min(b, width) - Math.max(0, a)), 4);
  }
}

export function drawFlame({ ctx, width, height }: Surface, t: Tree, list: Box[], look: Look): void {
  const c = ink();
  const row = rowHigh();
  const p = new Pixels(width, height);
  p.clear(c.back);
  const own = (b: Box) => (t.sides ? changeColor(t.sides, b.node) : nameColor(nameOf(t, b.node), look.color));
  const pale = (b: Box) => !!look.hit && !look.hit[t.name[b.node]];
  const colors = list.map((b) => (pale(b) ? shade(own(b), c.dark ? -0.72 : 0.78) : own(b)));
  list.forEach((b, i) => {
    const y = topOf(look, b.level, height);
    const x0 = Math.round(b.x0);
    const x1 = Math.max(x0 + 1, Math.round(b.x1) - (b.x1 - b.x0 > 3 ? 1 : 0));
    p.rect(x0, y, x1, y + row - 1, rgb(colors[i]));
  });
  p.show(ctx);
  face(ctx, 11.5);
  list.forEach((b, i) => {
    const room = b.x1 - b.x0 - 7;
    if (room < 17) return;
    const text = fitBrief(ctx, nameOf(t, b.node), room);
    if (text) word(ctx, pale(b) ? c.soft : inkOn(colors[i]), text, b.x0 + 4, topOf(look, b.level, height) + row / 2);
  });
  if (look.matches) markMatches({ ctx, width, height }, t, look, c.accent);
  const at = look.cursor === undefined ? undefined : list.find((b) => b.node === look.cursor);
  if (at) {
    ctx.strokeStyle = c.dark ? '#fff' : '#111';
    ctx.lineWidth = 2;
    ctx.strokeRect(Math.round(at.x0) + 1, topOf(look, at.level, height) + 1, Math.max(2, Math.round(at.x1 - at.x0) - 3), row - 3);
  }
}
