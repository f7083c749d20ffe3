for f in kineto_gpt_train.json.gz torchsnap/snapshot_gpt_train.pickle.gz torchtrace/job; do tidemark advice $TIDE_SOURCE/tests/data/$f; done
tidemark advice train.tide; tidemark advice --json train.tide | head -6
