tidemark oom "$TIDE_SOURCE/tests/data/torchsnap/snapshot_oom.pickle.gz"
