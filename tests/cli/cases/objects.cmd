# a result: text, another snapshot, JSON; damaged ones; programs that leave none
R=$TIDE_SOURCE/tests/data/objects.json
tidemark objects $R --top 2
tidemark objects $R --at loaded --json --top 1
tidemark objects $R --at nowhere; echo $?
{ echo '{"format": "tidemark-objects", "version": 1, "snapshots": []}'; echo '{"at": "a", "objects": 1}'; echo '{"at": "a", "objects": 2}'; printf '{"at": "b", "obj'; } > lines
tidemark objects lines
tidemark objects --keep nowhere/kept -- sh -c 'echo ran'; echo $?
gzip -c $R > packed; tidemark objects packed --at loaded | head -2
tidemark objects --keep kept $R -n 1 | head -1; cmp <(tidemark objects kept --json) <(tidemark objects $R --json) && echo same
echo '{"format": "tidemark-objects", "version": 2}' > v2; tidemark objects v2
echo '{"format": "tidemark-objects", "version": 1, "snapshots": [{"objects": -1}]}' > minus; tidemark objects minus
head -c 700 $R > cut; tidemark objects cut
: > empty; tidemark objects empty
tidemark objects train.tide
tidemark objects -- sh -c 'echo out; exit 4'; echo $?
tidemark objects -- ./nothing; echo $?
tidemark objects -- true; echo $?
