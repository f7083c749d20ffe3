#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A reader of .tide files written from docs/formats/tide.md alone, slow and obvious.

It knows the containers (file head, chunk, ring file) and the wire types; everything else it takes from
the file's own SCHEMA chunk. The fault tests use it, so it is also a second opinion on the C reader. No
checksum: Python's library has no XXH3; a torn chunk is recognised by the ring file's presence and by
its records not filling it exactly.

    tide_read.py FILE.tide          counts and losses
    tide_read.py FILE.tide --dump   every record
"""
import os
import struct
import sys
from collections import Counter

CHUNKS = {1: "schema", 2: "definitions", 3: "events", 4: "clock", 5: "facts", 6: "loss", 7: "end"}
FILE_HEAD = struct.Struct("<8sHHI16sQQqqII48sQ")
CHUNK_HEAD = struct.Struct("<IHHIIIIQQIIQQ")
BLOCK_HEAD = struct.Struct("<IIQIIQQQ")
SLOT = struct.Struct("<QQQII")


class Bad(Exception):
	pass


class Cursor:
	def __init__(self, data):
		self.data, self.at = data, 0

	def byte(self):
		if self.at >= len(self.data):
			raise Bad("payload ends in a record")
		self.at += 1
		return self.data[self.at - 1]

	def v(self):
		value = shift = 0
		while True:
			b = self.byte()
			value |= (b & 0x7F) << shift
			if b < 0x80:
				return value & (1 << 64) - 1
			shift += 7
			if shift > 63:
				raise Bad("varint too long")

	def z(self):
		n = self.v()
		return (n >> 1) ^ -(n & 1)

	def bytes(self, n):
		if n > len(self.data) - self.at:
			raise Bad("payload ends in a record")
		self.at += n
		return self.data[self.at - n : self.at]


def recent_index(addr):
	return (addr * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 56


class Memory:
	"""The state that the records of one chunk share."""

	def __init__(self, ticks=0):
		self.ticks, self.addr, self.pool, self.stream, self.recent = ticks, 0, 0, 0, [0] * 256


def field(c, wire, tag, m):
	if wire == "v":
		return c.v()
	if wire == "z":
		return c.z()
	if wire == "s":
		return c.bytes(c.v()).decode("utf-8", "replace")
	if wire == "d":
		return struct.unpack("<d", c.bytes(8))[0]
	if wire == "a":
		return [c.v() for _ in range(c.v())]
	if wire == "t":
		m.ticks += c.v()
		return m.ticks
	if wire == "x":
		m.addr = m.recent[c.byte()] if tag & 0x40 else m.addr + c.z() & (1 << 64) - 1
		m.recent[recent_index(m.addr)] = m.addr
		return m.addr
	if wire == "p":
		m.pool = c.v() if tag & 0x80 else m.pool
		return m.pool
	if wire == "q":
		m.stream = c.v() if tag & 0x80 else m.stream
		return m.stream
	raise Bad("unknown wire type " + wire)


class Tide:
	"""A recording: .events[ring] = list of (name, fields), .defs, .facts, .lost, .total, .clean."""

	def __init__(self, path):
		self.events, self.defs, self.facts, self.ticks = {}, {}, {}, []
		self.lost, self.total, self.clean, self.schema = {}, None, False, {}
		self.next, self.lane, self.log, self.chunks = {}, {}, b"", Counter()
		self.from_rings, self.torn, self.defined = 0, False, {}
		with open(path, "rb") as f:
			data = f.read()
		self.size = len(data)
		if len(data) < 128 or data[:8] != b"TIDEMARK":
			raise Bad("not a .tide file")
		head = FILE_HEAD.unpack_from(data)
		self.recording, self.pid, self.start_ticks, self.clock = head[4], head[5], head[6], head[9]
		rings = path + "-rings"
		self.rings = open(rings, "rb").read() if os.path.exists(rings) else None
		if self.rings is not None and self.rings[16:32] != self.recording:
			self.rings = None
		self.read_chunks(data, head[3])
		if self.rings is not None and not self.clean:
			self.read_rings(self.rings)
		self.read_log()

	def read_chunks(self, data, at):
		while at + 64 <= len(data):
			h = CHUNK_HEAD.unpack_from(data, at)
			if h[0] == 0:
				return
			if h[0] != 0x4B4E4843 or at + 64 + h[3] > len(data):
				raise Bad("bad chunk at byte %d" % at)
			try:
				self.chunk(h, data[at + 64 : at + 64 + h[3]], at)
			except Bad:
				if self.rings is None:
					raise
				self.torn = True
				return
			at += 64 + h[3]

	def chunk(self, h, payload, at):
		_, kind, flags, stored, raw, ring, lane, first, slots, count, depth, ticks, _ = h
		if flags:
			raise Bad("packed chunk at byte %d" % at)
		kind = CHUNKS.get(kind, "?")
		if kind == "schema":
			self.read_schema(payload)
		elif kind == "definitions":
			if first != len(self.log) or slots != len(payload):
				raise Bad("definitions at byte %d do not follow" % at)
			for name, f in self.records(payload, count):
				self.define(name, f)
			self.log += payload
		elif kind == "events":
			if not slots and "loss.window_events" in self.facts:  # the ring continues here
				self.next[ring], self.lane[ring] = first, lane
			if first != self.next.get(ring, 0):
				raise Bad("chunk at byte %d: ring %d goes on at slot %d, not %d" % (at, ring, self.next.get(ring, 0), first))
			got = self.records(payload, count, Memory(ticks))
			if lane != self.lane.get(ring, 0):
				raise Bad("chunk at byte %d: lane %d, not %d" % (at, lane, self.lane.get(ring, 0)))
			self.next[ring] = first + slots
			self.add_events(ring, got)
			self.check_defined(got, at)
		elif kind != "?":
			for name, f in self.records(payload, count):
				self.other(name, f)
		self.chunks[kind] += 1

	def define(self, name, f):
		"""Ids are dense from 1 in each kind."""
		i = f["lane" if name == "thread" else "id"]
		if i != self.defined.get(name, 0) + 1:
			raise Bad("%s %d follows %d" % (name, i, self.defined.get(name, 0)))
		self.defined[name] = i

	def check_defined(self, events, at):
		"""An id stands in the file before it is used."""
		kinds = {"name": "name", "counter": "name", "key": "name", "stack": "stack", "lane": "thread"}
		for name, f in events:
			for key, kind in kinds.items():
				if f.get(key, 0) > self.defined.get(kind, 0):
					raise Bad("chunk at byte %d: %s %d is not defined yet" % (at, kind, f[key]))

	def read_schema(self, payload):
		c = Cursor(payload)
		while c.at < len(payload):
			tag = c.byte()
			name, wire, fields = (c.bytes(c.v()).decode() for _ in range(3))
			self.schema[tag] = (name, wire, fields.split(","))

	def records(self, payload, count, m=None):
		c, out = Cursor(payload), []
		while c.at < len(payload):
			tag = c.byte()
			if tag & 0x3F not in self.schema:
				raise Bad("unknown tag")
			name, wire, fields = self.schema[tag & 0x3F]
			out.append((name, {k: field(c, w, tag, m) for k, w in zip(fields, wire)}))
		if len(out) != count:
			raise Bad("%d records, not %d" % (len(out), count))
		return out

	def add_events(self, ring, got):
		for name, f in got:
			if name == "lane":
				self.lane[ring] = f["lane"]
			f["lane_now"] = self.lane.get(ring, 0)
		self.events.setdefault(ring, []).extend(got)

	def other(self, name, f):
		if name == "tick":
			self.ticks.append((f["ticks"], f["mono_raw"], f["real"]))
		elif name == "fact_text":
			self.facts[f["key"]] = f["text"]
		elif name == "fact_number":
			self.facts[f["key"]] = f["number"]
		elif name == "lost":
			self.lost[f["ring"]] = (f["full"], f["signal"], f["other"])
		elif name == "total":
			self.total, self.clean = f, True

	def read_log(self):
		c = Cursor(self.log)
		while c.at < len(self.log):
			name, wire, fields = self.schema[c.byte()]
			f = {k: field(c, w, 0, None) for k, w in zip(fields, wire)}
			self.defs.setdefault(name, {})[f.get("id", f.get("lane"))] = f

	def read_rings(self, data):
		if data[:8] != b"TIDERING":
			raise Bad("not a ring file")
		at = struct.unpack_from("<I", data, 12)[0]
		log_used, lost_other, lost_signal = struct.unpack_from("<QQQ", data, 64)
		self.lost[0] = (0, lost_signal, lost_other)
		log = b""
		while at + 4096 <= len(data):
			magic, kind, size, ring, _, slots, first, capacity = BLOCK_HEAD.unpack_from(data, at)
			if magic == 0:
				break
			if magic != 0x4B434C42 or size % 4096 or size < 8192 or at + size > len(data):
				raise Bad("bad block at byte %d of the ring file" % at)
			if kind == 2:
				if first != len(log):
					raise Bad("log block does not follow")
				log += data[at + 4096 : at + size]
			else:
				self.ring(data, at, ring, slots)
			at += size
		self.log += log[len(self.log) : log_used]

	def ring(self, data, at, ring, slots):
		head, full, signal, other, extra = struct.unpack_from("<QQQQQ", data, at + 64)
		tail = struct.unpack_from("<Q", data, at + 128)[0]
		q = self.next.get(ring, 0)
		if not (tail <= q <= head and head - tail <= slots):
			raise Bad("ring %d: tail %d, file %d, head %d" % (ring, tail, q, head))
		self.lost[ring] = (full, signal, other)
		got = []
		while q < head:
			self.from_rings += 1
			n, record = self.slot(data, at + 4096, slots, q)
			got.append(record)
			q += n
		self.next[ring] = q
		self.add_events(ring, got)

	def slot(self, data, at, slots, q):
		def raw(i):
			o = at + (q + i) % slots * 32
			return data[o : o + 32]

		t, a, b, c, h = SLOT.unpack(raw(0))
		name = self.schema[h & 0xFF][0]
		size, stream, pool = b & (1 << 48) - 1, b >> 48, h >> 8 & 0xFFF
		f = {"dt": t, "depth": h >> 20}
		n = 1
		if name == "lane":
			f.update(lane=a, tid=b)
		elif name in ("begin", "begin_arg"):
			f.update(name=c, arg=a)
		elif name in ("alloc", "alloc_stack", "alloc_full"):
			f.update(addr=a, size=size, stream=stream, pool=pool, stack=c)
			if name == "alloc_full":
				f["requested"] = SLOT.unpack(raw(1))[0]
				n = 2
		elif name == "free":
			f.update(addr=a, pool=pool)
		elif name in ("segment_alloc", "segment_free"):
			f.update(addr=a, size=size, stream=stream, pool=pool, kind=c)
		elif name == "tensor":
			ndim = b >> 24 & 0xFF
			n = 1 + (ndim + 3) // 4
			words = struct.unpack("<%dQ" % (4 * (n - 1)), b"".join(raw(i) for i in range(1, n)))
			f.update(addr=a, pool=pool, name=c, dtype=b & 0xFF, role=b >> 8 & 0xFF, grad=b >> 16 & 0xFF, shape=list(words[:ndim]))
		elif name == "view":
			ndim = b >> 24 & 0xFF
			n = 1 + (ndim + 4) // 4
			words = struct.unpack("<%dQ" % (4 * (n - 1)), b"".join(raw(i) for i in range(1, n)))
			f.update(addr=a, pool=pool, name=c, dtype=b & 0xFF, role=b >> 8 & 0xFF, grad=b >> 16 & 0xFF, shape=list(words[1:1 + ndim]),
			         offset=words[0])
		elif name == "sample":
			f.update(counter=c, value=struct.unpack("<d", struct.pack("<Q", a))[0])
		elif name == "mark":
			f.update(value=a - (a >> 63 << 64), name=c, kind=b)
		elif name == "annotation":
			n = 1 + (a + 31) // 32
			f.update(key=c, text=b"".join(raw(i) for i in range(1, n))[:a].decode("utf-8", "replace"))
		elif name == "oom":
			f.update(free=a - (a >> 63 << 64), size=size, pool=pool)
		elif name != "end":
			raise Bad("slot of unknown type %d" % (h & 0xFF))
		return n, (name, f)

	def lost_total(self):
		return sum(sum(x) for x in self.lost.values())

	def name(self, i):
		return self.defs.get("name", {}).get(i, {}).get("text")

	def all_events(self):
		"""(name, fields) of every event, ring after ring; without lane and depth records."""
		for ring in sorted(self.events):
			for name, f in self.events[ring]:
				if name not in ("lane", "depth"):
					yield name, f


def main():
	t = Tide(sys.argv[1])
	if "--dump" in sys.argv:
		for ring in sorted(t.events):
			for name, f in t.events[ring]:
				print(ring, name, f)
		print(t.defs)
		print(t.facts)
	count = Counter(name for name, _ in t.all_events())
	n = sum(count.values())
	print("events %d %s" % (n, dict(count)))
	print("chunks %s, %d bytes, %.2f a event" % (dict(t.chunks), t.size, t.size / max(n, 1)))
	print("lost %s, clean %s, from rings %d, torn %s" % (t.lost, t.clean, t.from_rings, t.torn))
	print("total %s, clock points %d, lanes %d" % (t.total, len(t.ticks), len(t.defs.get("thread", {}))))


if __name__ == "__main__":
	main()
