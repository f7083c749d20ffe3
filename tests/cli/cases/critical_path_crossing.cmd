# calls that cross on a thread: the path is no longer than the window, which has no device work
cat > a.json <<'F'
{"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"a","pid":9,"tid":1,"ts":0,"dur":100},
{"ph":"X","cat":"cpu_op","name":"b","pid":9,"tid":1,"ts":50,"dur":100},
{"ph":"X","cat":"cpu_op","name":"c","pid":9,"tid":1,"ts":60,"dur":120},
{"ph":"X","cat":"cpu_op","name":"d","pid":9,"tid":1,"ts":120,"dur":80}
]}
F
tidemark critical-path a.json
tidemark flame a.json --merge
