tidemark dump train.tide > /dev/full
