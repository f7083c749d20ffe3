# a moment behind the end is its end, and said to be
tidemark memory train.tide --at 1s | head -1
tidemark peak train.tide --at 100% | head -1
