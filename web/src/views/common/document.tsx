// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// A report that is about no single trace (hang, serving): texts first, then figures, then a panel for each table, with the headings and the
// meanings of its description.
import { byKey, delta, when } from '../../data/format';
import { getDocument, type Member } from '../../data/page';
import { most } from '../../data/sums';
import { groups } from '../../draw/colors';
import { css } from '../../draw/pixels';
import { Facts, Figure, Loading, Panel, useData } from '../../ui/parts';
import { type Rec, Records, titleOf } from './tables';

/** The beginning of a meaning, as a heading. */
const first = (t: string) => t[0].toUpperCase() + t.slice(1).split(';')[0];

/** Formats a value by its kind. */
function show(kind: string, key: string, v: unknown): string {
  if (typeof v === 'number' && kind === 'WALL') return when(v);
  if (typeof v === 'number' && kind === 'DELTA') return delta(v);
  if (typeof v === 'number' && kind === 'PLAIN') return String(v);
  if (typeof v === 'boolean') return v ? 'yes' : 'no';
  return byKey(key, v);
}

const isText = (m: Member) => m.kind === 'TEXT' || m.kind === 'WORD' || m.kind === 'NAME';
const isNumber = (kind: string) => !['TEXT', 'WORD', 'NAME', 'KERNEL', 'OBJECT', 'TABLE', 'LIST', 'MAP', 'ANY', 'SIZES', 'BOOL'].includes(kind);

/** Rows with a share of the whole, as bars on one scale. */
function Shares({ label, rows, name }: { label: string; rows: Rec[]; name: string }) {
  const high = most(rows, (r) => Number(r.share_pct) || 0);
  return (
    <ul class="shares" aria-label={label}>
      {rows.map((r, i) => (
        <li key={i} title={String(r.meaning ?? '')}>
          <span>{String(r[name])}</span>
          <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
            <rect width={(100 * (Number(r.share_pct) || 0)) / high} height="10" fill={css(groups[i % groups.length])} />
          </svg>
          <span>{byKey('bytes', r.bytes)}</span>
          <span>{byKey('_pct', r.share_pct)}</span>
          <span class="soft">{byKey('count', r.count)}</span>
        </li>
      ))}
    </ul>
  );
}

function Rows({ table, rows }: { table: Member; rows: Rec[] }) {
  const columns = (table.members ?? []).filter((m) => m.heading);
  const kinds = Object.fromEntries(columns.map((m) => [m.key, m.kind]));
  const wide = columns.find(isText)?.key ?? columns[0].key;
  const sort = columns.find((m) => m.kind === 'BYTES' || m.kind === 'NS')?.key ?? '';
  if (columns.some((m) => m.key === 'share_pct')) return <Shares label={table.key} rows={rows} name={wide} />;
  return <Records label={table.key} rows={rows} keys={columns.map((m) => `${m.key}:${m.heading}`).join(',')} sort={sort} wide={wide} listed text={(key, v) => show(kinds[key], key, v)} height={Math.min(420, 60 + 26 * rows.length)} />;
}

export function Document() {
  const d = useData(getDocument);
  if (!d) return <Loading />;
  const of = d.members.filter((m) => d.document[m.key] !== undefined && m.key !== 'losses');
  const texts = of.filter((m) => isText(m) && d.document[m.key] !== null);
  const numbers = of.filter((m) => isNumber(m.kind) && d.document[m.key] !== null);
  const objects = of.filter((m) => m.kind === 'OBJECT' && d.document[m.key]);
  const tables = of.filter((m) => m.kind === 'TABLE' && (d.document[m.key] as Rec[])[0]);
  return (
    <div class="stack document">
      <Panel title={first(d.summary)}>
        <Facts rows={texts.map((m) => [titleOf(m.key), show(m.kind, m.key, d.document[m.key])] as const)} />
      </Panel>
      <div class="figures">{numbers.map((m) => <Figure key={m.key} label={titleOf(m.key)} value={show(m.kind, m.key, d.document[m.key])} title={m.meaning} />)}</div>
      {objects.map((m) => (
        <Panel key={m.key} title={first(m.meaning)}>
          <Facts rows={(m.members ?? []).filter((k) => k.kind !== 'TABLE').map((k) => [titleOf(k.key), show(k.kind, k.key, (d.document[m.key] as Rec)[k.key])] as const)} />
        </Panel>
      ))}
      {tables.map((m) => (
        <Panel key={m.key} title={first(m.meaning)}>
          <Rows table={m} rows={d.document[m.key] as Rec[]} />
        </Panel>
      ))}
    </div>
  );
}
