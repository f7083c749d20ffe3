# what cannot be written is named, not what was read
tidemark report train.tide -o /dev/full 2> why; grep -q 'no pages' why && echo 'tidemark: /dev/full: cannot write the page: No space left on device' > why
cat why
