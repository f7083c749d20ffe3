tidemark profile ./none.py; echo $?
tidemark profile -- sh -c "exit 5" 2>&1 | grep -v "^tidemark run"; echo "${PIPESTATUS[0]}"
tidemark profile --timeout 1 -- sleep 30 2>&1 | grep -v "^tidemark run"; echo "${PIPESTATUS[0]}"
echo 1 > x.py; tidemark memory x.py; tidemark ops x.py
