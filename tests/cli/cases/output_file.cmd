tidemark phases -o out.txt phases.tide && cat out.txt && ls
