# recordings that somebody compressed as a whole: whole, cut, damaged, and no recordings at all
gzip -k train.tide; zstd -q train.tide -o train.tide.zst
for z in gz zst; do
	tidemark recover train.tide.$z; cmp train.tide train.recovered.tide && echo same
	tidemark pack train.tide.$z -o p.tide --json | grep -v bytes_; tidemark recover p.tide -o r.tide > note; cmp train.tide r.tide && echo same
	head -c 1000 train.tide.$z > cut.tide.$z; rm p.tide
	tidemark recover cut.tide.$z && tidemark peak cut.recovered.tide | grep ^note
	tidemark pack cut.tide.$z -o p.tide > note; echo "pack $?"; [ -e p.tide ] && tidemark peak p.tide | grep ^note
	head -c 40 train.tide.$z > head.tide.$z; tidemark recover head.tide.$z; tidemark pack head.tide.$z
	cp train.tide.$z bad.tide.$z; printf '\x99\x99\x99\x99\x99' | dd of=bad.tide.$z bs=1 seek=60 conv=notrunc status=none
	tidemark recover bad.tide.$z; tidemark pack bad.tide.$z
done
head -c -4 train.tide.gz > foot.tide.gz; tidemark recover foot.tide.gz; cmp train.tide foot.recovered.tide && echo same
printf 'no recording' | gzip > x.tide.gz; tidemark pack x.tide.gz; printf ab | zstd -q > x.tide.zst; tidemark recover x.tide.zst
printf '\x1f\x8b' > x.gz; tidemark recover x.gz; : > x.zst; tidemark pack x.zst
gzip -c train.tide.gz > twice.tide.gz; tidemark recover twice.tide.gz
ls *.part 2> none; ls -a | grep tidemark-
cp train.tide.gz same.tide; tidemark recover same.tide -o same.tide; cmp train.tide same.tide && echo same
