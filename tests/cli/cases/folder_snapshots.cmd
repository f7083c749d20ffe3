# a folder of snapshots: commands of memory read it; others say why not
python3 - <<'F'
import os, pickle
os.mkdir("d")
for i in (1, 2):
    rows = [dict(action="alloc", addr=i << 24, size=i << 20, stream=0, time_us=1, frames=[])]
    pickle.dump(dict(segments=[], device_traces=[rows]), open(f"d/{i}.pickle", "wb"))
F
for c in info memory peak leaks; do echo "== $c"; tidemark $c d; done
for c in hta critical-path timeline flame phases; do tidemark $c d; done
