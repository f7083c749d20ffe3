d=$TIDE_SOURCE/tests/data/phaselog
cp $d/*.log .
for f in half nonsense none; do tidemark phases $f.log; echo "exit $?"; done
tidemark phases both.log --fail-if 'peak>12GiB' > /dev/null; echo "exit $?"
tidemark phases both.log --fail-if 'usage>130%' > /dev/null; echo "exit $?"
tidemark phases both.log --fail-if 'speed>1'; echo "exit $?"
head -c 684 both.log > cut.log; tidemark phases cut.log; echo "exit $?"
for c in run pack recover; do tidemark $c -o x.png train.tide; echo "exit $?"; done
tidemark phases both.log --kv 1,2,3 ; echo "exit $?"
tidemark phases both.log -o bars.tiff; echo "exit $?"
tidemark memory train.tide -o x.png; echo "exit $?"
tidemark phases; echo "exit $?"
tidemark advice efficient.log; echo "exit $?"
