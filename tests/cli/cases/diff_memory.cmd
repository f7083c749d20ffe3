tidemark diff phases.tide train.tide --top 3
