cat > a.json <<'E'
{"distributedInfo":{"rank":1,"world_size":3},"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":10,"tid":1,"ts":0,"dur":90,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":10,"tid":1,"ts":5,"dur":20,"args":{"External id":3}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":10,"tid":1,"ts":8,"dur":4,"args":{"correlation":30}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":15,"dur":10,"args":{"stream":7,"device":0,"correlation":30}},
{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":10,"tid":1,"ts":40,"dur":4,"args":{"correlation":31}},
{"ph":"X","cat":"kernel","name":"multimem_all_reduce","pid":0,"tid":8,"ts":50,"dur":4,"args":{"stream":8,"device":0,"correlation":31}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":8,"ts":53,"dur":4,"args":{"stream":8,"device":0,"correlation":31,"Collective name":"allreduce","Group size":8,"dtype":"Half","In msg nelems":100,"Process Group Name":"0"}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":8,"ts":56,"dur":4,"args":{"stream":8,"device":0,"correlation":31,"Collective name":"allreduce","Group size":8,"dtype":"Half","In msg nelems":100,"Process Group Name":"0"}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":7,"ts":60,"dur":5,"args":{"stream":7,"device":0,"correlation":999,"bytes":1000}},
{"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#3","pid":0,"tid":7,"ts":15,"dur":60,"args":{}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","pid":10,"tid":1,"ts":100,"dur":90,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":10,"tid":1,"ts":105,"dur":20,"args":{"External id":4}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":10,"tid":1,"ts":108,"dur":4,"args":{"correlation":40}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":115,"dur":10,"args":{"stream":7,"device":0,"correlation":40}},
{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":10,"tid":1,"ts":140,"dur":4,"args":{"correlation":41}},
{"ph":"X","cat":"kernel","name":"multimem_all_reduce","pid":0,"tid":8,"ts":150,"dur":4,"args":{"stream":8,"device":0,"correlation":41}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":8,"ts":153,"dur":4,"args":{"stream":8,"device":0,"correlation":41,"Collective name":"allreduce","Group size":8,"dtype":"Half","In msg nelems":100,"Process Group Name":"0"}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":8,"ts":156,"dur":4,"args":{"stream":8,"device":0,"correlation":41,"Collective name":"allreduce","Group size":8,"dtype":"Half","In msg nelems":100,"Process Group Name":"0"}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":7,"ts":160,"dur":5,"args":{"stream":7,"device":0,"correlation":999,"bytes":1000}},
{"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#4","pid":0,"tid":7,"ts":115,"dur":60,"args":{}}
]}
E
tidemark hta --drop-last-step a.json | head -4
tidemark hta --steps 4 a.json | head -4
tidemark hta --steps 7..9 a.json
