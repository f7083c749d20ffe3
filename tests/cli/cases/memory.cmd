COLUMNS=80 tidemark memory train.tide
