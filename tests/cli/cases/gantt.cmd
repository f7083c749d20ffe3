# the page's name by -o, as everywhere
tidemark gantt train.tide -o named.html > out && ls named.html && tail -1 out | grep -c named.html
tidemark gantt train.tide -o - | head -c 15 && echo
tidemark gantt train.tide twice.html -o named.html || ls twice.html
tidemark gantt train.tide -o train.tide
