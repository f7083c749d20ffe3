# a recording without device work does not say that the device was idle
cat > a.json <<'F'
{"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":1,"ts":0,"dur":50},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":1,"ts":90,"dur":10},
{"ph":"X","cat":"cpu_op","name":"aten::empty","pid":9,"tid":1,"ts":10,"dur":20},
{"ph":"X","cat":"cpu_op","name":"aten::relu","pid":9,"tid":2,"ts":10,"dur":20}
]}
F
tidemark timeline a.json
tidemark timeline a.json --json | grep gpu
tidemark gantt a.json -o a.html | grep lanes
tidemark hta a.json --json | grep -m 10 -E '"(kernel_time|busy|idle|compute|communication|memory|other|non_compute|comm_comp_overlap|idle_host_active)_ns"'
# only device rows: the host's time is unknown, as in diff
cat > device.json <<'F'
{"traceEvents":[{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1,"dur":9,"args":{"device":0,"stream":7}}]}
F
tidemark timeline device.json
tidemark timeline device.json --json | grep -E 'cpu|gpu|overlap|idle'
tidemark diff device.json device.json --json | grep -A 2 -E 'cpu_time|gpu_time|overlap'
# no work at all: every time is unknown, as in `tidemark diff`
cat > none.json <<'F'
{"traceEvents":[{"ph":"X","cat":"user_annotation","name":"step","pid":9,"tid":1,"ts":0,"dur":50}]}
F
tidemark timeline --json none.json | grep -E 'total_time|idle'
tidemark flame --kind gpu --json none.json | grep -o '"value.*"self_ns":[^,]*'
