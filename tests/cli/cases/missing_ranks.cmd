# `run -o job.tide -- torchrun ...` writes job.rankN.tide and no job.tide; the name goes on to work.
cp steps.tide job.rank0.tide
cp steps.tide job.rank1.tide
cp steps.tide job.rank10.tide
cp steps.tide job.rank1.77.tide
cp steps.tide job.old.tide
mkdir 'a b[1]'
cp steps.tide 'a b[1]/one.41.tide'
cp steps.tide 'a b[1]/two.rank0.tide'
cp steps.tide 'a b[1]/two.rank3.tide'
echo "-- ranks are read"
tidemark peak job.tide
tidemark leaks 'a b[1]/two.tide' --json | grep trace
tidemark job.tide | tail -4
tidemark report job.tide -o job.html
echo "-- one trace: the command to type"
tidemark ops job.tide; echo $?
tidemark advice 'a b[1]/two.tide'; echo $?
tidemark hta job.tide -o one.html; echo $?
echo "-- a single process"
tidemark info 'a b[1]/one.tide' | head -1
echo "-- nothing there"
tidemark peak jo.tide; echo $?
