# "nonfused" is no praise; calls over the cut-off are not counted, and the text says so
python3 - <<'F'
import json, pickle
def trace(name, device, calls=120):
    rows = []
    for i in range(calls):
        call = 60 if i % 4 == 0 else 9
        rows.append(dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=9, tid=1, ts=100 * i, dur=call, args=dict(correlation=i + 1)))
        rows.append(dict(ph="X", cat=device, name=name, pid=0, tid=7, ts=100 * i + 70, dur=5, args=dict(device=0, stream=7, correlation=i + 1)))
    return dict(traceEvents=rows)
json.dump(trace("void cudnn::winograd_nonfused::forward<float>(float*)", "kernel"), open("plain.json", "w"))
json.dump(trace("fused_adam", "kernel"), open("fused.json", "w"))
json.dump(trace("fc", "mtia_ccp_events"), open("mtia.json", "w"))
block = dict(size=512, requested_size=512, address=4096, state="active_allocated", frames=[])
segment = dict(device=0, address=4096, total_size=2 << 20, allocated_size=512, active_size=512, requested_size=512, stream=0,
               segment_type="small", blocks=[block, dict(size=(2 << 20) - 512, requested_size=0, address=4608, state="inactive", frames=[])])
pickle.dump(dict(segments=[segment], device_traces=[[]]), open("state.pickle", "wb"))
F
for f in plain.json fused.json mtia.json state.pickle; do echo "== $f"; tidemark advice $f; done
