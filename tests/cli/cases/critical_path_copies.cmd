# copies on the path are not compute: memcpy and memset rows, and kernels with which ROCm copies
cat > a.json <<'F'
{"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::copy_","pid":9,"tid":1,"ts":0,"dur":10},
{"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","pid":9,"tid":1,"ts":1,"dur":1,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"hipMemcpyAsync","pid":9,"tid":1,"ts":3,"dur":1,"args":{"correlation":2}},
{"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","pid":9,"tid":1,"ts":5,"dur":1,"args":{"correlation":3}},
{"ph":"X","cat":"kernel","name":"__amd_rocclr_copyBuffer","pid":0,"tid":7,"ts":20,"dur":300,"args":{"stream":7,"device":0,"correlation":1}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoD (Device -> Device)","pid":0,"tid":7,"ts":320,"dur":200,"args":{"stream":7,"device":0,"correlation":2}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":520,"dur":50,"args":{"stream":7,"device":0,"correlation":3}}
]}
F
tidemark critical-path a.json
tidemark critical-path --hta-compat a.json | grep _bound
