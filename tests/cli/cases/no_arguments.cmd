tidemark 2>&1 | head -6; tidemark 2> /dev/null
