tidemark phases --tracker phases.tide
tidemark phases phases.tide | head -5
COLUMNS=60 tidemark phases phases.tide | head -7
