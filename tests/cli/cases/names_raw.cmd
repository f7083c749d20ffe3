# No name, of a file or in one, reaches the terminal as it is.
e=$(printf '\033]0;title\007\302\23331m')
printf '{"traceEvents": [{"ph":"X","cat":"cpu_op","name":"a\\u001b[31m\\u009b","pid":1,"tid":1,"ts":0,"dur":100}]}' > "$e.json"
cp "$e.json" b.json
tidemark timeline "$e.json" b.json | grep json
tidemark critical-path "$e.json" b.json | grep json
tidemark critical-path b.json --annotation "$e"
tidemark export b.json --to folded | od -c | head -3
printf '[[backend]]\nname = "\\u001b[31m\\u009b"\n' > tidemark.toml
tidemark config show -c tidemark.toml | head -2
tidemark config update -c tidemark.toml --backend-output-dir "$e"
printf '[[backend]]\n"\\u001b[31m" = 1\n' > tidemark.toml; tidemark config show -c tidemark.toml
