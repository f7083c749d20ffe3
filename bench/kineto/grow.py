#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Grow a real Kineto trace to any size: copies of its events follow each other in time.

Every copy gets its own times, correlations, External ids, flow ids and Sequence numbers, so links
stay inside it. Kernels of copy k run on one of several streams, and every n-th kernel is followed by
an NCCL all-reduce on a stream of its own, with its collective arguments.

    grow.py tests/data/kineto_gpt_train.json.gz 1000 /tmp/big.json [--streams 4] [--nccl 40] [--int-us]
"""
import argparse
import gzip
import re

SLOT = re.compile(rb'("(?:ts)": )(\d+)(?:\.(\d+))?|'
                  rb'("(?:correlation|External id|wait_on_cuda_event_record_corr_id|Sequence number)": |"ph": "[sf]", "id": )'
                  rb'(\d+)')
STREAM = re.compile(rb'("tid": |"stream": )(\d+)')
KERNEL = re.compile(rb'"cat": "kernel"')
NCCL = (b'  {\n    "ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL('
        b'ncclDevKernelArgsStorage<4096ul>)", "pid": 0, "tid": %d,\n    "ts": %s, "dur": 41.216,\n    "args": {\n'
        b'      "External id": %d,"queued": 0, "device": 0, "context": 1, "stream": %d, "correlation": %d, '
        b'"Collective name": "allreduce", "In msg nelems": 7077888, "Out msg nelems": 7077888, "Group size": 8, '
        b'"dtype": "BFloat16", "In split size": "[]", "Out split size": "[]", "Process Group Name": "0", '
        b'"Process Group Description": "default_pg", "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]"\n    }\n  },\n')


def read(path):
    raw = open(path, "rb").read()
    return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw


def ns(whole, frac):
    return int(whole) * 1000 + int((frac or b"0").ljust(3, b"0"))


class Template:
    """The events of one copy: literal bytes and numbered slots between them."""

    def __init__(self, raw, nccl):
        start = raw.index(b"[", raw.index(b'"traceEvents"')) + 1
        stop = raw.rindex(b"\n  ],")
        self.head, self.tail = raw[:start] + b"\n", raw[stop:]
        self.parts, self.kinds, self.base = [], [], []
        self.end, self.start, self.ids, kernels = 0, None, 0, 0
        for event in re.split(rb"(?<=\n  }),\n(?=  {\n)", raw[start:stop].lstrip(b"\n")):
            if b'"ph": "M"' in event or b'"cat": "Trace"' in event or b'"s": "g"' in event:
                continue
            kernel = bool(KERNEL.search(event))
            self.add(event + b",\n", kernel)
            if kernel:
                kernels += 1
                if nccl and kernels % nccl == 0:
                    ts = SLOT.search(event)
                    ids = [int(re.search(key + rb'": (\d+)', event)[1]) for key in (b"External id", b"correlation")]
                    self.add(NCCL % (20, ts[2] + b"." + (ts[3] or b"0"), ids[0], 20, ids[1]), False)

    def literal(self, text, kind, base):
        self.parts.append(text)
        self.kinds.append(kind)
        self.base.append(base)

    def add(self, event, kernel):
        at = 0
        found = sorted([(m.start(), m) for m in SLOT.finditer(event)] +
                       ([(m.start(), m) for m in STREAM.finditer(event)] if kernel else []), key=lambda x: x[0])
        for _, m in found:
            if m.re is STREAM:
                self.literal(event[at:m.end(1)], "stream", int(m[2]))
                at = m.end(2)
            elif m[1]:
                t = ns(m[2], m[3])
                self.start = t if self.start is None else min(self.start, t)
                self.end = max(self.end, t)
                self.literal(event[at:m.end(1)], "ts", t)
                at = m.end(3) if m[3] else m.end(2)
            else:
                self.ids = max(self.ids, int(m[5]))
                self.literal(event[at:m.end(4)], "id", int(m[5]))
                at = m.end(5)
        self.literal(event[at:], "", 0)

    def copy(self, k, streams, int_us):
        shift, ids = k * (self.end - self.start + 1_000_000), k * (self.ids + 1)
        out = []
        for text, kind, base in zip(self.parts, self.kinds, self.base):
            out.append(text)
            if kind == "ts":
                t = base + shift
                out.append(b"%d" % (t // 1000) if int_us else b"%d.%03d" % divmod(t, 1000))
            elif kind == "id":
                out.append(b"%d" % (base + ids if base else 0))
            elif kind == "stream":
                out.append(b"%d" % (base + k % streams))
        return b"".join(out)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("trace")
    p.add_argument("megabytes", type=float)
    p.add_argument("out")
    p.add_argument("--streams", type=int, default=4)
    p.add_argument("--nccl", type=int, default=40, help="an NCCL kernel after every n-th kernel, 0 = none")
    p.add_argument("--int-us", action="store_true", help="whole microseconds, as older traces have")
    a = p.parse_args()
    t = Template(read(a.trace), a.nccl)
    size, k = 0, 0
    with (gzip.open(a.out, "wb", 4) if a.out.endswith(".gz") else open(a.out, "wb")) as f:
        size += f.write(t.head)
        while size < a.megabytes * 1e6:
            size += f.write(t.copy(k, a.streams, a.int_us))
            k += 1
        f.write(b'  {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 0.0}' .replace(
            b'"ts": 0.0', b'"ts": %d' % ((t.end + k * (t.end - t.start + 1_000_000)) // 1000)))
        f.write(t.tail)


if __name__ == "__main__":
    main()
