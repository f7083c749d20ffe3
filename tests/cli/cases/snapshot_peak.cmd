tidemark peak --top 3 "$TIDE_SOURCE"/tests/data/torchsnap/snapshot_oom.pickle.gz
