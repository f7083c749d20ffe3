tidemark allocator sampled.tide --no-advice
tidemark allocator sampled.tide --no-advice --json --buckets 3 --at 900ns | head -23
tidemark allocator sampled.tide --no-advice --json --buckets 3
