d=$TIDE_SOURCE/tests/data/ttgraph
tidemark phases --tracker $d/report.json
tidemark phases --tracker $d/report.json > new; tidemark phases --tracker $d/old.json | diff new - && echo the same from texts
tidemark ops $d/report.json | head -6
tidemark dump -t facts $d/report.json
tidemark dump -t tensors -t spans $d/report.json
head -c 900 $d/report.json > cut.json; tidemark info cut.json; echo "exit $?"
