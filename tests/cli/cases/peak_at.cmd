tidemark peak --at 100% --device cuda:0 train.tide
