mkdir a b c d
cp train.tide a/run.rank0.tide
cp lossy.tide a/run.rank1.tide
cp train.tide a/run.rank3.tide
cp train.tide b/run.rank0.tide
cp train.tide b/run.rank1.tide
cp lossy.tide b/run.rank3.tide
cp phases.tide b/run.rank12.tide
cp train.tide c/x.tide
cp train.tide c/y.tide
echo "== all ranks"; tidemark diff a b; echo $?
echo "== narrow"; COLUMNS=60 tidemark diff a b -n 1
echo "== JSON"; tidemark diff --json a b --fail-if 'time>+1%' | python3 -c '
import json, sys
d = json.load(sys.stdin)
for r in d["ranks"]:
    print(r["rank"], r["a"]["trace"], r["b"]["trace"], r["metrics"]["time"], sorted(r["b"]["losses"]), r["fail_if"])
print(d["only_a"], d["only_b"])'
echo "== thresholds"; tidemark diff a b --fail-if 'time>+1%' | tail -6; echo ${PIPESTATUS[0]}
tidemark diff a b --fail-if 'time>+100%' > /dev/null; echo $?
tidemark diff a b --fail-if 'kernel_time>1ms' > /dev/null; echo $?
echo "== one"; tidemark diff a b --rank 1 | head -2
tidemark diff a b --rank 7; echo $?
tidemark diff a b --device cuda:9 2>&1 > /dev/null | tail -2; echo ${PIPESTATUS[0]}
echo "== one rank that cannot be read"; echo nonsense > b/run.rank0.tide; tidemark diff a b | sed -n '4,7p;/^note/p'
tidemark diff a b --fail-if 'time>+100%' > /dev/null; echo $?
echo "== mistakes"; tidemark diff a c; echo $?
tidemark diff a/run.rank0.tide c; echo $?
cp train.tide d/rank_7.tide; cp train.tide d/rank_8.tide; tidemark diff a d; echo $?
