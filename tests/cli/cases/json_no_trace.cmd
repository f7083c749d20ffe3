echo '{"name": "x", "version": 3, "dependencies": {"a": "b"}}' > package.json
echo '[{"a": 1}, {"b": 2}]' > list.json
echo '{"traceEvents": []}' > none.json
tidemark info package.json; echo $?
tidemark hta list.json; echo $?
tidemark ops none.json; echo $?
