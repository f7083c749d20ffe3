# rows name the module and the op; layers fold; at 80 columns no two rows look alike
cat > make.py <<'END'
import json
events, at, total = [], 0, 0
def span(name, ts, dur): events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": {}})
def module(path, ts, dur): span("nn.Module: W" + path, ts, dur)
module("", 0, 1000); module(".model", 1, 998); module(".model.encoder", 2, 996)
for i in range(6):
    t = 10 + 100 * i
    module(f".model.encoder.layers.{i}", t, 90)
    for k, inner in enumerate(("fc1", "an_adapter_with_a_rather_long_name.down_projection", "an_adapter_with_a_rather_long_name.upper_projection")):
        s = t + 2 + 20 * k
        module(f".model.encoder.layers.{i}.{inner}", s, 16); span("aten::linear", s + 1, 14); span("aten::addmm", s + 2, 12)
        total += 1 << 20
        events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": s + 3, "args":
                       {"Total Reserved": 0, "Total Allocated": total, "Bytes": 1 << 20, "Addr": 4096 + total, "Device Id": -1, "Device Type": 0}})
json.dump({"traceEvents": events}, open("model.json", "w"))
END
python3 make.py
tidemark peak model.json
tidemark peak model.json --unfold -n 3
tidemark peak model.json --group-by module
tidemark peak model.json --full-names -n 1
tidemark peak model.json --json | grep -o '"key": *"[^"]*"' | head -1
tidemark memory model.json | tail -2
tidemark ops model.json | head -8
tidemark ops model.json --flat -n 3 --sort self
COLUMNS=80 tidemark peak model.json --unfold -n 0 | tail -n +5 | sort | uniq -d
for c in peak memory ops 'ops --flat' modules flame; do tidemark $c model.json; done | python3 -c 'import sys; print(max(len(line.rstrip("\n")) for line in sys.stdin) <= 110)'
