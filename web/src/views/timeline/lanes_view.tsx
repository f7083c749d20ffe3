// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The list of lanes: show, fold and move them, also with the keyboard.
import { count } from '../../data/format';
import type { Spans } from '../../data/spans';
import { kindColor } from '../../draw/colors';
import { css } from '../../draw/pixels';
import { Square } from '../../ui/parts';
import { type Arrangement, arrange, flipClosed, flipHidden, initial, moveTrack } from './lanes';

export function LaneList({ spans, a, close }: { spans: Spans; a: Arrangement; close: () => void }) {
  const all = spans.tracks.map((_, k) => k);
  return (
    <section class="panel" id="lanes">
      <header>
        <h2>Lanes</h2>
        <span class="actions">
          <button onClick={() => arrange({ ...a, hidden: new Set() })}>Show all</button>
          <button onClick={() => arrange({ ...a, closed: new Set(all) })}>Fold all</button>
          <button onClick={() => arrange({ ...a, closed: new Set() })}>Unfold all</button>
          <button onClick={() => arrange(initial())}>As it came</button>
          <button onClick={close}>Close</button>
        </span>
      </header>
      <ol class="lanes">
        {a.order.map((k, i) => {
          const t = spans.tracks[k];
          return (
            <li key={k}>
              <Square color={css(kindColor(t.kind))} width={4} height={16} />
              <label>
                <input type="checkbox" checked={!a.hidden.has(k)} onChange={() => arrange(flipHidden(a, k))} />
                <span title={t.name}>{t.name}</span>
              </label>
              <span class="soft">{count(t.count)} spans</span>
              <button aria-pressed={a.closed.has(k)} onClick={() => arrange(flipClosed(a, k))}>{a.closed.has(k) ? 'Unfold' : 'Fold'}</button>
              <button aria-label={`${t.name}: move up`} disabled={!i} onClick={() => arrange(moveTrack(a, k, a.order[i - 1]))}>↑</button>
              <button aria-label={`${t.name}: move down`} disabled={i + 1 === a.order.length} onClick={() => arrange(moveTrack(a, a.order[i + 1], k))}>↓</button>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
