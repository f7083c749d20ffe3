# steps are host spans: the annotations of a stream are no steps of their own, except in HTA's rules
cat > steps.json <<'F'
{"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#0","pid":9,"tid":1,"ts":0,"dur":100},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":1,"ts":10,"dur":60},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":1,"ts":20,"dur":5,"args":{"correlation":7}},
{"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#0","pid":0,"tid":7,"ts":30,"dur":30,"args":{"device":0,"stream":7}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":30,"dur":30,"args":{"device":0,"stream":7,"correlation":7}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":9,"tid":1,"ts":100,"dur":100},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":1,"ts":110,"dur":70}
]}
F
tidemark critical-path steps.json | head -2
tidemark critical-path steps.json --hta-compat | head -1
tidemark critical-path steps.json --instance 2; echo $?
# a snapshot has no launches to follow, with or without annotations
python3 - <<'F'
import pickle
alloc = dict(action="alloc", addr=4096, size=512, stream=0, time_us=1, frames=[])
pickle.dump(dict(segments=[], device_traces=[[alloc]]), open("a.pickle", "wb"))
F
tidemark critical-path a.pickle; echo $?
# a trace without spans, and one whose spans are neither ops nor calls
echo '{"traceEvents":[{"ph":"i","name":"start","pid":9,"tid":1,"ts":5}]}' > empty.json
tidemark critical-path empty.json --json | grep -e why -e _ns
cat > plain.json <<'F'
{"traceEvents":[
{"ph":"X","name":"a","pid":9,"tid":1,"ts":0,"dur":100},
{"ph":"X","name":"b","pid":9,"tid":1,"ts":150,"dur":100}
]}
F
tidemark critical-path plain.json
