# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Readers of our exports in plain Python: protobuf wire format, Perfetto, pprof."""
import gzip
from decimal import Decimal


def varint(b, i):
    v = shift = 0
    while True:
        v |= (b[i] & 127) << shift
        shift += 7
        i += 1
        if b[i - 1] < 128:
            return v & (1 << 64) - 1, i
        assert shift < 70, "varint too long"


def fields(b):
    """(field, value) of a message; bytes for length-delimited ones."""
    i = 0
    while i < len(b):
        key, i = varint(b, i)
        field, wire = key >> 3, key & 7
        assert field, "field 0"
        if wire == 0:
            v, i = varint(b, i)
        elif wire == 1:
            v, i = int.from_bytes(b[i:i + 8], "little"), i + 8
        elif wire == 2:
            n, i = varint(b, i)
            v, i = bytes(b[i:i + n]), i + n
        else:
            raise AssertionError(f"wire type {wire}")
        assert i <= len(b), "message too short"
        yield field, v


def message(b):
    out = {}
    for field, v in fields(b):
        out.setdefault(field, []).append(v)
    return out


def packed(b):
    i, out = 0, []
    while i < len(b):
        v, i = varint(b, i)
        out.append(v)
    return out


def signed(v):
    return v - (1 << 64) if v >> 63 else v


def ns(us):
    """Exact ns of a us number read as Decimal."""
    v = Decimal(us) * 1000
    assert v == v.to_integral_value(), us
    return int(v)


def perfetto(data):
    """Slices (track, name, cat, t0, t1, flows, ended flows, args), tracks, counters by track."""
    names, cats, argn = {}, {}, {}
    tracks, counters, slices, opened = {}, {}, [], {}
    for field, packet in fields(data):
        assert field == 1
        p = message(packet)
        for intern in p.get(12, []):
            for f, entry in fields(intern):
                e = message(entry)
                {1: cats, 2: names, 3: argn}[f][e[1][0]] = e[2][0].decode("utf-8")
        if 60 in p:
            d = message(p[60][0])
            assert d[1][0] not in tracks, "track described twice"
            tracks[d[1][0]] = d
        if 11 not in p:
            continue
        e, t = message(p[11][0]), p[8][0]
        track, kind = e[11][0], e[9][0]
        assert track in tracks, "event on an unknown track"
        if kind == 1:
            args = [message(a) for a in e.get(4, [])]
            name = names[e[10][0]] if 10 in e else e[23][0].decode()  # a window's own row has texts
            s = [track, name, cats[e[3][0]] if 3 in e else e[22][0].decode(), t, None, e.get(47, []), e.get(48, []),
                 {argn[a[1][0]]: signed(a[4][0]) if 4 in a else a[6][0].decode() for a in args if 1 in a}]  # those that link rows have names of their own
            stack = opened.setdefault(track, [])
            assert not stack or stack[-1][3] <= t
            stack.append(s)
            slices.append(s)
        elif kind == 2:
            s = opened[track].pop()
            assert s[3] <= t
            s[4] = t
        elif kind == 4 and 30 in e:
            counters.setdefault(track, []).append((t, e[30][0]))
    assert not any(opened.values()), "slice without an end"
    for d in tracks.values():
        assert 5 not in d or d[5][0] in tracks, "parent of a track is missing"
    return slices, tracks, counters


def pprof(data):
    """(sample types, samples as (stack of names outermost first, values))."""
    p = message(gzip.decompress(data))
    strings = [s.decode("utf-8") for s in p[6]]
    assert strings[0] == ""
    functions = {}
    for f in map(message, p.get(5, [])):
        assert f[1][0] and f[1][0] not in functions
        functions[f[1][0]] = strings[f[2][0]]
    locations = {}
    for l in map(message, p.get(4, [])):
        assert l[1][0] and l[1][0] not in locations
        locations[l[1][0]] = functions[message(l[4][0])[1][0]]
    types = [(strings[t[1][0]], strings[t[2][0]]) for t in map(message, p[1])]
    samples = []
    for s in map(message, p.get(2, [])):
        stack = [locations[i] for i in packed(s[1][0])][::-1]
        values = packed(s[2][0])
        assert len(values) == len(types)
        samples.append((stack, values))
    return types, samples
