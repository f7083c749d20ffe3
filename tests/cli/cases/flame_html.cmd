cat > a.json <<'END'
{"traceEvents": [
{"ph":"X","cat":"cpu_op","name":"aten::linear","pid":1,"tid":1,"ts":0,"dur":100,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":10,"dur":60.5,"args":{}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":20,"dur":5,"args":{"correlation":7}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":30,"dur":5,"args":{"correlation":8}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":40,"dur":100.25,"args":{"device":0,"stream":7,"correlation":7}},
{"ph":"X","cat":"kernel","name":"bias","pid":0,"tid":7,"ts":145,"dur":2,"args":{"device":0,"stream":7,"correlation":8}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":8,"ts":130,"dur":20,"args":{"device":0,"stream":8,"correlation":3}}
]}
END
tidemark flame a.json --json -o flame.json && head -c 42 flame.json && echo
cp a.json b.json
tidemark flame a.json b.json -o flame.html
