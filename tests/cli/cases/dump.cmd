tidemark dump train.tide
# the previous name of memory_events
tidemark dump train.tide --table moves --limit 1
