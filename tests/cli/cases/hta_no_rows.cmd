echo '{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":1,"dur":2}]}' > cpu.json
tidemark hta cpu.json
tidemark kernels cpu.json
