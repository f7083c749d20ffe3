printf '{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":0,"dur":5}]}' >t.json
for c in memory allocator leaks "leaks --every 20%"; do tidemark $c t.json; done
