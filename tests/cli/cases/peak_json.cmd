tidemark peak --json train.tide
