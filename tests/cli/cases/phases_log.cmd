d=$TIDE_SOURCE/tests/data/phaselog
tidemark phases $d/both.log
