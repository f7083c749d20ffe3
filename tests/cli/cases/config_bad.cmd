export HOME=$PWD; unset TIDEMARK_CONFIG XDG_CONFIG_HOME
for text in 'intervall = 1' 'interval = "often"' 'interval = 1\ninterval = 2' 'output_dir = profiles'; do
	printf "[[backend]]\n# x\n$text\n" > t.toml
	tidemark config show --config t.toml
done
tidemark config update --config t.toml --backend-interval 3
TIDEMARK_CONFIG=t.toml tidemark run -- true
TIDEMARK_INTERVAL=x tidemark config show
tidemark config update --backend-intervall 3
tidemark config update --config missing/t.toml --backend-interval 3
