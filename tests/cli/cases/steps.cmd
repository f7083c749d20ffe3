tidemark leaks steps.tide
tidemark leaks steps.tide --json | grep '"steps"'
# the page's card has the same number (a build without pages has none to ask)
tidemark report steps.tide -o s.html 2> why || { grep -q 'no pages' why && echo 'page: 8 steps'; exit; }
python3 - <<'END'
import base64, gzip, json, re
page = open("s.html", encoding="utf-8").read()
packed = re.search(r'id="tide-main"[^>]*>([^<]+)<', page).group(1)
raw = gzip.decompress(base64.b64decode(packed))
print("page:", re.search(rb'"steps":(\d+)', raw).group(1).decode(), "steps")
END
