# What is not a trace, and what to do about it.
printf 'PK\3\4xxxxxxxx' > a.zip
printf '\x28\xb5\x2f\xfdxxxxxxxx' > a.json.zst
printf '\xfd7zXZ\0xxxxx' > a.json.xz
printf 'BZh91AY' > a.json.bz2
printf '\xff\xfe{\0"\0' > a.json
printf 'SQLite format 3\0' > a.sqlite
echo '{}' > t; tar cf a.tar t; gzip -k a.tar
for f in a.zip a.json.zst a.json.xz a.json.bz2 a.json a.sqlite a.tar a.tar.gz /bin/sh t; do tidemark info $f; done
