# peak, memory, leaks and info of several traces: a row for each, ranks first
rank() {
cat > $1.json <<F
{$2"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":$3,"tid":1,"ts":0,"dur":90,"args":{}},
{"ph":"i","s":"t","name":"[memory]","pid":$3,"tid":1,"ts":10,"args":{"Device Type":1,"Device Id":0,"Addr":4096,"Bytes":$4,"Total Allocated":$4,"Total Reserved":9000000}},
{"ph":"i","s":"t","name":"[memory]","pid":$3,"tid":1,"ts":20,"args":{"Device Type":1,"Device Id":0,"Addr":4096,"Bytes":-$4,"Total Allocated":0,"Total Reserved":9000000}}
]}
F
}
mkdir job; cd job
rank a_worker "" 7 64; rank b "\"distributedInfo\":{\"rank\":1,\"world_size\":2}," 11 2097152; rank c "\"distributedInfo\":{\"rank\":0,\"world_size\":2}," 10 1048576
cd ..
tidemark peak job
tidemark memory job/b.json job/c.json
tidemark leaks job
tidemark info 'job/*.json'
tidemark peak job --json | head -12
tidemark memory job --csv | tr -d '\r'
tidemark info job -o runs.csv; head -1 runs.csv
tidemark peak job --at 10us
echo '{' > job/d.json; tidemark peak job | head -3
