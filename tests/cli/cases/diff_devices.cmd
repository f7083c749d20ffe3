# memory of different devices: the text says so
cat > cpu.json <<'F'
{"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":1,"ts":0,"dur":100},
{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":9,"tid":1,"ts":10,"args":{"Addr":65536,"Bytes":4096,"Device Type":0,"Device Id":-1,"Total Allocated":4096}}
]}
F
sed 's/"Device Type":0,"Device Id":-1/"Device Type":1,"Device Id":0/' cpu.json > gpu.json
tidemark diff cpu.json gpu.json | head -5
tidemark diff gpu.json gpu.json | head -4
