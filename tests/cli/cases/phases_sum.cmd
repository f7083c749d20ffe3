cat > a.json <<'END'
{"traceEvents": [
{"ph":"X","cat":"user_annotation","name":"forward","pid":1,"tid":1,"ts":100,"dur":100,"args":{}},
{"ph":"X","cat":"user_annotation","name":"inside","pid":1,"tid":1,"ts":110,"dur":20,"args":{}},
{"ph":"X","cat":"user_annotation","name":"forward","pid":1,"tid":1,"ts":300,"dur":100,"args":{}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":120,"args":{"Total Allocated":3145728,"Addr":4096,"Device Type":0,"Device Id":-1,"Bytes":3145728}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":250,"args":{"Total Allocated":5242880,"Addr":8388608,"Device Type":0,"Device Id":-1,"Bytes":2097152}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":350,"args":{"Total Allocated":2097152,"Addr":4096,"Device Type":0,"Device Id":-1,"Bytes":-3145728}}
]}
END
tidemark phases --by annotation --sum a.json
tidemark phases --by annotation --sum --json a.json | grep -E '"(name|count|segment_change_bytes|highest_bytes)"'
