tidemark ops --sort name --depth 2 --top 1 --device tt:0 train.tide
for s in wall self count alloc free change peak name; do tidemark ops --flat --sort $s train.tide | awk -v s=$s '/^ /{ o = o " " $NF } END { print s ":" o }'; done
