# bytes without a role: parts of the peak that no role names are unknown, not 0
python3 - <<'F'
import pickle
def alloc(i, size, frames):
    return dict(action="alloc", addr=i << 24, size=size, stream=0, time_us=i, frames=frames)
rows = [alloc(1, 3 << 20, []), alloc(2, 1 << 20, [])]
pickle.dump(dict(segments=[], device_traces=[rows]), open("a.pickle", "wb"))
F
tidemark phases a.pickle --capacity 1GiB
