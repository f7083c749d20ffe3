echo '[{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":15,"dur":10,"args":{"stream":7,"device":0}}]' | tidemark hta - | head -1
tidemark hta - < /dev/null; echo $?
tidemark hta empty.tide -o /dev/full; echo $?
