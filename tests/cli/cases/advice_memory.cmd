# requests that failed; memory of the host that grows over steps; a device that is nearly full is reported once
tidemark advice failed.tide | grep -A1 -e ^score -e out_of_memory
tidemark advice "$TIDE_SOURCE/tests/data/torchsnap/snapshot_oom.pickle.gz" | head -6
grow() {
	echo '{"deviceProperties":[{"id":0,"name":"A device","totalGlobalMem":104857600}],"traceEvents":['
	for i in 1 2 3 4 5 6 7 8; do
		echo "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#$i\",\"pid\":1,\"tid\":1,\"ts\":$((i * 100)),\"dur\":90,\"args\":{}},"
		echo "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::empty\",\"pid\":1,\"tid\":1,\"ts\":$((i * 100 + 1)),\"dur\":10,\"args\":{}},"
		echo "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":$((i * 100 + 5)),\"args\":{\"Total Allocated\":$((i * $2)),\"Total Reserved\":$((i * $2)),\"Bytes\":$2,\"Addr\":$((i * 16777216)),\"Device Id\":$3,\"Device Type\":$1}},"
	done
	echo '{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":950,"dur":10,"args":{}}]}'
}
grow 0 4194304 -1 > host.json; tidemark advice host.json
grow 1 12582912 0 > full.json; tidemark advice full.json
