# a trace of another tool: what NVML and CUPTI would tell is unknown, never 0
cat > a.json <<'F'
{"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":1,"ts":0,"dur":100},
{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":9,"tid":1,"ts":10,"args":{"Addr":1,"Bytes":4096,"Device Type":1,"Device Id":0,"Total Allocated":4096,"Total Reserved":2097152}}
]}
F
tidemark device a.json
tidemark device a.json --json | grep -e live -e cached -e profiler -e pooled | sort -u
# no memory events
cat > b.json <<'F'
{"traceEvents":[
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":30,"dur":30,"args":{"device":0,"stream":7,"correlation":7}}
]}
F
tidemark device b.json
# another kind of device
sed 's/"kernel"/"mtia_ccp_events"/' b.json > mtia.json
tidemark device mtia.json
