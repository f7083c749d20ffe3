// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// A table of any length: sorted by a click on a heading, filtered by a text, only the visible rows
// are in the document.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Search } from './parts';
import { px } from './scale';

export interface Col<R> {
  key: string;
  title: string;
  value: (row: R) => number | string;
  text?: (row: R) => string; // its text; by default the value itself
  wide?: boolean; // takes the remaining width
  show?: (row: R) => ComponentChildren; // instead of its text
  bar?: (row: R) => number; // 0..1: a bar behind the figure
}

/** A column by its title: its value, and the format of its numbers. */
export const col = <R,>(title: string, value: (row: R) => number | string, text?: (v: number) => string, more?: Partial<Col<R>>): Col<R> => ({
  key: title,
  title,
  value,
  text: text && ((row) => text(value(row) as number)),
  ...more,
});

interface Props<R> {
  cols: Col<R>[];
  rows: readonly R[];
  sort?: string; // key of the first order, descending for numbers
  ascending?: boolean;
  onPick?: (row: R) => void;
  onKey?: (row: R, key: string) => boolean; // another key of a row that has the focus; true: it is done
  picked?: (row: R) => boolean;
  label: string;
  height?: number;
  note?: string;
  compact?: boolean; // no filter for a short table
}

const FEW = 6; // number of rows that need no filter

function order<R>(rows: readonly R[], col: Col<R> | undefined, up: boolean): R[] {
  const out = [...rows];
  if (!col) return out;
  const sign = up ? 1 : -1;
  return out.sort((a, b) => {
    const x = col.value(a);
    const y = col.value(b);
    return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y)));
  });
}

/** Keys of a row that has the focus: up and down to its neighbours, Enter chooses. */
export function rowKey(e: KeyboardEvent, pick: () => void): void {
  const tr = e.currentTarget as HTMLElement;
  const to = e.key === 'ArrowDown' ? tr.nextElementSibling : e.key === 'ArrowUp' ? tr.previousElementSibling : null;
  if (e.key === 'Enter') pick();
  else if (!to) return;
  (to as HTMLElement | null)?.focus();
  e.preventDefault();
  e.stopPropagation();
}

/** Space of rows outside the visible part; in print it states their number. */
export const Pad = ({ rows, high }: { rows: number; high: number }) =>
  rows > 0 ? <tr class="pad" style={{ height: `${rows * high}px` }}><td class="left" colSpan={99}>… {rows.toLocaleString('en-US')} more rows</td></tr> : null;

export function Table<R>({ cols, rows, sort, ascending, onPick, onKey, picked, label, height: asked = 420, note, compact }: Props<R>) {
  const HIGH = px(26); // of a row, as the style sheet has it
  const height = px(asked);
  const [by, setBy] = useState({ key: sort ?? '', up: ascending ?? false });
  const [find, setFind] = useState('');
  const [top, setTop] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const texts = cols.filter((c) => c.wide || typeof (rows.length ? c.value(rows[0]) : 0) === 'string');
  const shown = useMemo(() => {
    const low = find.toLowerCase();
    const kept = low ? rows.filter((r) => texts.some((c) => String(c.value(r)).toLowerCase().includes(low))) : rows;
    return order(kept, cols.find((c) => c.key === by.key), by.up);
  }, [rows, find, by]);
  const first = Math.max(0, Math.floor(top / HIGH) - 8);
  const last = Math.min(shown.length, first + Math.ceil(height / HIGH) + 16);
  // A row selected in another view is visible at first.
  useEffect(() => {
    const at = picked ? shown.findIndex(picked) : -1;
    if (at > 0 && box.current) box.current.scrollTop = Math.max(0, (at - 4) * HIGH);
  }, []);
  const pick = (c: Col<R>) => {
    const text = texts.includes(c);
    setBy((b) => ({ key: c.key, up: b.key === c.key ? !b.up : text }));
    if (box.current) box.current.scrollTop = 0;
  };
  return (
    <section class="table">
      {(!compact || rows.length > FEW || note) && <div class="tablebar">
        <Search label={`Filter ${label}`} hint="Filter…" value={find} set={setFind} />
        <span class="soft">
          {shown.length.toLocaleString('en-US')} of {rows.length.toLocaleString('en-US')} rows{note ? ` · ${note}` : ''}
        </span>
      </div>}
      <div class="scroll" ref={box} style={{ maxHeight: `${height}px` }} onScroll={(e) => setTop(e.currentTarget.scrollTop)}>
        <table aria-label={label}>
          <thead>
            <tr>
              {cols.map((c) => (
                <th key={c.key} class={texts.includes(c) ? 'left' : ''} aria-sort={by.key === c.key ? (by.up ? 'ascending' : 'descending') : 'none'}>
                  <button onClick={() => pick(c)}>
                    {c.title}
                    {by.key === c.key ? (by.up ? ' ▲' : ' ▼') : ''}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <Pad rows={first} high={HIGH} />
            {shown.slice(first, last).map((r, i) => (
              <tr
                key={first + i}
                class={picked?.(r) ? 'picked' : ''}
                tabIndex={onPick ? 0 : -1}
                onClick={() => onPick?.(r)}
                onKeyDown={(e) => (e.target === e.currentTarget && onKey?.(r, e.key) ? e.preventDefault() : rowKey(e, () => onPick?.(r)))}
              >
                {cols.map((c) => (
                  <td key={c.key} class={texts.includes(c) ? 'left' : ''} title={texts.includes(c) ? String(c.value(r)) : undefined}>
                    {c.bar && <i class="bar" style={{ width: `${Math.min(100, 100 * c.bar(r))}%` }} />}
                    <span>{c.show ? c.show(r) : c.text ? c.text(r) : String(c.value(r))}</span>
                  </td>
                ))}
              </tr>
            ))}
            <Pad rows={shown.length - last} high={HIGH} />
          </tbody>
        </table>
        {shown.length === 0 && <p class="soft empty">Nothing here{find ? ' matches the filter' : ''}.</p>}
      </div>
    </section>
  );
}
