// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Live objects of a Python program: owners, what they share, what is there twice. The document is that of `tidemark objects --json`: its
// members are the figures, the tables and their columns.
import { byKey } from '../../data/format';
import { getObjects } from '../../data/page';
import { keep } from '../../state';
import { Figure, Kept, Loading, Panel, useData } from '../../ui/parts';
import { type Rec, Records, titleOf } from '../common/tables';

const at = keep('at');
const owner = keep('owner');

export function Objects() {
  const all = useData(getObjects)?.snapshots;
  if (!all) return <Loading />;
  const s = all.find((x) => x.at === at.value) ?? all[all.length - 1];
  const panel = (key: string) => {
    let rows = s[key] as Rec[];
    if (!Array.isArray(rows) || !rows[0]) return null;
    if (typeof rows[0] === 'string') rows = rows.map((text) => ({ text }));
    const keys = Object.keys(rows[0]);
    if (key === 'shared' && owner.value) rows = rows.filter((r) => (r.owners as string[]).includes(owner.value));
    const pick = (r: Rec) => (owner.value = owner.value === r.name ? '' : String(r.name));
    return (
      <Panel key={key} title={titleOf(key)}>
        <Records label={key} rows={rows} keys={keys.join()} sort={keys.find((k) => k.endsWith('bytes')) ?? ''} onPick={key === 'owners' ? pick : undefined} picked={(r) => r.name === owner.value} />
      </Panel>
    );
  };
  return (
    <div class="stack objects">
      <div class="figures">{Object.entries(s).map(([k, v]) => typeof v === 'number' && <Figure label={titleOf(k)} value={byKey(k, v)} />)}</div>
      {all[1] && <Kept label="Snapshot" of={at} options={all.map((x) => [x.at, x.at] as const).reverse()} />}
      {Object.keys(s).map(panel)}
    </div>
  );
}
