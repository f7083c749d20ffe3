LC_ALL=C COLUMNS=80 tidemark memory --device cuda:0 train.tide
