cp "$TIDE_SOURCE/tests/data/kineto_gpt_train.json.gz" .
tidemark kineto_gpt_train.json.gz
tidemark train.tide
mkdir ranks; cp train.tide ranks/run.rank0.tide; tidemark ranks | tail -4
tidemark nothing.tide
