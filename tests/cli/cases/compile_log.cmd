tidemark compile $TIDE_SOURCE/tests/data/torchtrace/gpt.log.gz --top 4
