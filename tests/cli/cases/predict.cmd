# a program with 1,000 bytes of weights, 100 a sample, and 3,000 for a moment whatever the size: low sizes peak there
trace() {
	python3 - "$1" "$2" <<'END'
import json, sys
n, other = int(sys.argv[1]), sys.argv[2]
moves = [(1, 1000), (2, 100 * n), (-2, 0), (3, 3000), (-3, 0), (4, 1) if other == "end" else (-1, 0)]
if other == "begin":
    moves[1:1] = [(4, 1), (-4, 0)]
if other == "samples":  # each with 50 bytes, all of them copied into one
    moves[1:1] = [(10 + i, 50) for i in range(n)] + [(5, 50 * n)] + [(-10 - i, 0) for i in range(n)] + [(-5, 0)]
if other == "squares":  # attention: 9 KiB for each pair of tokens
    moves[2:2] = [(6, 9216 * n * n), (-6, 0)]
live, size, t = 0, {}, 0
rows = [{"ph": "X", "cat": "cpu_op", "name": "train", "pid": 1, "tid": 1, "ts": 0, "dur": 100, "args": {}},
        {"ph": "X", "cat": "cpu_op", "name": "prepare", "pid": 1, "tid": 1, "ts": 15, "dur": 10, "args": {}}][: 2 if other == "begin" else 1]
if other == "samples":
    rows += [{"ph": "X", "cat": "cpu_op", "name": "load", "pid": 1, "tid": 1, "ts": 15, "dur": 10 * n, "args": {}}]
    rows[0]["dur"] += 100 * n
for who, b in moves:
    b = b or -size[-who]
    size[who] = b
    live, t = live + b, t + 10
    rows.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": t,
                 "args": {"Addr": abs(who) << 20, "Bytes": b, "Device Type": 1, "Device Id": 0, "Total Allocated": live, "Total Reserved": live + n}})
print(json.dumps({"traceEvents": rows}))
END
}
for n in 1 8 64; do trace $n - > $n.json; done
trace 80 end > 80.json
trace 90 begin > 90.json
for n in 2 10 40; do trace $n samples > s$n.json; done
tidemark predict 8=8.json 1=1.json 64=64.json --at 20 --at 21 --capacity 10000B
echo "== JSON"; tidemark predict 1=1.json 64=64.json --at 30 --capacity 4KiB --json
echo "== another end"; tidemark predict 1=1.json 80=80.json --at 160
echo "== another order"; tidemark predict 1=1.json 90=90.json --at 160
echo "== an allocation for each sample"; tidemark predict 2=s2.json 10=s10.json --at 40 --at 400; tidemark peak s40.json --json | grep peak_bytes
echo "== three"; tidemark predict 2=s2.json 10=s10.json 40=s40.json --at 400; tidemark predict 1=1.json 8=8.json 64=s40.json --at 400 | tail -12
echo "== smaller than every recording"; tidemark predict 10=s10.json 40=s40.json --at 2 | grep "Reserved at"
echo "== squares"; for n in 16 32; do trace $n squares > q$n.json; done
tidemark predict 16=q16.json 32=q32.json --at 64 --capacity 1GiB; trace 64 squares > q64.json; tidemark peak q64.json --json | grep peak_bytes
echo "== nothing in common"; sed 's/"train"/"other"/' 64.json > other.json; tidemark predict 1=1.json 64=other.json --at 128
echo "== wrong"; tidemark predict 1.json 2=x; tidemark predict 1=1.json; tidemark predict 0=1.json 2=x; tidemark predict 1=1.json 1=8.json
tidemark predict 1=1.json 2=none.json; echo $?; tidemark predict 1=1.json 8=8.json --device cuda:1; echo $?; tidemark predict 1=1.json 8=8.json --at 0
tidemark predict 1=64.json 64=1.json; echo $?; tidemark predict 1=1.json 8=8.json --capacity 0B; echo $?
echo "== programs"; echo 'import sys; print(sys.argv[1]); sys.exit(3)' > own.py; chmod -x own.py
mkdir bin; printf '#!/bin/sh\necho "$@"; exit 3\n' > bin/python3; chmod +x bin/python3 # a Python without PyTorch
PATH=$PWD/bin:$PATH tidemark predict -- own.py argument; echo $?; tidemark predict -- 1.json; echo $?
mkdir -p old/torch; touch old/torch/__init__.py; echo "__version__ = '1.13.0a0'" > old/torch/version.py
PYTHONPATH=$PWD/old tidemark predict -- own.py argument; echo $?
