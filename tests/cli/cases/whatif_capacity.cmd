# The answer in a line, and where it runs out, each place once.
S=$TIDE_SOURCE/tests/data/torchsnap
for c in 5GiB 5.5GiB 8GiB; do tidemark whatif $S/snapshot_gpt_train.pickle.gz --capacity $c | sed '1,/^$/d' | sed '1,/^$/d' | grep -v '^note'; done
tidemark whatif $S/snapshot_gpt_train.pickle.gz --capacity 5.5GiB --set expandable_segments=True | grep -A1 '^Memory'
tidemark whatif $S/snapshot_oom.pickle.gz | grep '^The request'
