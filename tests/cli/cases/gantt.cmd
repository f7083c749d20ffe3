# the page's name by -o, as everywhere
tidemark gantt train.tide -o named.html > out && ls named.html && head -1 out | grep -c named.html
tidemark gantt train.tide -o - | head -c 15 && echo
tidemark gantt train.tide twice.html -o named.html || ls twice.html
# or named after the input, or given second
tidemark gantt train.tide > out && ls train_gantt.html && head -1 out | grep -c train_gantt.html
tidemark gantt train.tide second.html > out && ls second.html
cp train.tide train.html; tidemark gantt train.html -o train.html; rm train.html
tidemark gantt train.tide -o train.tide; tidemark report train.tide -o page.xyz; tidemark dump train.tide -o rows.csv
