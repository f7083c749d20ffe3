for c in info peak ops; do echo "== $c"; tidemark $c lossy.tide; done
