// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Tables of records.
import { byKey } from '../../data/format';
import { most } from '../../data/sums';
import { type Col, Table } from '../../ui/table';

export type Rec = Record<string, unknown>;

/** Returns the default title of a column: `mean_ns` is Mean, `p50_ns` is p50. */
export const titleOf = (key: string) => {
  const t = key.replace(/_(ns|pct)$/, '').replaceAll('_', ' ');
  return /^p\d/.test(t) ? t : t[0].toUpperCase() + t.slice(1);
};

/** Shows records as a table: a column for each of `keys` ("name,count,sum_ns:Total"), formatted by the key's end. `sort` has the
 * bars; `listed`: rows keep their order. */
export function Records({ label, rows, keys, sort, wide = keys.split(/[,:]/)[0], height = 260, note, onPick, picked, text, listed }: { label: string; rows: Rec[]; keys: string; sort: string; wide?: string; height?: number; note?: string; onPick?: (r: Rec) => void; picked?: (r: Rec) => boolean; text?: (key: string, v: unknown) => string | undefined; listed?: boolean }) {
  const high = most(rows, (r) => Number(r[sort]) || 0);
  const cols: Col<Rec>[] = keys.split(',').map((k) => k.split(':')).map(([key, title]) => ({
    key,
    title: title ?? titleOf(key),
    // unknown values sort below every figure
    value: (r) => (typeof r[key] === 'number' ? (r[key] as number) : r[key] === null && key !== wide ? -Number.MAX_VALUE : String(r[key] ?? '')),
    text: (r) => text?.(key, r[key]) ?? byKey(key, r[key]),
    wide: key === wide,
    bar: key === sort ? (r) => (Number(r[key]) || 0) / high : undefined,
  }));
  return <Table label={label} rows={rows} cols={cols} sort={listed ? '' : sort} height={height} note={note} onPick={onPick} picked={picked} compact />;
}
