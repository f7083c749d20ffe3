tidemark info --json train.tide
