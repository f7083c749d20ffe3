tidemark peak train.tide
