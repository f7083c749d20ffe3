// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Small parts that views share.
import type { Signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { version } from '../data/page';
import { useEffect, useState } from 'preact/hooks';

/** Returns the value of a promise, undefined until then; the view shows an error as a line. For a recording that grows, returns the last
 * value until there is a new one. */
export function useData<T>(get: (() => Promise<T>) & { now?: () => T | undefined }): T | undefined {
  const [data, set] = useState<T | undefined>(get.now?.());
  const [error, fail] = useState<Error>();
  useEffect(() => {
    let mine = true;
    get().then((v) => mine && set(() => v), (e) => mine && fail(e));
    return () => void (mine = false);
  }, [version.value]);
  if (error && data === undefined) throw error;
  return data;
}

export const Loading = () => <p class="loading">Reading…</p>;

export function Figure({ label, value, sub, title }: { label: string; value: string; sub?: string; title?: string }) {
  return (
    <div class="figure" title={title}>
      <span class="soft">{label}</span>
      <b>{value}</b>
      {sub && <small class="soft">{sub}</small>}
    </div>
  );
}

export function Panel({ title, children, extra }: { title: string; children: ComponentChildren; extra?: ComponentChildren }) {
  return (
    <section class="panel">
      <header>
        <h2>{title}</h2>
        {extra}
      </header>
      {children}
    </section>
  );
}

export function Choice<T extends string>({ label, value, options, onPick }: { label: string; value: T; options: readonly (readonly [T, string])[]; onPick: (v: T) => void }) {
  if (options.length > 9)
    return (
      <select aria-label={label} value={value} onChange={(e) => onPick(e.currentTarget.value as T)}>
        {options.map(([v, text]) => (
          <option key={v} value={v}>
            {text}
          </option>
        ))}
      </select>
    );
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map(([v, text]) => (
        <button key={v} aria-pressed={v === value} onClick={() => onPick(v)}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** A choice that the address keeps; the first option is the default. */
export function Kept<T extends string>({ label, of, options, then }: { label: string; of: Signal<string>; options: readonly (readonly [T, string])[]; then?: () => void }) {
  const pick = (v: T) => {
    of.value = v === options[0][0] ? '' : v;
    then?.();
  };
  return <Choice label={label} value={(of.value || options[0][0]) as T} options={options} onPick={pick} />;
}

/** A search box; `rest` is for the box itself. */
export const Search = ({ label, hint = label, value, set, ...rest }: { label: string; hint?: string; value: string; set: (v: string) => void } & Omit<JSX.HTMLAttributes<HTMLInputElement>, 'label'>) => (
  <input type="search" placeholder={hint} aria-label={label} value={value} onInput={(e) => set(e.currentTarget.value)} {...rest} />
);

/** A list of names and values; false rows are left out. */
export const Facts = ({ rows, ...rest }: { rows: readonly (false | readonly [ComponentChildren, ComponentChildren])[] } & JSX.HTMLAttributes<HTMLDListElement> & Record<`data-${string}`, string>) => (
  <dl class="facts row" {...rest}>
    {rows.map(
      (r, i) =>
        r && (
          <div key={i}>
            <dt>{r[0]}</dt>
            <dd>{r[1]}</dd>
          </div>
        ),
    )}
  </dl>
);

/** A section whose content is made when it is opened: tables behind pictures. */
export function Fold({ title, children }: { title: string; children: () => ComponentChildren }) {
  const [open, set] = useState(false);
  return (
    <details onToggle={(e) => set(e.currentTarget.open)}>
      <summary>{title}</summary>
      {open && children()}
    </details>
  );
}

/** A square in the colour of a legend entry. */
export const Square = ({ color, width = 10, height = 10 }: { color: string; width?: number; height?: number }) => (
  <svg width={width} height={height} aria-hidden="true">
    <rect width={width} height={height} rx={width > 4 ? 2 : 0} fill={color} />
  </svg>
);

export function Legend({ items }: { items: readonly { color: string; text: string; title?: string; value?: string }[] }) {
  return (
    <ul class="legend">
      {items.map((i) => (
        <li key={i.title ?? i.text}>
          <Square color={i.color} />
          <span title={i.title ?? i.text}>{i.text}</span>
          {i.value && <b>{i.value}</b>}
        </li>
      ))}
    </ul>
  );
}
