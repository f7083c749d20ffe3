# no "Stream Wait Event" rows: a kernel that waited for a collective, one that waited for work launched
# before the recording, one that began late for no known reason
cat > a.json <<'F'
{"traceEvents":[
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":1,"ts":0,"dur":5,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamWaitEvent","pid":9,"tid":1,"ts":6,"dur":1,"args":{"correlation":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":1,"ts":8,"dur":5,"args":{"correlation":3}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":20,"ts":10,"dur":900,"args":{"stream":20,"device":0,"correlation":1}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":912,"dur":50,"args":{"stream":7,"device":0,"correlation":3}}
]}
F
sed 's/"ts":0,"dur":5/"ts":0,"dur":5,"lost":1/; /"correlation":1}},$/{/cudaLaunchKernel/d}' a.json > before.json
sed 's/"ts":10,"dur":900/"ts":10,"dur":90/' a.json > late.json
for f in a before late; do tidemark critical-path $f.json | sed '/^$/,$!d'; done
