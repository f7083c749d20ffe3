tidemark phases phases.tide
