head -c 20 train.tide > cut.tide; tidemark info cut.tide
