# a snapshot without history: its live allocations are in the export
python3 - <<'F'
import pickle
blocks = [dict(size=1 << 20, requested_size=1 << 20, address=(4 + i) << 20, state="active_allocated", frames=[]) for i in range(3)]
segment = dict(device=0, address=4 << 20, total_size=3 << 20, allocated_size=3 << 20, active_size=3 << 20, requested_size=3 << 20, stream=0,
               segment_type="large", blocks=blocks)
pickle.dump(dict(segments=[segment], device_traces=[[]]), open("a.pickle", "wb"))
F
tidemark memory a.pickle | head -3
tidemark export a.pickle --to chrome -o a.json
tidemark memory a.json | head -3
