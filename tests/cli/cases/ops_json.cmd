tidemark ops --json train.tide
