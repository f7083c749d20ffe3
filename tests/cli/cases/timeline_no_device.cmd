# a recording without device work does not say that the device was idle
cat > a.json <<'F'
{"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":1,"ts":0,"dur":50},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":1,"ts":90,"dur":10}
]}
F
tidemark timeline a.json
tidemark timeline a.json --json | grep gpu
tidemark gantt a.json -o a.html | grep lanes
