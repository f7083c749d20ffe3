# one wrong byte in the head, in the schema, in a later chunk; the whole head gone
flip() { cp train.tide $1; printf '\x5a' | dd of=$1 bs=1 seek=$2 conv=notrunc status=none; }
flip head.tide 50; tidemark peak head.tide | grep ^note; tidemark recover head.tide
flip schema.tide 200; tidemark recover schema.tide; tidemark peak schema.recovered.tide | grep -A1 ^note
flip events.tide 1800; tidemark recover events.tide; tidemark peak events.tide | grep -A1 ^note
tidemark recover events.tide --json -o x.tide | grep -E 'gap|damage|closed'
cp train.tide gone.tide; head -c 128 /dev/zero | dd of=gone.tide bs=1 conv=notrunc status=none
tidemark recover gone.tide; tidemark peak gone.tide | grep -A1 ^note
