# what an option names and no trace has: exit 2, nothing on standard output; one of several traces is enough
cp "$TIDE_SOURCE/tests/data/kineto_gpt_train.json.gz" rank_0.json.gz
head -c 20000 rank_0.json.gz > rank_1.json.gz
ask() { tidemark "$@" > out 2> err; rc=$?; echo "$rc $*: $(head -1 err)"; [ $rc = 0 ] || [ $rc = 4 ] || [ ! -s out ] || echo "  prints all the same"; }
for c in memory phases peak ops allocator leaks oom whatif "flame --kind memory" "export --to folded --kind memory"; do ask $c train.tide --device cuda:7; done
ask diff train.tide train.tide --device cuda:7
ask diff . . --rank 99
ask critical-path rank_0.json.gz --annotation nosuch
ask critical-path rank_0.json.gz --annotation nosuch --json
ask critical-path rank_0.json.gz --annotation nosuch --hta-compat
ask critical-path rank_0.json.gz --annotation forward_pass --instance 99
ask critical-path rank_0.json.gz --annotation forward_pass --instance 1..99
ask critical-path rank_0.json.gz --instance 1
ask critical-path rank_0.json.gz --instance 0
ask critical-path rank_0.json.gz rank_1.json.gz --annotation nosuch
ask critical-path rank_0.json.gz rank_1.json.gz --annotation optimizer_step
ask hta rank_0.json.gz --steps 1000
ask kernels rank_0.json.gz --steps 1000
ask hta rank_0.json.gz nosuch.json --steps 1000
printf '[%s,%s]' '{"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":1,"tid":1,"ts":0,"dur":9}' \
	'{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1,"dur":2,"args":{"stream":7,"device":0}}' > steps.json
ask hta steps.json --steps 1000
ask hta steps.json --steps 3
ask hta steps.json rank_0.json.gz --steps 3
ask hta steps.json --custom-collective nosuch
ask critical-path rank_0.json.gz --data-loading nosuch
