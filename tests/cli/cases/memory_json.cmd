tidemark memory --json --buckets 8 -n 2 train.tide
