tidemark memory --at noon train.tide
