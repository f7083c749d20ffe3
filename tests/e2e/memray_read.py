# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Captures of memray: peak, leaks, allocations and stacks equal memray's own figures where it is installed; a small capture made
here, other versions and damage everywhere."""
import collections
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

TIDEMARK = os.environ["TIDEMARK"]
PROGRAM = """
import threading, mmap
def hold(n):
    return [bytearray(3000 + i) for i in range(n)]
def work(out):
    out.append(hold(100))
    hold(300)
keep = []
threads = [threading.Thread(target=work, args=(keep,), name=f"worker {i}") for i in range(2)]
[t.start() for t in threads]; [t.join() for t in threads]
work(keep)
area = mmap.mmap(-1, 1 << 20)
big = [bytearray(1 << 20) for _ in range(3)]
del big
"""
FIGURES = """
import collections, json, sys
from memray import FileReader
r = FileReader(sys.argv[1])
def rows(records):
    out = collections.Counter()
    n = 0
    for a in records:
        stack = " < ".join(f"{f} ({p.rpartition('/')[2]}:{l})" for f, p, l in a.stack_trace())
        out[stack] += a.size
        n += a.n_allocations
    return out, n
peak, n_peak = rows(r.get_high_watermark_allocation_records(merge_threads=True))
left, n_left = rows(r.get_leaked_allocation_records(merge_threads=True))
from memray import AllocatorType
made = sum(1 for a in FileReader(sys.argv[1]).get_allocation_records() if AllocatorType(a.allocator).name not in ("FREE", "PYMALLOC_FREE", "MUNMAP"))
print(json.dumps({"peak": r.metadata.peak_memory, "made": made, "peak_stacks": peak, "left_stacks": left, "n_left": n_left}))
"""


def run(*words, check=True):
    p = subprocess.run(list(map(str, words)), capture_output=True, check=False)
    assert not check or p.returncode == 0, (words, p.stderr.decode()[-800:])
    return p


def ask(*words):
    return json.loads(run(TIDEMARK, *words, "--json").stdout)


def varint(v):
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out + bytes([v]))


def signed(v):
    return varint(v << 1 ^ v >> 63 if v >= 0 else (-v << 1) - 1)


def head(version=13, native=0, form=0, skip=0):
    text = b"memray\0" + struct.pack("<iIBB4Q", version, 0x030b0000, native, form, 3, 1, 1_700_000_000_000, 1_700_000_000_500)
    text += b"python a.py\0" + struct.pack("<iQQ", 42, 7, skip) + bytes([1, 0, 0])
    return text + (b"/lib\0" + b"/site\0\0" + b"/path\0\0" if version >= 13 else b"")


def capture(version=13):
    """A thread whose outermost frame is memray's; 2 blocks, one freed by the list of pointers; a mapping, unmapped in part."""
    table = bytes([0x80 | 13 << 3 | 0, 4, 0x80 | 13 << 3 | 0, 2])  # two units: lines first + 2, first + 3
    out = head(version, skip=1) + bytes([12]) + struct.pack("<Q", 7) + bytes([10]) + b"main\0"
    out += bytes([14]) + varint(9) + b"work\0a.py\0" + signed(10) + varint(len(table)) + table
    out += bytes([64 | 1]) + varint(9) + signed(0) + bytes([64]) + varint(9) + signed(0) + bytes([64]) + varint(9) + signed(2)
    out += bytes([128 | 15 << 3 | 6]) + signed(0x1000 >> 3) + varint(1000)  # malloc
    out += bytes([2]) + varint(5000) + varint(10)
    out += bytes([128 | 15 << 3 | 6]) + signed(0x1000 >> 3) + varint(500)  # malloc at 0x2000
    out += bytes([128 | 1 << 3 | 5])  # frees the first: the second last pointer
    out += bytes([16 | 0]) + bytes([128 | 15 << 3 | 0]) + signed(0x1000 >> 3) + bytes([14]) + varint(0x3000)  # mmap 0x3000 at 0x3000, one frame less
    out += bytes([2]) + varint(6000) + varint(20) + bytes([128 | 15 << 3 | 0]) + signed(0x1000 >> 3) + bytes([15]) + varint(0x1000)  # its middle
    return out + bytes([1])


