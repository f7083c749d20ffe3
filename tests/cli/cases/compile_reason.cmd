# the reason of a recompile on one line, as torch 2.13 writes it: padded, with the user's stack
cp $TIDE_SOURCE/tests/data/torchtrace/job/dedicated_log_torch_trace_rank_1_a.log log
sed -i "s|size mismatch at index 0. expected 2, actual 3|size mismatch at index 0. expected 2, actual 3            # y = f(x)  # a.py:3 in f\\\\nUser stack trace:\\\\n  File \\\\\"a.py\\\\\", line 3|" log
tidemark compile log | grep -A3 -e '^Recompiles' -e 'recompiles took'
tidemark compile --json log | grep -o '"reason": "0/1.*'
# a compile that failed early does not name its function
sed -i '/"compile_id": "0\/2"/s/"co_name": "step", "co_filename": "[^"]*", "co_firstlineno": 3, //' log
tidemark compile log | grep -A2 -e '^Recompiles'
