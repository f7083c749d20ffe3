echo '[{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":15,"dur":10,"args":{"stream":7,"device":0}}]' | tidemark hta - | head -1
tidemark hta - < /dev/null; echo $?
tidemark hta empty.tide -o /dev/full; echo $?
# read in one pass: no temporary file is made, gzip or not
kernels='[{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":15,"dur":10,"args":{"stream":7,"device":0}}]'
echo "$kernels" | TMPDIR=/nowhere tidemark hta - | head -1
echo "$kernels" | gzip | TMPDIR=/nowhere tidemark hta /dev/stdin | head -1
TMPDIR=/nowhere tidemark kernels <(echo "$kernels") | head -1
tidemark peak - < train.tide | head -1
cat train.tide | TMPDIR=/nowhere tidemark peak -; echo $? # its reader seeks
