for by in op stack tensor role pool stream size frame; do tidemark peak --group-by $by train.tide | tail -n +4; done
