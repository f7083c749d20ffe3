# the profiler's own work is no op: Self adds up to the flame graph's total
cat > a.json <<'F'
{"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"a","pid":9,"tid":1,"ts":0,"dur":100},
{"ph":"X","cat":"overhead","name":"Activity Buffer Request","pid":9,"tid":1,"ts":20,"dur":50},
{"ph":"X","cat":"cpu_op","name":"b","pid":9,"tid":1,"ts":30,"dur":10},
{"ph":"X","cat":"overhead","name":"Activity Buffer Request","pid":9,"tid":1,"ts":200,"dur":50},
{"ph":"X","cat":"cpu_op","name":"c","pid":9,"tid":1,"ts":210,"dur":10},
{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":9,"tid":1,"ts":35,"args":{"Addr":65536,"Bytes":4096,"Device Type":0,"Device Id":-1}},
{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":9,"tid":1,"ts":60,"args":{"Addr":131072,"Bytes":512,"Device Type":0,"Device Id":-1}},
{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":9,"tid":1,"ts":215,"args":{"Addr":262144,"Bytes":1024,"Device Type":0,"Device Id":-1}}
]}
F
tidemark ops a.json
tidemark ops --flat a.json
tidemark flame a.json
