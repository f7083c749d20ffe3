# what people put between programs: pipes by any name, a reader that stops early, gzip, a file in a command's place
tidemark info <(cat train.tide) | sed -n 2p
cat train.tide | tidemark info /dev/stdin | sed -n 1,2p
mkfifo p
exec 3<>p 4>p 3<&- # a pipe whose reader has gone
tidemark dump train.tide >&4
echo "dump: $?"
tidemark peak train.tide --json >&4
echo "peak: $?"
exec 4>&-
gzip -k train.tide
tidemark info train.tide.gz
zcat train.tide.gz | tidemark info - | sed -n 2p
tidemark train.tide
