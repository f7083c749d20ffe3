// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// The source of sections: this document, or a server (served.tsx sets that). Both return the same bytes: a gzip member, as
// defined in docs/formats/page.md.

export interface Source {
  has(section: string): boolean; // stays true once it was read
  read(section: string): Promise<Uint8Array<ArrayBuffer>>;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as { fromBase64?: (s: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

const there = typeof document === 'undefined' ? [] : [...document.querySelectorAll('script[id^="tide-"]')].map((e) => e.id.slice(5));
const sections: ReadonlySet<string> = new Set(there);

/** Sections in this document. The text of a section is dropped after reading, because it is large. */
export let source: Source = {
  has: (name) => sections.has(name),
  async read(name) {
    const element = document.getElementById(`tide-${name}`);
    if (!element) throw new Error(`the page has no section ${name}`);
    const packed = fromBase64((element.textContent ?? '').trim());
    element.remove();
    return packed;
  },
};

export const setSource = (s: Source): void => void (source = s);

/** true for a page of a server. */
export const served = sections.has('served');
