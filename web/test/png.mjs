// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Small PNGs: reads what the browser writes (8 bits, RGB or RGBA, not interlaced) and writes at most 32
// colours, the most used ones, with the nearest colour for each pixel. Pages have few colours, so the difference is hardly
// visible.
import { deflateSync, inflateSync } from 'node:zlib';

const COLORS = 32;

function chunks(png) {
  const out = [];
  for (let at = 8; at < png.length; ) {
    const n = png.readUInt32BE(at);
    out.push([png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + n)]);
    at += 12 + n;
  }
  return out;
}

const paeth = (a, b, c) => {
  const [p, q, r] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  return p <= q && p <= r ? a : q <= r ? b : c;
};

/** { width, height, rgb } of a PNG. */
export function read(png) {
  const parts = chunks(png);
  const head = parts.find(([k]) => k === 'IHDR')[1];
  const [width, height, depth, kind, lace] = [head.readUInt32BE(0), head.readUInt32BE(4), head[8], head[9], head[12]];
  if (depth !== 8 || lace || (kind !== 2 && kind !== 6)) throw new Error('a PNG of another kind');
  const n = kind === 2 ? 3 : 4;
  const raw = inflateSync(Buffer.concat(parts.filter(([k]) => k === 'IDAT').map(([, d]) => d)));
  const line = width * n;
  const rgb = Buffer.alloc(width * height * 3);
  let above = Buffer.alloc(line);
  for (let y = 0; y < height; y++) {
    const from = raw.subarray(y * (line + 1) + 1, (y + 1) * (line + 1));
    const how = raw[y * (line + 1)];
    for (let i = 0; i < line; i++) {
      const [a, b, c] = [i >= n ? from[i - n] : 0, above[i], i >= n ? above[i - n] : 0];
      from[i] += [0, a, b, (a + b) >> 1, paeth(a, b, c)][how];
    }
    for (let x = 0; x < width; x++) from.copy(rgb, (y * width + x) * 3, x * n, x * n + 3);
    above = from;
  }
  return { width, height, rgb };
}

/** The most used colours: all that fill a hundredth of the picture; of the others, those that are not close to a chosen one. */
function palette(rgb) {
  const count = new Map();
  for (let i = 0; i < rgb.length; i += 3) {
    const key = (rgb[i] << 16) | (rgb[i + 1] << 8) | rgb[i + 2];
    count.set(key, (count.get(key) ?? 0) + 1);
  }
  const order = [...count].sort((a, b) => b[1] - a[1]).map(([k]) => k);
  const large = order.filter((c) => count.get(c) > rgb.length / 300).slice(0, COLORS / 2);
  for (let near = 40; ; near = Math.floor(near / 2)) {
    const taken = [...large];
    for (const c of order) {
      if (taken.length === COLORS) break;
      if (taken.every((t) => Math.abs((t >> 16) - (c >> 16)) + Math.abs(((t >> 8) & 255) - ((c >> 8) & 255)) + Math.abs((t & 255) - (c & 255)) > near)) taken.push(c);
    }
    if (taken.length >= Math.min(COLORS, order.length) || near === 0) return taken;
  }
}

function crc(data) {
  let c = ~0;
  for (const b of data) {
    c ^= b;
    for (let k = 0; k < 8; k++) c = (c >>> 1) ^ (c & 1 ? 0xedb88320 : 0);
  }
  return ~c >>> 0;
}

function chunk(kind, data) {
  const body = Buffer.concat([Buffer.from(kind, 'latin1'), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc(body), body.length + 4);
  return out;
}

export function shrink(png) {
  const { width, height, rgb } = read(png);
  const colors = palette(rgb);
  const known = new Map();
  const nearest = (key) => {
    let best = 0;
    let least = Infinity;
    colors.forEach((t, i) => {
      const d = ((t >> 16) - (key >> 16)) ** 2 + (((t >> 8) & 255) - ((key >> 8) & 255)) ** 2 + ((t & 255) - (key & 255)) ** 2;
      if (d < least) [least, best] = [d, i];
    });
    known.set(key, best);
    return best;
  };
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const i = (y * width + x) * 3;
      const key = (rgb[i] << 16) | (rgb[i + 1] << 8) | rgb[i + 2];
      rows[y * (width + 1) + 1 + x] = known.get(key) ?? nearest(key);
    }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
    chunk('IHDR', head),
    chunk('PLTE', Buffer.from(colors.flatMap((c) => [c >> 16, (c >> 8) & 255, c & 255]))),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
