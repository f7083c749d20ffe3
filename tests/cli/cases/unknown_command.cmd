tidemark peek train.tide
