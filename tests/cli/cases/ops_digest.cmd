f=$TIDE_SOURCE/tests/data/kineto_gpt_train_stack.json.gz
tidemark ops "$f" | sed -n '1,4p;100,$p' | cut -c1-110
tidemark ops --all "$f" | wc -l
tidemark ops --depth 2 "$f" | wc -l
