tidemark info train.tide
