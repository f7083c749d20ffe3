tidemark peak train.tide train.tide
