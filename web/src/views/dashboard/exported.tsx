// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// A report that tidemark.profiling exported: every part of the document as a table. Unknown is "–".
import { Table, col } from '../../ui/table';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export interface Exported {
  trace_file: string;
  exported: string;
  document: { [key: string]: Json };
}
type Row = Record<string, Json>;

/** Returns a value as a text; parts within rows are JSON. */
export const textOf = (v: Json | undefined): string => (v === null || v === undefined ? '–' : typeof v === 'object' ? JSON.stringify(v) : String(v));
const words = (key: string): string => key.replaceAll('_', ' ').replace(/^./, (c) => c.toUpperCase());
const isRows = (v: Json): v is Row[] => Array.isArray(v) && v.length > 0 && v.every((r) => r !== null && typeof r === 'object' && !Array.isArray(r));

/** Returns the tables of a document: lists of objects as they are, everything else as rows of name and value. */
export function tablesOf(document: { [key: string]: Json }): { title: string; rows: Row[] }[] {
  const out: { title: string; rows: Row[] }[] = [];
  const add = (title: string, v: Json): void => {
    if (isRows(v)) out.push({ title, rows: v });
    else if (Array.isArray(v)) v.length && out.push({ title, rows: v.map((x) => ({ value: x })) });
    else if (v !== null && typeof v === 'object') {
      const plain = Object.entries(v).filter(([, x]) => !isRows(x));
      if (plain.length) out.push({ title, rows: plain.map(([name, value]) => ({ name, value })) });
      for (const [name, x] of Object.entries(v)) if (isRows(x)) add(`${title}: ${words(name).toLowerCase()}`, x);
    }
  };
  const single = Object.entries(document).filter(([k, v]) => k !== 'format' && (v === null || typeof v !== 'object'));
  if (single.length) out.push({ title: 'Report', rows: single.map(([name, value]) => ({ name, value })) });
  for (const [k, v] of Object.entries(document)) if (v !== null && typeof v === 'object') add(words(k), v);
  return out;
}

/** Returns the keys of rows in the order in which they first occur. */
const keysOf = (rows: readonly Row[]): string[] => [...new Set(rows.flatMap((r) => Object.keys(r)))];

export function ExportedReport({ of }: { of: Exported }) {
  return (
    <>
      <p class="soft">{of.trace_file}: a {of.exported} report that tidemark.profiling exported. <a href="/">All recordings</a></p>
      {tablesOf(of.document).map((t) => (
        <section class="panel" key={t.title}>
          <header><h2>{t.title}</h2></header>
          <Table label={t.title} rows={t.rows} compact={t.rows.length < 12} height={Math.min(400, 28 * (t.rows.length + 2))}
            cols={keysOf(t.rows).map((k, i) => col<Row>(words(k), (r) => (typeof r[k] === 'number' ? (r[k] as number) : textOf(r[k])), (v) => String(v), { wide: !i }))} />
        </section>
      ))}
    </>
  );
}
