echo '{"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1}],"traceName":"","jobid":"7"}' > a.json
tidemark info a.json | grep kineto
tidemark info --json a.json | grep kineto
tidemark whatif a.json
tidemark whatif --json a.json
tidemark peak a.json
