cp train.tide x.txt; tidemark peak -o x.txt x.txt; echo $?; cmp train.tide x.txt; ls x*
