tidemark dump train.tide
tidemark dump train.tide --table memory_events --limit 1
