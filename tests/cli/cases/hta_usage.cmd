tidemark hta --steps 5..2 x.json; echo $?
tidemark hta --steps x x.json; echo $?
tidemark hta --steps 1 --drop-last-step x.json; echo $?
tidemark hta --threads 0 x.json; echo $?
mkdir none; tidemark hta none; echo $?
tidemark hta 'none/*.json'; echo $?
tidemark hta none/x.json; echo $?
