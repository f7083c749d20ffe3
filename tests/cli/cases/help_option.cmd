tidemark ops -h
