# ops of repeated steps are one group: what they save does not depend on the step's number
python3 - <<'F'
import json
rows = []
for step in range(3):
    t = 100 * step
    rows.append(dict(ph="X", cat="user_annotation", name=f"ProfilerStep#{step}", pid=9, tid=1, ts=t, dur=90))
    rows.append(dict(ph="X", cat="cpu_op", name="aten::mm", pid=9, tid=1, ts=t + 10, dur=20))
    for at, size in ((15, 4096), (80, -4096)):
        rows.append(dict(ph="i", cat="cpu_instant_event", name="[memory]", pid=9, tid=1, ts=t + at,
                         args={"Addr": 65536, "Bytes": size, "Device Type": 1, "Device Id": 0}))
json.dump(dict(traceEvents=rows), open("a.json", "w"))
F
tidemark peak a.json
