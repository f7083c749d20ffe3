# 4 kernels of a linear layer: forward, again inside the backward (checkpointing), backward, optimizer; one copy without a launch
cat > a.json <<'END'
{"traceEvents": [
{"ph":"X","cat":"python_function","name":"nn.Module: Net_0","pid":1,"tid":1,"ts":0,"dur":100,"args":{}},
{"ph":"X","cat":"python_function","name":"nn.Module: Linear_0","pid":1,"tid":1,"ts":10,"dur":50,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::linear","pid":1,"tid":1,"ts":11,"dur":40,"args":{"Sequence number":8,"Input Dims":[[8,16],[16,4]],"Input type":["float","float"],"Input Strides":[[16,1],[4,1]]}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":12,"dur":20,"args":{"Input Dims":[[8,16],[16,4]],"Input type":["float","float"],"Input Strides":[[16,1],[4,1]]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":13,"dur":4,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"sgemm_nn","pid":0,"tid":7,"ts":15,"dur":30,"args":{"stream":7,"device":0,"correlation":1}},
{"ph":"X","cat":"cpu_op","name":"autograd::engine::evaluate_function: CheckpointBackward","pid":1,"tid":2,"ts":110,"dur":80,"args":{}},
{"ph":"X","cat":"cpu_op","name":"CheckpointBackward","pid":1,"tid":2,"ts":111,"dur":75,"args":{"Fwd thread id":1,"Sequence number":8}},
{"ph":"X","cat":"python_function","name":"nn.Module: Linear_0","pid":1,"tid":2,"ts":112,"dur":30,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":113,"dur":20,"args":{"Input Dims":[[8,-16],[16,4]],"Input type":["float","float"]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":114,"dur":4,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"sgemm_nn","pid":0,"tid":7,"ts":120,"dur":31,"args":{"stream":7,"device":0,"correlation":2}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":150,"dur":20,"args":{"Input Dims":[[16,8],[8,4]],"Input type":["float","float"]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":151,"dur":4,"args":{"correlation":3}},
{"ph":"X","cat":"kernel","name":"sgemm_tn","pid":0,"tid":7,"ts":160,"dur":60,"args":{"stream":7,"device":0,"correlation":3}},
{"ph":"X","cat":"user_annotation","name":"Optimizer.step#SGD.step","pid":1,"tid":1,"ts":200,"dur":50,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::add_","pid":1,"tid":1,"ts":201,"dur":20,"args":{"Input Dims":[[16,4],[16,4],[]],"Input type":["float","float","Scalar"]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":202,"dur":4,"args":{"correlation":4}},
{"ph":"X","cat":"kernel","name":"vectorized_elementwise_kernel","pid":0,"tid":7,"ts":225,"dur":7,"args":{"stream":7,"device":0,"correlation":4}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":7,"ts":240,"dur":5,"args":{"stream":7,"device":0,"correlation":999,"bytes":1000}}
]}
END
for by in shape module category stack; do tidemark kernels --by $by a.json; done
tidemark kernels --by category --csv a.json
tidemark ops --by shape a.json
tidemark modules a.json
tidemark kernels --by shape --top 1 --json a.json
tidemark kernels --by module --steps 3 a.json
echo "exit $?"
tidemark kernels --by shape a.json a.json
echo "exit $?"
