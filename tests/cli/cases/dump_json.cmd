tidemark dump --json -t marks -t tensors -t allocs --limit 3 train.tide
