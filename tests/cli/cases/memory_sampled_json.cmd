tidemark memory sampled.tide -n 0 --json --buckets 9
