tidemark ops train.tide
