tidemark memory sampled.tide -n 1
