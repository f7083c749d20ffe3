echo hello > hello.txt; tidemark info hello.txt 2>&1 | sed "s/(.*,.*) (byte/(...) (byte/"; tidemark info hello.txt 2> /dev/null
