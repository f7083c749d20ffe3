d=$TIDE_SOURCE/tests/data/ttgraph
tidemark phases --tracker $d/report.json
tidemark phases --tracker $d/report.json > new; tidemark phases --tracker $d/old.json | diff new - && echo the same from texts
tidemark ops $d/report.json | head -6
tidemark dump -t facts $d/report.json
tidemark dump -t tensors -t spans $d/report.json
head -c 900 $d/report.json > cut.json; tidemark info cut.json; echo "exit $?"
# a capture with on-chip memory alone; a scratchpad and a dataflow buffer count in the total only
python3 - > l1.json <<'END'
import json
rows = [("capture_start", {}), ("buffer", {"size": 4 << 20, "type": "L1", "device_id": 0})]
rows += [("buffer_allocate", {"size": 4 << 20, "type": "L1", "buffer_type": 1, "num_cores": 2, "device_id": 0, "max_size_per_bank": 2 << 20})]
rows += [("circular_buffer_allocate", {"size": 1 << 20, "core_range_set": "{[(x=0,y=0) - (x=0,y=7)]}", "globally_allocated": False, "device_id": 0})]
rows += [("dataflow_buffer_allocate", {"size": 3 << 20, "device_id": 0}), ("dataflow_buffer_allocate", {"size": 3 << 20, "borrows_memory": True, "device_id": 0})]
rows += [("scratchpad_allocate", {"size": 5 << 20, "device_id": 0}), ("circular_buffer_deallocate_all", {"device_id": 0}), ("capture_end", {})]
print(json.dumps([{"counter": i, "node_type": t, "params": p, "connections": [1] if t == "buffer_allocate" else []} for i, (t, p) in enumerate(rows)]))
END
tidemark phases --tracker l1.json
