# a model of two modules, forward and, on another thread, backward of the first
cat > a.json <<'END'
{"traceEvents": [
{"ph":"X","cat":"python_function","name":"nn.Module: Net_0","pid":1,"tid":1,"ts":0,"dur":100,"args":{}},
{"ph":"X","cat":"python_function","name":"nn.Module: Linear_0","pid":1,"tid":1,"ts":10,"dur":30,"args":{}},
{"ph":"X","cat":"python_function","name":"nn.Module: Linear_1","pid":1,"tid":1,"ts":50,"dur":20,"args":{}},
{"ph":"X","cat":"python_function","name":"nn.Module: Linear_1","pid":1,"tid":1,"ts":80,"dur":15,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":12,"dur":20,"args":{"Sequence number":8}},
{"ph":"X","cat":"cpu_op","name":"MmBackward0","pid":1,"tid":2,"ts":120,"dur":7,"args":{"Fwd thread id":1,"Sequence number":8}},
{"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":13,"args":{"Bytes":1024,"Addr":4096,"Device Type":1,"Device Id":0}},
{"ph":"i","name":"[memory]","pid":1,"tid":2,"ts":121,"args":{"Bytes":2048,"Addr":8192,"Device Type":1,"Device Id":0}}
]}
END
tidemark modules a.json
tidemark modules a.json --top 1 --sort calls
tidemark modules train.tide
