# a step, and a last one, which HTA leaves out: kernels 40-50, 60-84, communication 70-90, a copy 85-95
cat > a.json <<'END'
{"traceEvents": [
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":200,"args":{}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#2","pid":1,"tid":1,"ts":200,"dur":100,"args":{}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":15,"dur":5,"args":{"correlation":7}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":55,"dur":5,"args":{"correlation":8}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":62,"dur":5,"args":{"correlation":9}},
{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":1,"tid":1,"ts":70,"dur":5,"args":{"correlation":10}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":210,"dur":5,"args":{"correlation":11}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":40,"dur":10,"args":{"device":0,"stream":7,"correlation":7}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":60,"dur":24,"args":{"device":0,"stream":7,"correlation":8}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":8,"ts":70,"dur":20,"args":{"device":0,"stream":8,"correlation":9}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoH","pid":0,"tid":9,"ts":85,"dur":10,"args":{"device":0,"stream":9,"correlation":10,"bytes":20000,"memory bandwidth (GB/s)":2}},
{"ph":"X","cat":"kernel","name":"late","pid":0,"tid":7,"ts":220,"dur":10,"args":{"device":0,"stream":7,"correlation":11}}
]}
END
tidemark hta --hta-compat --json a.json | sed '/"idle_time": \[/,$d'
sed 's/"dur":24/"dur":30/; s/late/new/' a.json > b.json
tidemark diff --hta-compat a.json b.json
tidemark diff --hta-compat a.json b.json > /dev/full; echo $?
tidemark hta --hta-compat a.json > /dev/full; echo $?
