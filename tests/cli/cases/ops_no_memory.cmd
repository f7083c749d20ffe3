# a trace without memory events does not say that ops allocated nothing
cat > a.json <<'F'
{"traceEvents":[
{"ph":"X","cat":"python_function","name":"nn.Module: Net_0","pid":9,"tid":1,"ts":0,"dur":50,"args":{"Python id":1}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":1,"ts":10,"dur":30},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":1,"ts":70,"dur":10},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":40,"dur":10,"args":{"stream":7,"device":0,"correlation":1}}
]}
F
tidemark ops a.json
tidemark ops a.json --flat --top 1
tidemark ops a.json --json | grep -e alloc -e free -e bytes | sort | uniq -c
tidemark modules a.json
tidemark modules a.json --json | grep bytes
tidemark diff a.json a.json --json | grep -e peak -e alloc -A 4 | grep -c null
tidemark phases a.json
tidemark allocator a.json
tidemark allocator a.json --json | head -15
