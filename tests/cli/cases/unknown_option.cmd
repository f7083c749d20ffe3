tidemark peak --group train.tide
