tidemark report sampled.tide -o page.html > /dev/null
python3 "$TIDE_SOURCE/tests/support/page_section.py" page.html memory seg_t seg_bytes seg_pool
python3 "$TIDE_SOURCE/tests/support/page_section.py" page.html main --json devices