def made(tmp):
    path = tmp / "made.bin"
    for version in (12, 13):
        path.write_bytes(capture(version))
        got = ask("heap", "--top", "0", path)
        assert (got["peak_bytes"], got["peak_ns"], got["left_bytes"]) == (500 + 0x3000, 10_000_000, 500 + 0x2000), got
        stacks = {s["stack"]: s["left_bytes"] for s in got["stacks"]}
        assert stacks == {"work (a.py:13) < work (a.py:12)": 500, "work (a.py:12)": 0x2000}, stacks
        info = ask("info", path)
        assert info["processes"][0]["pid"] == 42 and info["lanes"][0]["name"] == "main", info


def damage(tmp):
    path = tmp / "bad.bin"

    def message():
        p = run(TIDEMARK, "heap", path, check=False)
        assert p.returncode and p.stderr.count(b"\n") == 1, p.stderr
        return p.stderr.decode()
    for version in (11, 14):
        path.write_bytes(head(12).replace(struct.pack("<i", 12), struct.pack("<i", version), 1))
        assert f"format {version}: 12 and 13" in message()
    path.write_bytes(head(form=1))
    assert "--aggregate" in message()
    path.write_bytes(head()[:60])
    assert "head is cut" in message()
    path.write_bytes(capture()[:-1] + bytes([3]))
    assert "unknown kind" in message() and "byte" in message()
    path.write_bytes(capture()[:-3])
    p = run(TIDEMARK, "heap", "--json", path, check=False)
    assert p.returncode and "truncated_at" in json.loads(p.stdout)["losses"], p.stdout
    path.write_bytes(b"\x04\x22\x4d\x18\x40\x40\xc0" + struct.pack("<I", 20) + b"\xf5memray\0" + b"x" * 12)
    assert "byte" in message() or "LZ4" in message()


def real(tmp, name, options):
    path, script = tmp / f"{name}.bin", tmp / "prog.py"
    script.write_text(PROGRAM)
    run(sys.executable, "-m", "memray", "run", "-q", *options, "-o", path, script)
    want = json.loads(run(sys.executable, "-c", FIGURES, path).stdout)
    got = ask("heap", "--top", "0", path)
    split = ask("info", path)["facts"].get("memray.split_regions", 0)
    assert got["peak_bytes"] == want["peak"] == sum(want["peak_stacks"].values()), (got["peak_bytes"], want["peak"])
    assert got["left_bytes"] == sum(want["left_stacks"].values()), got["left_bytes"]
    assert got["count"] - split == want["made"], (got["count"], split, want["made"])
    if "--native" in options:
        return got
    peak, left = collections.Counter(), collections.Counter()
    flame = run(TIDEMARK, "sql", path, "select 1", check=False)
    for s in got["stacks"]:
        left[s["stack"]] += s["left_bytes"]
    innermost = collections.Counter()
    for stack, n in want["left_stacks"].items():
        innermost[stack.split(" < ")[0]] += n
    ours = collections.Counter()
    for stack, n in left.items():
        ours[stack.split(" < ")[0]] += n
    names = {k for k, n in innermost.items() if n > 50_000}
    assert names and all(ours[k] == innermost[k] for k in names), {k: (ours[k], innermost[k]) for k in names}
    return got


def main():
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        made(tmp)
        damage(tmp)
        if run(sys.executable, "-c", "import memray", check=False).returncode:
            print("skipped: memray is not installed")
        else:
            a = real(tmp, "a", [])
            b = real(tmp, "b", ["--trace-python-allocators", "--no-compress"])
            real(tmp, "n", ["--native"])
            assert ask("diff", tmp / "a.bin", tmp / "b.bin")["report"] == "diff"
            print(f"memray's captures are read: {a['count']:,} and {b['count']:,} allocations, equal to memray")
    if len(sys.argv) > 1:
        out = pathlib.Path(sys.argv[1])
        (out / "made").write_bytes(capture())
        (out / "old").write_bytes(capture(12))
        data = capture()
        body = b"\xf0" + b"\xff" * ((len(data) - 15) // 255) + bytes([(len(data) - 15) % 255]) + data
        (out / "lz4").write_bytes(b"\x04\x22\x4d\x18\x40\x40\xc0" + struct.pack("<I", len(body)) + body + bytes(4))


main()
