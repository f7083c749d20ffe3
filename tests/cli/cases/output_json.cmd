# a name that ends in .json gets JSON without --json; --json never goes into a page or a picture
for c in peak memory ops 'diff train.tide'; do tidemark $c train.tide -o x.json && head -c 1 x.json && echo " $c"; done
tidemark hta train.tide -o x.json; head -c 1 x.json; echo
tidemark peak train.tide --json -o x.txt; head -c 1 x.txt; echo
for f in x.png x.svg x.html; do tidemark phases train.tide --json -o $f; echo $?; done
ls x.png x.svg x.html 2>/dev/null | wc -l
