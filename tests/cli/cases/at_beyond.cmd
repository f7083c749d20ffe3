tidemark memory --at "#99999999" "$TIDE_SOURCE/tests/data/torchsnap/snapshot_gpt_train.pickle.gz"
