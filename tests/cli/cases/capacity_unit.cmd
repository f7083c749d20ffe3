# a capacity without a unit is refused: 80 were 80 bytes
for c in "whatif oom.tide --capacity 80" "predict 8=train.tide 16=train.tide --capacity 80" "predict 8=train.tide 16=train.tide -c 1.5"; do
	tidemark $c
	echo "exit $?"
done
