tidemark leaks --every 20% "$TIDE_SOURCE/tests/data/torchsnap/snapshot_gpt_train.pickle.gz"
