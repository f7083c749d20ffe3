tidemark peak --device cuda:9 train.tide
