# PyTorch of 2021: sizes without addresses
cat > old.json <<'F'
{"traceEvents":[
{"ph":"X","cat":"Operator","name":"aten::mm","pid":1,"tid":"2","ts":1,"dur":90,"args":{}},
{"ph":"i","s":"t","name":"[memory]","pid":1,"tid":"2","ts":10,"args":{"Device Type":1,"Device Id":0,"Bytes":4096}},
{"ph":"i","s":"t","name":"[memory]","pid":1,"tid":"2","ts":20,"args":{"Device Type":1,"Device Id":0,"Bytes":8192}},
{"ph":"i","s":"t","name":"[memory]","pid":1,"tid":"2","ts":30,"args":{"Device Type":1,"Device Id":0,"Bytes":-20480}},
{"ph":"i","s":"t","name":"[memory]","pid":1,"tid":"2","ts":40,"args":{"Device Type":0,"Device Id":-1,"Bytes":64}}
]}
F
tidemark memory old.json
tidemark memory old.json --json --at 25us
tidemark peak old.json
tidemark peak old.json --json
tidemark ops old.json
tidemark ops old.json --json --flat
tidemark leaks old.json --json
tidemark timeline old.json --json | grep overlap
