unset TIDEMARK_CONFIG XDG_CONFIG_HOME; export HOME=$PWD
tidemark config update --backend-enable-memory-profiling true --backend-output-dir 'my "runs"'
printf '# keep me\n[[backend]] # and me\ninterval = 2 # why\n\n# last\n[[backend]]\nname = "b"' > tidemark.toml
tidemark config update --backend-interval 0.5 --backend-capture-ops off | sed "s|$PWD|.|"
tidemark config update -b b --backend-output-dir /tmp/x | sed "s|$PWD|.|"
cat tidemark.toml
TIDEMARK_CAPTURE_STACKS=yes tidemark config show --config tidemark.toml --backend-capture-shapes true
TIDEMARK_BACKEND=b tidemark config show --config tidemark.toml --json
# where there is no file from here upwards: the user's
mv tidemark.toml kept.toml; mkdir -p .config/tidemark xdg/tidemark
printf '[[backend]]\ninterval = 7\n' > xdg/tidemark/tidemark.toml; printf '[[backend]]\ninterval = 8\n' > .config/tidemark/tidemark.toml
for x in '' $PWD/xdg; do XDG_CONFIG_HOME=$x tidemark config show | grep '^interval' | sed "s|$PWD|.|"; done
