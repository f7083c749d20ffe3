cat > make.py <<'END'
import pickle
def frame(name, file, line): return {"name": name, "filename": file, "line": line}
def stack(middle): return [frame("linear", "/p/torch/nn/functional.py", 10), middle, frame("main", "/home/me/train.py", 5)]
ways = [frame("forward", "/p/torch/nn/modules/linear.py", 1), frame("forward", "/p/torch/nn/modules/lazy.py", 2)]
events = [{"action": "segment_alloc", "addr": 4096, "size": 2097152, "stream": 0, "frames": []}]
events += [{"action": "alloc", "addr": 4096 + 1024 * i, "size": 1024 - 512 * i, "stream": 0, "frames": stack(w)} for i, w in enumerate(ways)]
blocks = [{"address": 4096 + 1024 * i, "size": 1024 - 512 * i, "requested_size": 1024 - 512 * i, "state": "active_allocated", "frames": stack(w)} for i, w in enumerate(ways)]
segment = {"device": 0, "address": 4096, "total_size": 2097152, "allocated_size": 1536, "active_size": 1536, "stream": 0, "segment_type": "small",
           "blocks": blocks + [{"address": 4096 + 1536, "size": 2097152 - 1536, "requested_size": 0, "state": "inactive"}]}
pickle.dump({"segments": [segment], "device_traces": [events]}, open("alike.pickle", "wb"))
END
python3 make.py
tidemark peak alike.pickle --group-by stack
