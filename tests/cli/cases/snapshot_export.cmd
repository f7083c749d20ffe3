S="$TIDE_SOURCE"/tests/data/torchsnap/small_p2.pickle
tidemark export "$S" --to snapshot -o a.pickle
tidemark export a.pickle -o b.pickle
cmp a.pickle b.pickle && tidemark memory a.pickle
