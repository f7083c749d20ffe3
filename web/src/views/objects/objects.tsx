// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Live objects of a Python program: owners, the buffers they share, duplicates. The data is the document of `tidemark objects --json`; titles and
// order of rows are those of its text: the program's own variables and modules come first.
import { byKey } from '../../data/format';
import { getObjects } from '../../data/page';
import { keep } from '../../state';
import { Figure, Kept, Loading, Panel, useData } from '../../ui/parts';
import { type Rec, Records, titleOf } from '../common/tables';

const at = keep('at');
const owner = keep('owner');

/** Key, title, columns, the column with a bar. */
const TABLES = [
  ['owners', 'By owner', 'name:Owner,type,exclusive_bytes:Own alone,shared_bytes:Shared', 'exclusive_bytes'],
  ['shared', 'Shared by 2 or more owners', 'what,bytes,owner_count:Owners,owners:Owned by', 'bytes'],
  ['duplicates', 'Equal but separate', 'value,type,count:Copies,bytes:To save', 'bytes'],
  ['types', 'By type', 'type,module,objects,bytes', 'bytes'],
  ['modules', 'By module', 'module,own:Of the program,variables,exclusive_bytes:Own alone,shared_bytes:Shared', 'exclusive_bytes'],
  ['buffers', 'Buffers by device', 'device,buffers,bytes', 'bytes'],
] as const;
const FIGURES: Record<string, string> = { variable_bytes: 'Reached from variables', other_bytes: 'Not reached', shared_bytes: 'Shared', duplicate_bytes: 'Equal but separate', duplicates_skipped: 'Not compared' };

const text = (key: string, v: unknown) => (Array.isArray(v) ? v.join(', ') : key === 'own' ? (v ? 'yes' : 'no') : undefined);

export function Objects() {
  const all = useData(getObjects)?.snapshots;
  if (!all) return <Loading />;
  const s = all.find((x) => x.at === at.value) ?? all[all.length - 1];
  const pick = (r: Rec) => (owner.value = owner.value === r.name ? '' : String(r.name));
  const table = ([key, title, keys, sort]: (typeof TABLES)[number]) => {
    const every = s[key] as Rec[];
    const mine = key === 'shared' && owner.value;
    const more = (s.rows as Record<string, number>)[key] - every.length; // NaN: buffers are all listed
    const rows = mine ? every.filter((r) => (r.owners as string[]).includes(mine)) : every;
    return every[0] && (
      <Panel key={key} title={mine ? `Shared by ${mine} and others` : title}>
        <Records label={key} rows={rows} keys={keys} sort={sort} listed text={text} note={more > 0 ? `${byKey('count', more)} more not listed` : undefined} onPick={key === 'owners' ? pick : undefined} picked={(r) => r.name === owner.value} />
      </Panel>
    );
  };
  const list = (key: string) => {
    const texts = s[key] as string[];
    return texts[0] && <Panel title={titleOf(key)}><ul aria-label={key}>{texts.map((t, i) => <li key={i}>{t}</li>)}</ul></Panel>;
  };
  return (
    <div class="stack objects">
      <div class="figures">{Object.entries(s).map(([k, v]) => typeof v === 'number' && <Figure key={k} label={FIGURES[k] ?? titleOf(k)} value={byKey(k.replace('skipped', 'bytes'), v)} />)}</div>
      {all[1] && <Kept label="Snapshot" of={at} options={all.map((x) => [x.at, x.at] as const).reverse()} />}
      {list('problems')}
      {list('recommendations')}
      {TABLES.map(table)}
    </div>
  );
}
