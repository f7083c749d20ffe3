tidemark ops --sort name --depth 2 --top 1 --device tt:0 train.tide
