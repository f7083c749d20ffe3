tidemark peak --group-by colour train.tide
