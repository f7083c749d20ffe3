// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Tables of records.
import { byKey } from '../data/format';
import { type Col, Table } from '../ui/table';

export type Rec = Record<string, unknown>;

/** Rows of records as a table: a column a key, written by the key's end. */
export function Records({ label, rows, keys, sort, wide, height, note, onPick, picked }: { label: string; rows: Rec[]; keys: readonly (readonly [string, string])[]; sort: string; wide: string; height?: number; note?: string; onPick?: (r: Rec) => void; picked?: (r: Rec) => boolean }) {
  const most = rows.reduce((a, r) => Math.max(a, Number(r[sort]) || 0), 1);
  const cols: Col<Rec>[] = keys.map(([key, title]) => ({
    key,
    title,
    value: (r) => (typeof r[key] === 'number' ? (r[key] as number) : String(r[key] ?? '')),
    text: (r) => byKey(key, r[key]),
    wide: key === wide,
    bar: key === sort ? (r) => (Number(r[key]) || 0) / most : undefined,
  }));
  return <Table label={label} rows={rows} cols={cols} sort={sort} height={height ?? 560} note={note} onPick={onPick} picked={picked} compact />;
}
