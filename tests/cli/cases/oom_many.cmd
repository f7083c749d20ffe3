tidemark oom failed.tide --events 1 --top 1
tidemark oom failed.tide --events 0 --device cuda:0
tidemark oom failed.tide --json --top 1 | grep -c '"holders": \['
tidemark oom failed.tide --json --top 1 --events 0 | tail -n 54
tidemark oom failed.tide --events 65
