// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Live objects of a Python program: owners, what they share, what is there twice. The document is that of `tidemark objects --json`.
import { bytes } from '../../data/format';
import { getObjects } from '../../data/page';
import { keep } from '../../state';
import { Figure, Kept, Loading, Panel, useData } from '../../ui/parts';
import { type Rec, Records } from '../common/tables';

const at = keep('at');
const owner = keep('owner');

// columns of each table; the first one of bytes is the order
const tables = {
  Owners: 'name:Owner,type,exclusive_bytes:Own alone,shared_bytes:Shared',
  Shared: 'what,bytes,owner_count:Owners,owners:Owned by',
  Duplicates: 'value,type,count:Copies,bytes:To save',
  Types: 'type,objects,bytes',
  Modules: 'module,variables,exclusive_bytes:Own alone,shared_bytes:Shared',
  Buffers: 'device,buffers,bytes',
};

export function Objects() {
  const all = useData(getObjects);
  if (!all) return <Loading />;
  const s = all.snapshots.find((x) => x.at === at.value) ?? all.snapshots[all.snapshots.length - 1];
  const list = (key: string, v: unknown) => (key === 'owners' ? (v as string[]).join(', ') : undefined);
  const panel = ([title, keys]: string[]) => {
    const owned = title === 'Owners';
    const rows = (s[title.toLowerCase()] as Rec[]).filter((r) => title !== 'Shared' || !owner.value || (r.owners as string[]).includes(owner.value));
    return (
      <Panel key={title} title={title}>
        <Records label={title} rows={rows} keys={keys} sort={/\w*bytes/.exec(keys)![0]} text={list} onPick={owned ? (r) => (owner.value = owner.value === r.name ? '' : String(r.name)) : undefined} picked={(r) => owned && r.name === owner.value} />
      </Panel>
    );
  };
  return (
    <div class="stack objects">
      <div class="figures">
        {['Total', 'Variable', 'Shared', 'Other', 'Duplicate'].map((k) => <Figure key={k} label={k} value={bytes(s[`${k.toLowerCase()}_bytes`] as number)} />)}
      </div>
      {all.snapshots[1] && <Kept label="Snapshot" of={at} options={all.snapshots.map((x) => [x.at, x.at] as const).reverse()} />}
      {Object.entries(tables).map(panel)}
      {['recommendations', 'problems'].map((key) => <Panel key={key} title={key}><ul>{(s[key] as string[]).map((t) => <li>{t}</li>)}</ul></Panel>)}
    </div>
  );
}
