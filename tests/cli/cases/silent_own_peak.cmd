tidemark memory silent.tide -n 0 --device cuda:0
tidemark memory silent.tide -n 0 --device cuda:0 --at 2us | sed -n 3p
tidemark peak silent.tide
tidemark memory silent.tide -n 0 --json --buckets 3 --at 5us | grep -A 13 '"sampled"'
tidemark report silent.tide -o page.html > /dev/null
python3 "$TIDE_SOURCE/tests/support/page_section.py" page.html main --json devices
