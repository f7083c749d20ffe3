#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
# The recorder's figures: bench/record.sh [BUILD]. LTTng's rows need lttng-tools and liblttng-ust-dev.
set -euo pipefail
build=${1:-build}
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d "${TMPDIR:-/dev/shm}/tide-bench.XXXXXX")
sessiond=
stop() {
	[ -z "$sessiond" ] || { lttng destroy tide-bench >/dev/null 2>&1 || true; kill "$sessiond" 2>/dev/null || true; }
	rm -rf "$tmp"
}
trap stop EXIT

# Built here, so that the figures do not depend on the build's options: -O2, like the library.
flags=(-std=gnu11 -D_GNU_SOURCE -O2 -I"$here/../include" -I"$here")
libs=(-L"$build/src" -ltidemark-rt -Wl,-rpath,"$(realpath "$build/src")" -lpthread)
if pkg-config --exists lttng-ust && command -v lttng-sessiond >/dev/null; then
	flags+=(-DHAVE_LTTNG) libs+=($(pkg-config --libs lttng-ust) -ldl)
	export LTTNG_HOME=$tmp
	lttng-sessiond --no-kernel >/dev/null 2>&1 &
	sessiond=$!
	for _ in $(seq 50); do lttng --no-sessiond list >/dev/null 2>&1 && break || sleep 0.1; done
	# Flight-recorder mode: nothing is written out, so this is the tracepoint alone.
	lttng --no-sessiond create tide-bench --snapshot -o "$tmp/lttng" >/dev/null
	lttng --no-sessiond enable-channel --userspace --subbuf-size 1M --num-subbuf 8 ch >/dev/null
	lttng --no-sessiond enable-event --userspace -c ch 'tide_bench:*' >/dev/null
	lttng --no-sessiond start >/dev/null
else
	echo "no LTTng here: its row is left out"
fi
cc "${flags[@]}" "$here/record.c" -o "$tmp/record" "${libs[@]}"

"$tmp/record" cost "$tmp/cost.tide"
"$tmp/record" sustained "$tmp/sustained.tide"
rm -f "$tmp"/*.tide
if command -v valgrind >/dev/null; then
	instructions() {
		TIDEMARK_CLOCK=tsc valgrind --tool=callgrind --callgrind-out-file="$tmp/cg.$1" --toggle-collect=tidemark \
			"$tmp/plain" count "$tmp/cg.tide" "$1" 2>&1 | sed -n 's/.*Collected : *//p'
	}
	cc -std=gnu11 -D_GNU_SOURCE -O2 -fno-inline-functions -I"$here/../include" "$here/record.c" -o "$tmp/plain" "${libs[@]:0:3}" -lpthread
	a=$(instructions 20000) b=$(instructions 120000)
	printf '%-24s %7.1f (callgrind; loop included)\n' "instructions an event" "$(echo "($b - $a) / 100000" | bc -l)"
fi
if [ -x "$build/examples/gpt" ]; then
	"$build/examples/gpt" --steps 2200 --width 16 --context 8 --batch 1 -o "$tmp/demo.tide" >/dev/null
	"$build/src/tidemark" pack "$tmp/demo.tide" -o "$tmp/packed.tide" | sed -n '1s/.*: [0-9]* events, /packed                   /p'
	python3 "$here/../tests/fault/tide_read.py" "$tmp/demo.tide" | sed -n '1s/ {.*//p; 2s/.*}, /demo recording          /p; 3p'
fi
