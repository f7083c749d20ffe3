tidemark peak sampled.tide --json --top 1
