tidemark profile ./none.py; echo $?
tidemark profile -- sh -c "exit 5" 2>&1 | grep -v "^tidemark run"; echo "${PIPESTATUS[0]}"
tidemark profile --timeout 1 -- sleep 30 2>&1 | grep -v "^tidemark run"; echo "${PIPESTATUS[0]}"
echo 1 > x.py; tidemark memory x.py; tidemark ops x.py
mkdir runs; for c in profile predict run; do tidemark $c runs; echo $?; done
echo 1 > x.txt; tidemark profile x.txt; echo $?
