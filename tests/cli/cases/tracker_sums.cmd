cat > manual.json <<'END'
{"metadata": {"generated_at": "2025-01-13T10:30:00", "num_snapshots": 12, "operation_tracking_enabled": true},
 "snapshots": [{"timestamp": "2025-01-13T10:29:45", "checkpoint_name": "model_forward_pre", "total_mb": 2048.5, "total_bytes": 2147483648, "tensor_count": 1523,
   "device_breakdown": {"mps": {"total_mb": 2000.0, "count": 1500, "tensors": [{"size_mb": 512.0, "shape": [10240, 2, 16, 8, 128], "dtype": "torch.float16",
     "device": "mps", "requires_grad": false, "operation": "model_forward", "purpose": "kv_cache"}]}}}],
 "operation_allocations": {"model_forward": [{"memory_delta_mb": 320.5, "tensor_delta": 15, "pre_total_mb": 2048.5, "post_total_mb": 2369.0, "timestamp": "2025-01-13T10:29:45"}]},
 "operation_summary": {"model_forward": {"invocation_count": 20, "total_memory_delta_mb": 6410.0, "avg_memory_delta_mb": 320.5, "max_memory_delta_mb": 325.2}}}
END
tidemark peak --group-by role manual.json
tidemark ops manual.json
echo '{"pytorch_operations": [{"op_name": "aten::matmul", "count": 32, "cpu_time_us": 125000, "cuda_time_us": 0, "cpu_memory_mb": 2.5, "input_shapes": [[1, 512], [512, 8]]}]}' > ops.json
tidemark ops ops.json
tidemark ops --json ops.json
