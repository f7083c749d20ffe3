tidemark memory sampled.tide -n 0 --device cuda:0 --at 4500ns
tidemark memory sampled.tide -n 0 --device cuda:0 --at 900ns --json --buckets 9
