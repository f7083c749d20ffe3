tidemark oom sampled.tide --top 1
tidemark oom sampled.tide --top 0 --json
