tidemark phases --json phases.tide
