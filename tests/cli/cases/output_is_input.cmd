cp train.tide x.tide; tidemark peak -o x.tide x.tide; echo $?; cmp train.tide x.tide; ls x*
