tidemark peak
