tidemark allocator --at peak --map 4 "$TIDE_SOURCE/tests/data/torchsnap/snapshot_gpt_train.pickle.gz"
