tidemark export sampled.tide -o x.json && python3 - <<'END'
import json
for e in json.load(open("x.json"))["traceEvents"]:
    if e.get("name") == "[memory]":
        print(*(e["args"].get(k) for k in ("Device Type", "Bytes", "Total Allocated", "Total Reserved")))
END
tidemark memory x.json -n 0 --device cuda:0 | sed -n 2,4p
