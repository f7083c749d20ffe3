tidemark whatif --set expandable_segments=true --capacity 5.5GiB --json "$TIDE_SOURCE/tests/data/torchsnap/snapshot_gpt_train.pickle.gz" | grep -v "\"file\"\|\"function\"\|\"line\""
