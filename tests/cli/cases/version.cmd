tidemark --version
