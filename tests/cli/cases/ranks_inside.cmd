# Traces named by host, process and time, as PyTorch's handler does: the rank is inside, first or last.
trace() {
	info="\"distributedInfo\":{\"rank\":$2,\"world_size\":2}"
	events="\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":2,\"args\":{\"correlation\":1}},
{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaDeviceSynchronize\",\"pid\":1,\"tid\":1,\"ts\":4,\"dur\":9,\"args\":{\"correlation\":2}},
{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Context Sync\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":7,\"args\":{\"stream\":7,\"device\":0,\"correlation\":2}},
{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":3,\"dur\":$3,\"args\":{\"stream\":7,\"device\":0,\"correlation\":1}}]"
	[ "$4" ] && echo "{$events,$info}" > $1 || echo "{$info,$events}" > $1
}
mkdir a b
trace a/host_11.17.pt.trace.json 0 5
trace a/host_12.17.pt.trace.json 1 6 last
trace b/host_21.18.pt.trace.json 1 9
trace b/host_22.18.pt.trace.json 0 7 last
echo "== rank by rank"; tidemark diff a b | sed -n '4,7p'
tidemark diff a b --rank 1 | head -2
echo "== a rank twice"; cp a/host_11.17.pt.trace.json a/host_11.18.pt.trace.json
tidemark hta a | sed -n '1,7p;/^note/p'
tidemark diff a b; echo $?
echo "== one that cannot be read"; echo nonsense > a/bad.json
tidemark hta a --hta-compat | sed -n '3,5p'
tidemark critical-path a | grep -c '^a/'
echo "== pages"; tidemark hta a -o x.html; echo $?
echo "== a wait is the call's"; tidemark ops a/host_11.17.pt.trace.json; tidemark ops --streams --flat a/host_11.17.pt.trace.json
