# 5 us of the host before the launch at 15, 7 us until the kernel begins, 40 us of it: 52 us of the step's 100
cat > a.json <<'END'
{"traceEvents": [
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":100,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":10,"dur":20,"args":{}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":15,"dur":5,"args":{"correlation":7}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":22,"dur":40,"args":{"device":0,"stream":7,"correlation":7}},
{"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":1,"tid":1,"ts":40,"dur":25,"args":{"correlation":8}}
]}
END
tidemark critical-path a.json --path
tidemark critical-path a.json --top 1 | tail -2
