# a size or a time needs a unit on a command line, 0 excepted
for words in "memory --at 5" "peak --at 0" "leaks --every 5" "whatif -c 40" "whatif -c 4096000" "flame --min-bytes 1 --kind memory" "info --max-memory 4096"; do
	tidemark $words train.tide > /dev/null; echo "$words: $?"
done
tidemark run --duration 5 -- true; echo $?
tidemark run --rate 4096 --heap -- true; echo $?
tidemark run --max-size 1048576 -- true; echo $?
for limit in 'peak>2' 'peak>0' 'peak>+100MiB' 'duration>5'; do tidemark diff train.tide train.tide --fail-if "$limit" > /dev/null; echo "$limit: $?"; done
