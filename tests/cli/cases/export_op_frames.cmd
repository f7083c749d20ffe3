tidemark export train.tide -o op.pickle 2>/dev/null
tidemark peak op.pickle --group-by stack | head -8
