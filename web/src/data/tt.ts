// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The section of a Tenstorrent run (src/render/page/page_tt.c): bytes are those of one bank.
import { once } from './page';
import { load } from './section';

export type Row = Record<string, string | number | null>;

export interface TtJson {
  operations: number;
  ranks: number;
  peak_padding_overhead_pct: number | null;
  peaks: Row[];
  dram_at_peak: Row[];
  top_growers_dram: Row[];
  top_growers_l1: Row[];
  top_consumers_dram: Row[];
  fragmentation: Row[];
  padding: Row[];
  const_eval: Row[];
  out_of_memory: Row[];
  weights: Row[];
  skipped: Row[];
  pools: { name: string; banks: number; capacity: number }[];
  names: string[];
  texts_left_out: boolean;
  ir: string;
}

export interface Tt {
  json: TtJson;
  n: number;
  before: Float64Array[]; // by pool: allocated before each operation
  high: Float64Array[]; // highest from there to the next operation
  fragm: Float64Array[]; // 1 + hundredths of a percent, 0 = unknown
  change: Float64Array[]; // 0 = unknown, 1 + bytes if it grew, bytes if it shrank
  weights: Float64Array; // in DRAM, before each operation
  activations: Float64Array;
  name: Int32Array;
  text: Int32Array;
  graph: Int32Array;
  ir: Int32Array; // line in the ttnn module, 0 = absent
  line: Float64Array; // in the log
  rank: Int32Array; // -1 = the log names none
  position: Float64Array; // on the axis: operations of all ranks at one position ran side by side
}

/** Operations of one rank, or of all. */
export interface Part {
  at: Int32Array; // their rows in Tt
  length: number; // of the axis
}

export const ranksOf = (t: Tt): number[] => [...new Set(t.rank)].filter((r) => r >= 0).sort((a, b) => a - b);

export const partOf = (t: Tt, rank: number | null): Part => {
  const at = Int32Array.from(t.rank.keys());
  return { at: rank === null ? at : at.filter((i) => t.rank[i] === rank), length: t.n ? t.position[t.n - 1] + 1 : 1 };
};

/** Returns the change of a pool by an operation; null = unknown. */
export const changeOf = (v: number): number | null => (v === 0 ? null : v > 0 ? v - 1 : v);

export const getTt = once(async (): Promise<Tt> => {
  const s = await load<TtJson>('tt');
  const four = (key: string) => [0, 1, 2, 3].map((p) => s.column(key + p));
  const name = s.ints('name');
  return {
    json: s.json,
    n: name.length,
    before: four('before'),
    high: four('high'),
    fragm: four('fragm'),
    change: four('change'),
    weights: s.column('weights'),
    activations: s.column('activations'),
    name,
    text: s.ints('text'),
    graph: s.ints('graph'),
    ir: s.ints('ir'),
    line: s.column('line'),
    rank: s.ints('rank'),
    position: s.column('position'),
  };
});
