tidemark peak --json lossy.tide
