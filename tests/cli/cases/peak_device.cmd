tidemark peak --device tt:0 train.tide
