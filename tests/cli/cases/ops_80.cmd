COLUMNS=80 tidemark ops train.tide
