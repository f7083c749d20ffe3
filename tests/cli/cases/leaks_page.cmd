# the report page lists who grows, as leaks does
cat > make.py <<'F'
import json
MIB, rows = 1 << 20, []
for step in range(6):
    t = 1000 * step
    rows.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 9, "tid": 1, "ts": t, "dur": 900, "args": {}})
    rows.append({"ph": "X", "cat": "cpu_op", "name": "aten::cat", "pid": 9, "tid": 1, "ts": t + 10, "dur": 100, "args": {}})
    rows.append({"ph": "i", "name": "[memory]", "pid": 9, "tid": 1, "ts": t + 20, "args": {"Device Type": 1, "Device Id": 0, "Addr": 4096 + 4 * MIB * step,
                 "Bytes": 2 * MIB, "Total Allocated": 2 * MIB * (step + 1), "Total Reserved": 64 * MIB}})
json.dump({"traceEvents": rows}, open("a.json", "w"))
F
python3 make.py
tidemark leaks a.json
tidemark report a.json -o a.html > /dev/null
python3 "$TIDE_SOURCE/tests/support/page_section.py" a.html main --json findings | grep growth
