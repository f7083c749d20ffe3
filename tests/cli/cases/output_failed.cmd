echo old > out.txt; tidemark peak -o out.txt nothing.tide; echo $?; cat out.txt; ls out*; tidemark peak -o nowhere/out.txt train.tide
