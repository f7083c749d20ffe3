tidemark phases train.tide
