// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Formats numbers in the units of the command line.
const scale = (v: number | null, units: string[], step: number): string => {
  if (v === null || isNaN(v)) return '–'; // unknown
  let i = 0;
  let x = Math.abs(v);
  while (x >= step && i < units.length - 1) {
    x /= step;
    i++;
  }
  const digits = i === 0 ? 0 : x >= 100 ? 1 : x >= 10 ? 2 : 3;
  return `${v < 0 ? '-' : ''}${x.toFixed(digits)} ${units[i]}`;
};

export const bytes = (v: number | null): string => scale(v, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'], 1024);
/** Returns whether it is a host's heap, which reserves nothing and has no device size. */
export const host = (d: { device: string }): boolean => /^cpu/.test(d.device);
/** Returns a device's reserved bytes as text. */
export const held = (d: { device: string; reserved_peak: number | null; reserved_source: string | null }): string =>
  d.reserved_peak === null ? (host(d) ? '' : 'reserved unknown') : `${bytes(d.reserved_peak)} reserved at most${d.reserved_source === 'samples' ? ' (sampled)' : ''}`;
export const delta = (v: number): string => (v > 0 ? '+' : '') + bytes(v);
/** ops: true if the shown trace counts operations, not time; moments are then numbers of operations. */
export const axis = { ops: false };
export const ns = (v: number): string => {
  if (axis.ops) return `op ${count(Math.floor(v / 1000))}`;
  if (Math.abs(v) >= 60e9) return `${(v / 1e9).toFixed(2)} s`;
  return scale(v, ['ns', 'µs', 'ms', 's'], 1000);
};
/** Returns a duration as text; without a clock, the number of operations that it covers. */
export const lasts = (v: number): string => (axis.ops ? plural(Math.ceil(v / 1000), 'op') : ns(v));
/** Returns a moment to the nanosecond: the digits that a difference of moments needs. */
export const exact = (v: number): string => (axis.ops ? ns(v) : `${(v / 1e6).toFixed(6).replace(/(\.\d{3})(\d{3})/, '$1 $2')} ms`);
export const plural = (n: number, what: string): string => `${count(n)} ${what}${n === 1 ? '' : 's'}`;
export const count = (v: number): string => Math.round(v).toLocaleString('en-US');
/** Returns a date, "2026-11-19", or with the time, "2026-11-19 20:01 UTC": UTC, as in the program's texts. */
export const day = (unixNs: number): string => new Date(unixNs / 1e6).toISOString().slice(0, 10);
export const when = (unixNs: number): string => `${new Date(unixNs / 1e6).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
export const percent = (v: number): string => `${v.toFixed(v < 10 ? 2 : 1).replace(/^-(?=0\.0+$)/, '')} %`;

/** Formats a table cell by the end of its key (`..._ns`, `..._bytes`, `..._pct`), ignoring units per bank or per operation; text
 * is unchanged. */
export function byKey(key: string, v: unknown): string {
  if (v === null || v === undefined) return '–';
  if (typeof v !== 'number') return String(v);
  key = key.replace(/_per_\w+$/, '');
  if (key.endsWith('_ns')) return ns(v);
  if (key.endsWith('bytes')) return bytes(v);
  if (key.endsWith('_pct')) return percent(v);
  return Number.isInteger(v) ? count(v) : v.toFixed(2);
}

/** Returns the innermost folder that contains all of them. */
export function common(folders: readonly string[]): string {
  const parts = folders.map((f) => f.split('/'));
  const n = parts[0].findIndex((p, i) => parts.some((q) => q[i] !== p));
  return (n < 0 ? parts[0] : parts[0].slice(0, n)).join('/');
}
