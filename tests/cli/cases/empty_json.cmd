for c in memory phases peak ops; do echo "== $c"; tidemark $c --json empty.tide; done
