# a trace with nothing but ranges
echo '{"traceEvents":[{"ph":"X","cat":"user_annotation","name":"step","pid":9,"tid":1,"ts":0,"dur":90}]}' > a.json
tidemark timeline a.json
