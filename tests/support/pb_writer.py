# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Writes protobuf wire format, for inputs that tests make.

    message([(1, 7), (2, "text"), (3, message([...])), (4, [1, 2, 3])])    # a list is packed"""
import struct


def varint(v: int) -> bytes:
    v &= (1 << 64) - 1
    out = bytearray()
    while v > 0x7f:
        out.append(v & 0x7f | 0x80)
        v >>= 7
    out.append(v)
    return bytes(out)


def field(number: int, value) -> bytes:
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, list):
        value = b"".join(map(varint, value))
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(fields: list) -> bytes:
    return b"".join(field(n, v) for n, v in fields)


class Profile:
    """A pprof profile: samples of (stack of function names, leaf first; values; labels)."""

    def __init__(self, types=(("inuse_objects", "count"), ("inuse_space", "bytes")), period=0, time=0):
        self.texts, self.functions, self.samples = [""], [], []
        self.types = [(self.text(t), self.text(u)) for t, u in types]
        self.period, self.time = period, time

    def text(self, s: str) -> int:
        if s not in self.texts:
            self.texts.append(s)
        return self.texts.index(s)

    def add(self, stack, values, labels=()):
        for name in stack:
            if name not in self.functions:
                self.functions.append(name)
        ids = [self.functions.index(name) + 1 for name in stack]
        self.samples.append(message([(1, ids), (2, list(values))] + [(3, message([(1, self.text(k)), (2, self.text(v))])) for k, v in labels]))
        return self

    def bytes(self) -> bytes:
        named = [(i + 1, self.text(name), self.text(name + ".c")) for i, name in enumerate(self.functions)]
        fields = [(1, message([(1, t), (2, u)])) for t, u in self.types] + [(2, s) for s in self.samples]
        for i, name, file in named:
            fields += [(4, message([(1, i), (3, 0x1000 + i), (4, message([(1, i), (2, 10 + i)]))])),
                       (5, message([(1, i), (2, name), (3, name), (4, file)]))]
        fields += [(6, s) for s in self.texts] + [(9, self.time), (12, self.period)]
        return message(fields)
