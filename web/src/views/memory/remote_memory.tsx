// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The memory view of a recording with too many allocations to be sent: the server leaves out those that are not
// live at the highest moment of an interval of the window (src/analyze/memory/downsample_allocs.h). Zooming in, or selecting a moment, asks again.
import { useEffect, useRef, useState } from 'preact/hooks';
import { count } from '../../data/format';
import { bytesOf } from '../../data/live';
import { type Memory, type MemoryJson, readMemory } from '../../data/memory';
import type { Main } from '../../data/page';
import { gunzip, open } from '../../data/section';
import { type Allocator, type AllocatorJson, readAllocator } from '../../data/allocator';
import { alloc, moment, range } from '../../state';
import { Loading } from '../../ui/parts';
import { MemoryOf } from './memory_view';
import { pane } from './scene';

const STRETCHES = 1024;

const ask = async <T,>(id: string, section: string, query: string) => open<T>(await gunzip(await bytesOf(`/data/${id}/${section}?${query}`)));
export const thinned = async (id: string, query: string): Promise<Memory> => readMemory(await ask<MemoryJson>(id, 'memory', query));

interface Have {
  of: Main; // the version of the recording
  m: Memory;
  from: number;
  to: number;
  at: number | null;
  query: string;
}

export function FarMemory({ id, main }: { id: string; main: Main }) {
  const [have, set] = useState<Have>();
  const [why, fail] = useState('');
  const asking = useRef(0);
  const [t0, t1] = range.value;
  const at = moment.value;
  useEffect(() => {
    const wide = t1 - t0;
    const fine = have && have.of === main && have.from <= t0 && have.to >= Math.min(t1, main.t_end) && (have.to - have.from <= 3 * wide || !have.m.json.left_out);
    if (fine && (have.at === at || at === null || !have.m.json.left_out)) return;
    const mine = ++asking.current;
    const later = setTimeout(async () => {
      const from = Math.max(0, Math.floor(t0 - wide / 2));
      const to = Math.max(from + 1, Math.min(main.t_end + 1, Math.ceil(t1 + wide / 2)));
      try {
        const query = `from=${from}&to=${to}&px=${STRETCHES}${at === null ? '' : `&at=${Math.round(at)}`}`;
        const m = await thinned(id, query);
        if (mine !== asking.current) return;
        alloc.value = null; // numbers refer to the data that were sent
        set({ of: main, m, from, to, at, query });
        fail('');
      } catch (e) {
        fail((e as Error).message);
      }
    }, have ? 250 : 0);
    return () => clearTimeout(later);
  }, [id, main, t0, t1, at]);
  // The map's rows refer to the data that were sent, and it is exact at the requested moment.
  const [map, setMap] = useState<{ of: Have; a: Allocator }>();
  const mapped = pane.value === 'map' && main.devices.some((d) => d.reserved_source === 'segments');
  useEffect(() => {
    if (!have || !mapped || map?.of === have) return;
    ask<AllocatorJson>(id, 'allocator', have.query).then(
      (s) => setMap({ of: have, a: readAllocator(s) }),
      (e) => fail((e as Error).message),
    );
  }, [have, mapped]);
  if (!have) return why ? <p class="error">{why}</p> : <Loading />;
  const { left_out: left = 0, intervals = 0 } = have.m.json;
  return (
    <>
      {why && <p class="error">{why}</p>}
      {left > 0 && (
        <p class="soft">
          {count(main.allocs)} allocations, {count(have.m.n)} of them here: all that live at the highest moment of one of {count(intervals)} intervals of what is in sight. Peaks, and a moment that is chosen, are exact; between them memory is drawn no higher than it was. Look closer for more.
        </p>
      )}
      <MemoryOf main={main} m={have.m} map={mapped ? (map?.of === have && (at === null || have.at === at || !left) ? map : {}) : undefined} />
    </>
  );
}
