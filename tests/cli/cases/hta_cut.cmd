printf '%s' '[{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":15,"dur":10,"args":{"stream":7,"device":0}},{"ph":"X","na' > a.json
printf '%s' '[{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":15,"dur":10,"args":{"stream":7,"device":0}},  {"ph":"X","na' > b.json
tidemark hta a.json | tail -1
tidemark hta a.json b.json | tail -1
tidemark hta --json a.json b.json | grep -A 3 '"losses"'
tidemark hta --hta-compat a.json | tail -1
