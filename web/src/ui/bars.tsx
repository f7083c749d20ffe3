// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Rows of bars, each with one or several parts, names and figures.

export interface Bar {
  name: string;
  title?: string; // the name at full length
  parts: { size: number; color: string; title?: string }[];
  value: string;
  more?: string;
  over?: boolean; // beyond the limit
}

/** Shortens a long name, keeping both ends: modules and paths differ in their last parts. */
export const middle = (name: string, most = 46): string => (name.length <= most ? name : `${name.slice(0, most / 2 - 6)}…${name.slice(-(most / 2 + 5))}`);

/** `full` is the length of a whole row; `limit` a line across all of them; `whole` shows names at full length, in several lines (call
 * stacks). A pick without a part is of the row. */
export function Bars({ rows, full, limit, whole, onPick, ...rest }: { rows: readonly Bar[]; full: number; limit?: number; whole?: boolean; onPick: (row: number, part?: number) => void } & Record<`data-${string}`, string>) {
  const pct = (v: number) => `${(100 * v) / full}%`;
  return (
    <div class={whole ? 'bars whole' : 'bars'} role="list" {...rest}>
      {rows.map((r, n) => {
        let at = 0;
        return (
          <div key={n} class={r.over ? 'row over' : 'row'} role="listitem">
            <button class="name" title={r.title ?? r.name} onClick={() => onPick(n)}>{whole ? r.name : middle(r.name)}</button>
            <svg width="100%" role="img" aria-label={`${r.name}: ${r.value} ${r.more ?? ''}`}>
              {r.parts.map((p, i) => {
                at += p.size;
                return (
                  <rect key={i} x={pct(at - p.size)} width={pct(p.size)} height="100%" fill={p.color} onClick={() => onPick(n, i)}>
                    <title>{p.title ?? r.name}</title>
                  </rect>
                );
              })}
              {limit && limit <= full && <line class="limit" x1={pct(limit)} x2={pct(limit)} y1="0" y2="100%" />}
            </svg>
            <b>{r.value}</b>
            <span class="soft">{r.more}</span>
          </div>
        );
      })}
    </div>
  );
}
