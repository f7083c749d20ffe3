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
tidemark info train.tide.gz | sed -n 1,2p
zstd -q train.tide -o t.zst && tidemark info t.zst | sed -n 2p
tidemark peak train.tide --json > a; tidemark peak train.tide.gz --json | diff a - && echo same; tidemark peak t.zst --json | diff a - && echo same
head -c $(($(stat -c %s train.tide.gz) * 3 / 4)) train.tide.gz > cut.gz; tidemark peak cut.gz | tail -3
gzip -kc train.tide.gz > twice.gz; tidemark info twice.gz
zcat train.tide.gz | tidemark info - | sed -n 2p
tidemark train.tide
