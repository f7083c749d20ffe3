#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
# What recording costs on a GPU, and whether it is exact there: one command, about six minutes.
#
#     bench/torch/gpu.sh pack          here: build the package and what it needs into out/gpu (ignored by git)
#     bench/torch/gpu.sh [FOLDER]      there: run everything on out/gpu; recordings and figures go to FOLDER (default /tmp/tidemark-gpu)
#
# The machine there needs python3 with torch; ops need a C++ compiler there once (without one they are left out, and said so).
set -eu
cd "$(dirname "$0")/../.."
site=$PWD/out/gpu/site

pack() {
	python=${TIDE_TORCH_PYTHON:-python3}
	rm -rf out/gpu
	mkdir -p out/gpu/lib
	"$python" -m pip install -q --no-deps --disable-pip-version-check --target "$site" . "-Cbuild-dir=$PWD/build/python-build"
	find "$site" -name "*.so*" -o -name tidemark -type f | xargs ldd 2>/dev/null | grep -v libtidemark | sort -u | awk '$3 ~ "^/" && !/libc.so|libm.so|libpthread|libdl|librt.so/ { print $3 }' |
		xargs -I{} cp -L {} out/gpu/lib/
	du -sh out/gpu
}

if [ "${1:-}" = pack ]; then
	pack
	exit
fi
out=${1:-/tmp/tidemark-gpu}
mkdir -p "$out"
export LD_LIBRARY_PATH="$PWD/out/gpu/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PYTHONPATH="$site" PYTHONUNBUFFERED=1 XDG_CACHE_HOME="$out/cache" PYTHONDONTWRITEBYTECODE=1
live() { timeout "$1" python3 -W ignore bench/torch/live.py "$2" "$out" ${3:-} 2>&1 | grep -v USDT || echo "live.py $2: stopped"; }
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo "no GPU"
c++ --version 2>/dev/null | head -1 || echo "no C++ compiler"
uptime
live 90 exact
live 200 calls "--rounds 10 --seconds 120"
live 140 steps "--batch 2 --context 64 --seconds 60 --only callback;ops;stacks"
live 140 steps "--autocast --batch 8 --context 512 --seconds 60 --light --warm 0"
live 140 steps "--autocast --batch 8 --context 512 --seconds 90"
live 140 steps "--bf16 --batch 32 --context 1024 --seconds 90"
live 20 product
uptime
