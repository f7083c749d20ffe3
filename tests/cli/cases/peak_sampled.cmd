tidemark peak sampled.tide
tidemark peak sampled.tide --device cpu
tidemark peak sampled.tide --at 6us
