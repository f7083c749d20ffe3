cp -r $TIDE_SOURCE/tests/data/torchtrace/job job; tidemark compile job
tidemark info job | grep -A6 ^processes
