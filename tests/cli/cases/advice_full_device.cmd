# a peak above 80 % of the device is reported, 80 % is not, above 95 % it is severe; an unknown capacity says nothing
for used in 96 81 80 0; do
cat > t.json <<J
{"deviceProperties":[{"id":0,"name":"A device"$([ $used = 0 ] || echo ',"totalGlobalMem":104857600')}],"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::empty","pid":1,"tid":1,"ts":1,"dur":10,"args":{}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":5,"args":{"Total Allocated":$((${used/#0/90} * 1048576)),"Bytes":$((${used/#0/90} * 1048576)),"Addr":4096,"Device Id":0,"Device Type":1}}]}
J
tidemark advice t.json | grep -A1 memory_usage; tidemark advice --json t.json | grep -c '"memory_usage"'
done
