cat > p.json <<'END'
{"metadata": {"num_snapshots": 1}, "snapshots": [{"time_ns": 1700000000000500000, "checkpoint_name": "after", "device_breakdown": {"cpu": {"total_bytes": 1048576}}}],
 "operation_allocations": {"forward": [{"start_ns": 1700000000000000000, "duration_us": 400, "thread": 1, "memory_delta_mb": 1.0}]},
 "tensor_lifecycle": {"1": {"size_bytes": 1048576, "device": "cpu", "shape": [512, 512], "dtype": "torch.float32", "purpose": "buffer",
   "events": [{"event_type": "allocated", "operation": "forward", "time_ns": 1700000000000100000}]}},
 "operation_log": [{"operation_id": 1, "name": "Linear.fc", "start_ns": 1700000000000050000, "duration_us": 300.5, "thread": 1},
   {"operation_id": 2, "name": "SiLU.act", "start_ns": 1700000000000360000, "thread": 1}]}
END
tidemark peak p.json --group-by op
tidemark ops p.json
gzip -c p.json > p.json.gz && tidemark memory p.json.gz --json | grep -c '"live_bytes": 1048576'
head -c 300 p.json > cut.json; tidemark gantt cut.json
echo '{"metadata": {"num_snapshots": 1}, "snapshots": [{"timestamp": "2025-01-13T10:29:45", "checkpoint_name": "a"}]}' > none.json
tidemark gantt none.json
tidemark gantt
tidemark gantt absent.json
