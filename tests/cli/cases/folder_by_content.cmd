# A folder whose files have no telling names: their content decides. One file that is named as a trace: names decide.
mkdir d
cp $TIDE_SOURCE/tests/data/kineto_gpt_train.json.gz d/worker_rank0
cp train.tide d/worker_rank1
cp $TIDE_SOURCE/tests/data/torchsnap/small_p2.pickle d/memory
echo "a note" >d/notes
tidemark hta d 2>&1 | head -1
tidemark peak d | cut -c 1-20
mv d/worker_rank1 d/worker_rank1.tide
tidemark peak d | wc -l
rm d/worker*
tidemark hta d
tidemark predict ./d/memory --like h200
cp train.tide program
chmod +x program
tidemark predict --like h200 -- ./program
