# one thing happened, one note
head -c 20000 "$TIDE_SOURCE/tests/data/kineto_gpt_train.json.gz" > cut.json.gz
tidemark info cut.json.gz | grep ^note
tidemark hta cut.json.gz | grep ^note
tidemark info --json cut.json.gz | grep -A 7 '"losses"'
COLUMNS=60 tidemark info cut.json.gz | grep -A 3 ^note
