# --top keeps the heaviest, in the order of first appearance
tidemark ops --depth 1 -n 1 train.tide
tidemark ops --depth 1 -n 2 train.tide
