mkdir a b
cp train.tide a/run.rank0.tide
cp train.tide b/run.rank0.tide
cp train.tide b/run.rank1.tide
tidemark diff a b; echo $?
tidemark diff a b --rank 1 | head -2
tidemark diff a b --rank 7; echo $?
