# two tensor-parallel groups; an all-to-all whose kernel is SendRecv; a copy that ROCm runs as a kernel
rank() {
cat > rank$1.json <<F
{"distributedInfo":{"rank":$1,"world_size":4},"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":9,"tid":1,"ts":0,"dur":9000,"args":{}},
{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":9,"tid":1,"ts":1,"dur":9,"args":{"Collective name":"allreduce","Process Group Name":"$2","Process Group Ranks":"$3","Group size":2,"Seq":12}},
{"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","pid":9,"tid":1,"ts":2,"dur":4,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_Generic","pid":0,"tid":7,"ts":100,"dur":$4,"args":{"stream":7,"device":0,"correlation":1}},
{"ph":"X","cat":"user_annotation","name":"nccl:all_to_all","pid":9,"tid":1,"ts":20,"dur":9,"args":{}},
{"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","pid":9,"tid":1,"ts":22,"dur":4,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv","pid":0,"tid":7,"ts":6000,"dur":100,"args":{"stream":7,"device":0,"correlation":2}},
{"ph":"X","cat":"kernel","name":"__amd_rocclr_copyBuffer","pid":0,"tid":8,"ts":7000,"dur":300,"args":{"stream":8,"device":0,"correlation":3}},
{"ph":"X","cat":"kernel","name":"__amd_rocclr_fillBufferAligned","pid":0,"tid":8,"ts":7300,"dur":100,"args":{"stream":8,"device":0,"correlation":4}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":8,"ts":7400,"dur":50,"args":{"stream":8,"device":0,"correlation":5}}
]}
F
}
rank 0 1 "[0, 1]" 5000; rank 1 1 "[0, 1]" 5000; rank 2 2 "[2, 3]" 750; rank 3 2 "[2, 3]" 500
tidemark hta rank0.json rank1.json rank2.json rank3.json
