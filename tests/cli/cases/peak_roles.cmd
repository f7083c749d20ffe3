tidemark peak -g role "$TIDE_SOURCE/tests/data/torchsnap/snapshot_gpt_train.pickle.gz"
