# What is not a trace, and what to do about it.
printf 'PK\3\4xxxxxxxx' > a.zip
printf '\x28\xb5\x2f\xfdxxxxxxxx' > a.json.zst
printf '\xfd7zXZ\0xxxxx' > a.json.xz
printf 'BZh91AY' > a.json.bz2
printf '\xff\xfe{\0"\0' > a.json
printf 'SQLite format 3\0' > a.sqlite
echo '{}' > t; tar cf a.tar t; gzip -k a.tar
# as torch.profiler's export_memory_timeline writes them
echo '[[-1, 1, 1024, 0], [-1, 1, 64, 0], [1794797033592306906, 2, 256, 2]]' | gzip > m.raw.json.gz
echo '[[1794797033592307, 1794797033592602], [[0, 1024, 0], [0, 1088, 0]]]' > m.json
printf '<html>\n<head><meta charset="utf-8" /><title>GPU Memory Timeline HTML</title></head>\n<body>' > m.html
echo '<!DOCTYPE html><title>x</title>' > x.html
printf '{\n  "format": "tidemark-objects",\n  "version": 1, "snapshots": []}' > o.json
for f in m.raw.json.gz m.json m.html x.html o.json a.zip a.json.zst a.json.xz a.json.bz2 a.json a.sqlite a.tar a.tar.gz /bin/sh t; do tidemark info $f; done
