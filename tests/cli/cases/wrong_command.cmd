# a file or a word for the wrong command
tidemark objects train.tide; echo $?
echo 'not a log' > some.log; tidemark tt some.log 2>&1 | head -1
tidemark hat train.tide
tidemark phases --parameters 1000 train.tide | sed -n 3p
