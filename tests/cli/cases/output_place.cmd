# What is no plain file stays what it is, a link stays a link, a mode stays; a signal leaves nothing.
mkfifo pipe; mkdir to
tidemark gantt train.tide -o pipe >/dev/null & head -c 15 pipe; wait; stat -c ' %F' pipe
ln -s /dev/null null
for c in pack recover; do
	for out in pipe null; do tidemark $c train.tide -o $out; echo "$? $(stat -c '%N %F' $out)"; done
done
mkdir folder; for out in pipe null folder nowhere/x.tide; do timeout -k 1 20 tidemark run -o $out -- true 2>&1 | sed "s|$PWD/||"; done
echo old > to/page.html; chmod 640 to/page.html; ln -s to/page.html link.html
tidemark ops train.tide -o link.html; tidemark gantt train.tide -o link.html >/dev/null
stat -c '%N %F' link.html; stat -c '%a %F' to/page.html; head -c 15 to/page.html; echo
touch to/packed.tide; ln -s to/packed.tide packed.tide; tidemark pack train.tide -o packed.tide | head -1 | cut -d: -f1; stat -c '%N' packed.tide; tidemark info packed.tide | grep format
mkfifo slow; tidemark info slow -o left.txt & pid=$!
until ls left.txt.*part >/dev/null 2>&1; do sleep 0.01; done
kill -TERM $pid; wait $pid 2>/dev/null; echo "$? $(ls | grep -c left)"
COLUMNS=60 tidemark report train.tide > page.html && COLUMNS= tidemark report train.tide | cmp - page.html && echo same
