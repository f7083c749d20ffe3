tidemark phases --device tt:0 train.tide
