tidemark dump train.tide
