# nothing is wider than the terminal, no number is cut, JSON and files are never touched
snapshot=$TIDE_SOURCE/tests/data/torchsnap/snapshot_oom.pickle.gz trace=$TIDE_SOURCE/tests/data/kineto_gpt_train.json.gz
cp "$snapshot" oom.pickle.gz && cp "$trace" trace.json.gz
for columns in 60 80 120; do
	export COLUMNS=$columns
	for c in info memory peak phases ops allocator oom whatif leaks flame timeline; do tidemark $c oom.pickle.gz; done > out
	for c in info peak ops modules hta kernels flame timeline critical-path; do tidemark $c trace.json.gz; done >> out
	tidemark hta --hta-compat trace.json.gz >> out
	tidemark diff oom.pickle.gz train.tide >> out
	for c in $(COLUMNS=120 tidemark help | sed -n 's/^  \([a-z-]*\) .*/\1/p') ; do tidemark help $c; done >> out
	python3 -c 'import sys
wide = [x for x in open("out", encoding="utf-8").read().splitlines() if len(x) > int(sys.argv[1])]
print(f"{sys.argv[1]} columns: {len(wide)} lines are wider", *wide[:3], sep="\n")' $columns
done
export COLUMNS=60
tidemark help peak
tidemark ops trace.json.gz --top 2
tidemark diff train.tide lossy.tide | head -12
tidemark peak --json train.tide > narrow.json
unset COLUMNS
tidemark peak --json train.tide | cmp - narrow.json
