// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Every value of an exported report is in a table, and unknown ones are marked.
import { describe, expect, it } from 'vitest';
import { tablesOf, textOf } from '../src/views/dashboard/exported';

describe('exported reports', () => {
  it('shows every value', () => {
    const t = tablesOf({ format: 'tidemark-profiling', report: 'hta', why: null, temporal_breakdown: { compute_pct: 80, memory_pct: null }, kernel_analysis: { top_kernels: [{ name: 'k', count: 3 }], launch_stats: {} }, recommendations: ['a'], bottlenecks: [] });
    expect(t.map((x) => x.title)).toEqual(['Report', 'Temporal breakdown', 'Kernel analysis', 'Kernel analysis: top kernels', 'Recommendations']);
    expect(t[0].rows).toEqual([{ name: 'report', value: 'hta' }, { name: 'why', value: null }]);
    expect(t[1].rows).toEqual([{ name: 'compute_pct', value: 80 }, { name: 'memory_pct', value: null }]);
    expect(t[3].rows).toEqual([{ name: 'k', count: 3 }]);
    expect(t[4].rows).toEqual([{ value: 'a' }]);
  });
  it('writes values', () => {
    expect([null, undefined, 0, false, 'a', [1, null], { a: 1 }].map((v) => textOf(v))).toEqual(['–', '–', '0', 'false', 'a', '[1,null]', '{"a":1}']);
  });
});
