tidemark whatif sampled.tide --set max_split_size_mb=20
tidemark whatif sampled.tide --set max_split_size_mb=20 --json | grep -A4 '"recorded"'
