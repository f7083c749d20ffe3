tidemark peak -n 3 - < train.tide; cat train.tide | tidemark peak -n 3 -; ls
