# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Recordings of heaptrack: peak, leaks and stacks equal heaptrack's own figures, for a small file made here and, where heaptrack is
installed, for real ones; damage is one line or a stated loss."""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TIDEMARK = os.environ["TIDEMARK"]
PROGRAM = r"""
#include <stdlib.h>
static void *keep[64];
__attribute__((noinline)) static void *deep(int n, size_t k) { void *volatile p = n ? deep(n - 1, k) : malloc(k); return p; }
int main(void) {
	for (int i = 0; i < 64; i++) keep[i] = deep(i % 5, 1000 + 7 * i);
	for (int i = 0; i < 64; i += 2) free(keep[i]);
	for (int i = 0; i < 500; i++) free(deep(1, 64));
	keep[0] = realloc(deep(2, 10), 5000);
	return 0;
}
"""
MADE = """v 10400 3
X ./a program
I 1000 10
# made by hand
s 4 main
s 4 work
s 3 a.c
s 9 lib one.so
i 1000 4 1 3 a
i 1010 4 2 3 14 1 3 b
i 1020 4
t 1 0
t 2 1
t 3 2
a 100 2
+ 0
+ 0
c 5
R 2
a 10 3
+ 1
- 0
- 1
+ 1
- 1
c a
+ 0
"""


def run(*words, check=True):
    p = subprocess.run(list(map(str, words)), capture_output=True, check=False)
    assert not check or p.returncode == 0, (words, p.stderr.decode())
    return p


def ask(*words):
    return json.loads(run(TIDEMARK, *words, "--json").stdout)


def made(tmp):
    path = tmp / "heaptrack.a.1.gz"
    path.write_bytes(gzip.compress(MADE.encode()))
    got = ask("heap", "--top", "0", path)
    want = {"peak_bytes": 0x210, "peak_ns": 5_000_000, "left_bytes": 0x200, "left_count": 2, "count": 5, "allocated_bytes": 3 * 256 + 32}
    assert {k: got[k] for k in want} == want, got
    stacks = {s["stack"]: (s["left_bytes"], s["count"]) for s in got["stacks"]}
    assert stacks == {"work (a.c:20) < main (a.c:11) < main (a.c:10)": (512, 3),
                      "0x1020 < work (a.c:20) < main (a.c:11) < main (a.c:10)": (0, 2)}, stacks
    assert ask("info", path)["processes"][0]["command"] == "./a program"


def damage(tmp):
    path = tmp / "bad"
    path.write_text(MADE + "+ 9")
    p = run(TIDEMARK, "heap", "--json", path, check=False)
    losses = json.loads(p.stdout)["losses"]
    assert losses == {"truncated_at": len(MADE)}, losses
    path.write_text(MADE + "- 1\n+ 77\nq\n")
    losses = ask("heap", path)["losses"]
    assert losses == {"free_unknown": 1, "undefined_ids": 1, "bad_lines": 1}, losses
    for text, message in ((MADE.replace(" 3\n", " 9\n", 1), "1 to 3 are read"), ("v 10400 3\nx 3 /a\nX a\n", "heaptrack --interpret")):
        path.write_text(text)
        p = run(TIDEMARK, "heap", path, check=False)
        assert p.returncode and message in p.stderr.decode() and p.stderr.count(b"\n") == 1, p.stderr


def printed(text):
    """heaptrack's rounded sizes: 106.52K is thousands."""
    number, unit = re.fullmatch(r"([\d.]+)([KMG]?)B?", text).groups()
    scale = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9}[unit]
    return float(number) * scale, 0.0051 * scale


def flame(path, cost, tmp):
    """Bytes by function names of heaptrack's own flame graph."""
    out = tmp / "stacks"
    run("heaptrack_print", "-f", path, "--disable-builtin-suppressions", "--disable-embedded-suppressions", "-p", "0", "-a", "0", "-T", "0", "-F", out,
        "--flamegraph-cost-type", cost)
    rows = {}
    for line in out.read_text().splitlines():
        stack, _, n = line.rpartition(" ")
        names = tuple(f.rpartition(" (")[0] or f for f in stack.rstrip(";").split(";"))
        rows[names] = rows.get(names, 0) + int(n)
    return {k: v for k, v in rows.items() if v}


def real(tmp, name, command):
    run("heaptrack", "-o", tmp / name, *command)
    path, = tmp.glob(name + ".*st")
    text = run("heaptrack_print", "-f", path, "--disable-builtin-suppressions", "--disable-embedded-suppressions").stdout.decode()
    got = ask("heap", "--top", "0", path)
    calls, = re.findall(r"calls to allocation functions: (\d+)", text)
    temporary, = re.findall(r"temporary memory allocations: (\d+)", text)
    assert got["count"] == int(calls), (calls, got["count"])
    # heaptrack takes the free of its first kind of block, number 0, for one that follows its allocation
    assert 0 <= int(temporary) - got["temporary"] <= 1, (temporary, got["temporary"])
    for label, key in (("peak heap memory consumption", "peak_bytes"), ("total memory leaked", "left_bytes")):
        value, off = printed(re.search(label + r": (\S+)", text).group(1))
        assert abs(got[key] - value) <= off, (label, value, got[key])
    assert sum(flame(path, "peak", tmp).values()) == got["peak_bytes"]
    want = flame(path, "leaked", tmp)
    folded = tmp / "x.folded"
    assert sum(want.values()) == got["left_bytes"]
    run(TIDEMARK, "export", path, "--kind", "memory", "-o", folded)
    return got


def main():
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        made(tmp)
        damage(tmp)
        if not shutil.which("heaptrack") or not shutil.which("cc"):
            print("skipped: heaptrack is not installed")
            return
        (tmp / "p.c").write_text(PROGRAM)
        run("cc", "-g", "-O1", tmp / "p.c", "-o", tmp / "p")
        small = real(tmp, "small", [tmp / "p"])
        assert small["left_count"] >= 33, small
        python = next(p for p in ("/usr/bin/python3", sys.executable) if os.path.exists(p))
        big = real(tmp, "big", [python, "-c", "import json,re; d=[list(range(i%50)) for i in range(9000)]; s=json.dumps(d); re.findall('1+', s)"])
        a, b = sorted(tmp.glob("*.*st"))
        change = ask("diff", a, b)
        print(f"heaptrack's files are read: {small['count']:,} and {big['count']:,} calls, equal to heaptrack_print; diff {change['report']}")
    if len(sys.argv) > 1:
        (pathlib.Path(sys.argv[1]) / "made").write_text(MADE)
        (pathlib.Path(sys.argv[1]) / "old").write_text(MADE.replace(" 3\n", " 1\n", 1).replace("s 4 ", "s ").replace("s 3 ", "s "))


main()
