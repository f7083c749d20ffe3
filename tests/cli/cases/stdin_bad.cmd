echo hello | tidemark peak - 2>&1 | sed "s/(.*,.*) (byte/(...) (byte/"; echo hello | tidemark peak - 2> /dev/null
