# advice and allocator give the same severity to the same recommendation
file="$TIDE_SOURCE/tests/data/torchsnap/snapshot_gpt_train.pickle.gz"
tidemark advice "$file" --json > advice.json
tidemark allocator "$file" --json > allocator.json
python3 - <<'EOF'
import json
of = {f["id"]: f["severity"] for f in json.load(open("advice.json"))["findings"]}
for a in json.load(open("allocator.json"))["advice"]:
    print(a["kind"], a["severity"], of[a["kind"]])
EOF
