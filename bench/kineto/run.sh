#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
# The Kineto importer's figures, all of one run: scan rate against simdjson, load time and peak memory, 100 MB against
# larger, plain against gzip (gz.py, in turn).   bench/kineto/run.sh BUILD [megabytes...]      files are kept in $TIDE_BENCH_DIR
set -e
here=$(cd "$(dirname "$0")" && pwd); build=$(cd "${1:-build}" && pwd); shift || true
sizes=("${@:-}"); [ -n "${sizes[0]}" ] || sizes=(100 1020)
dir=${TIDE_BENCH_DIR:-${TMPDIR:-/tmp}/tide-bench}; mkdir -p "$dir"
for mb in 200 "${sizes[@]}"; do
	[ -f "$dir/$mb.json" ] || python3 "$here/grow.py" "$here/../../tests/data/kineto_gpt_train.json.gz" "$mb" "$dir/$mb.json"
done
echo "== scan, one thread, CPU seconds (best of 5, in turn)"
c++ -O3 -march=native -DNDEBUG -o "$dir/simdjson" "$here/simdjson.cpp" -lsimdjson
for i in 1 2 3; do "$build/bench/bench_kineto_scan" "$dir/200.json" 5; "$dir/simdjson" "$dir/200.json" 5; done
echo "== load: wall s, user s, sys s, peak KB (kernel's max RSS; nothing is mapped)"
for mb in "${sizes[@]}"; do
	[ -f "$dir/$mb.6.json.gz" ] || gzip -6 -c "$dir/$mb.json" > "$dir/$mb.6.json.gz"
	for threads in 1 2; do
		for file in "$dir/$mb.json" "$dir/$mb.6.json.gz"; do
			for what in 0 1; do
				/usr/bin/time -f "%e %U %S %M" "$build/bench/bench_kineto_load" "$file" "$threads" "$what"
			done
		done
	done
done 2>&1
echo "== plain and gzip in turn, wall seconds"
for mb in "${sizes[@]}"; do "$here/gz.py" "$build" "$dir/$mb.json"; done
