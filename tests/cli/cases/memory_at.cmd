COLUMNS=100 tidemark memory --at peak --device cuda:0 train.tide; tidemark memory --at 3us -n 2 train.tide | head -12
