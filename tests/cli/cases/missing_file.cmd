tidemark peak nothing.tide
