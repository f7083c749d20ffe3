# a snapshot of a program that did not record its history: the allocator's state is all there is
python3 -c 'import gzip, os, pickle
s = pickle.load(gzip.open(os.environ["TIDE_SOURCE"] + "/tests/data/torchsnap/snapshot_gpt_train.pickle.gz"))
s["device_traces"] = [[] for _ in s["device_traces"]]
for segment in s["segments"]:
    for block in segment["blocks"]:
        block["frames"] = []
print("in use", sum(b["size"] for g in s["segments"] for b in g["blocks"] if b["state"] != "inactive"))
print("reserved", sum(g["total_size"] for g in s["segments"]))
pickle.dump(s, open("bare.pickle", "wb"))'
tidemark oom bare.pickle --json | grep -E "active_bytes|reserved_bytes|history\""
tidemark oom bare.pickle
cp "$TIDE_SOURCE/tests/data/torchsnap/snapshot_gpt_train.pickle.gz" snapshot.pickle.gz
tidemark oom snapshot.pickle.gz | tail -6
