# no log, not there, fails, hangs, gets arguments, is a script
tidemark compile --json -- sh -c 'echo out; exit 4' | grep -v wall_ns; echo "${PIPESTATUS[0]}"
tidemark compile -- ./nothing; echo $?
tidemark compile no.py; echo $?
tidemark compile --timeout 1 -- sleep 60 | sed 's/: .* of/: N s of/'; echo "${PIPESTATUS[0]}"
cat > x.py <<'P'
import os, sys
print(sys.argv[1:], os.environ["TIDEMARK_COMPILE_MODE"], "TORCH_TRACE" in os.environ)
sys.exit("no")
P
tidemark compile --mode eager x.py a --json | sed 's/: .* of/: N s of/'; echo "${PIPESTATUS[0]}"
tidemark compile --mode default x.py 2>/dev/null | grep compare
tidemark compile train.tide
mkdir empty; tidemark compile empty
tidemark compile empty --mode x
