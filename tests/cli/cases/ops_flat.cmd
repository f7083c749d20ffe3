tidemark ops --flat --sort self -n 3 train.tide
