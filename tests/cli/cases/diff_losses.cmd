# notes about losses name their trace, and are printed once if both have the same
for x in a b; do
echo '{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"mm","pid":1,"tid":1,"ts":0,"dur":5},{"ph":"X","name":"x","pid":1,"tid":1,"ts":0}]}' > $x.json
done
echo '{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"mm","pid":1,"tid":1,"ts":0,"dur":5}]}' > c.json
tidemark diff a.json b.json | grep -A 1 :$
tidemark diff a.json c.json | grep -A 1 :$
tidemark diff c.json a.json | grep -A 1 :$
