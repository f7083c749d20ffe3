tidemark whatif --set max_split_size_mb=3 "$TIDE_SOURCE/tests/data/torchsnap/snapshot_oom.pickle.gz"
