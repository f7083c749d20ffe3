for c in info memory phases peak ops dump; do echo "== $c"; tidemark $c empty.tide; done
