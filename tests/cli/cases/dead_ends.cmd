# A report that finds nothing in a recording ends with the commands that find something in it, in order of the question.
data=$TIDE_SOURCE/tests/data
cp $data/torchsnap/small_p2.pickle x.pickle
cp $data/kineto_gpt_train.json.gz gpu.json.gz
cp steps.tide 'a b.tide'
for ask in "hta train.tide" "critical-path train.tide" "hta x.pickle" "oom gpu.json.gz" "stale gpu.json.gz" "heap gpu.json.gz" "peak empty.tide"; do
	echo "-- $ask"
	tidemark $ask 2>&1 | tail -7
done
echo "-- a name that a shell would split"
tidemark oom 'a b.tide' 2>&1 | tail -3
echo "-- documents stay alone"
tidemark hta train.tide --json 2>&1 >/dev/null
echo "-- none of several: the last one"
cp train.tide other.tide
tidemark critical-path train.tide other.tide 2>&1 | sed -n '2,4p'
