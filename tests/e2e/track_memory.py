#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The interfaces of the tracker: the C example, C++ compiled against the headers, Python where the package is; their text is read
back by `tidemark phases`."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT, BUILD, TIDEMARK = Path(os.environ["TIDE_SOURCE"]), Path(os.environ["TIDE_BUILD"]), os.environ["TIDEMARK"]
PHASES = ["MODEL_CREATION", "OPTIMIZER_CREATION", "FORWARD_PASS", "BACKWARD_PASS", "FIRST_ITERATION_COMPLETE"]
PHASE = re.compile(r"--- (.+) ---\n"
                   r"  DRAM: Segment Peak (\d+\.\d\d) MB, Allocations (\d+\.\d\d) MB, Deallocations (\d+\.\d\d) MB, Segment Change ([+-]\d+\.\d\d) MB\n"
                   r"  DRAM: Cumulative Peak (\d+\.\d\d) MB, Cumulative Current (\d+\.\d\d) MB\n"
                   r"  L1: Peak CB (\d+\.\d\d) MB, Peak Buffer (\d+\.\d\d) MB, Peak Total (\d+\.\d\d) MB\n")
WHOLE = re.compile(r"=== Memory Usage Summary ===\n\n((?:--- .*\n(?:  .*\n){3})+)\n=== Final Totals ===\n"
                   r"Overall DRAM Peak: \d+\.\d\d MB, Final DRAM Usage: \d+\.\d\d MB\n\n")
CPP = """
#include <tidemark/usage.hpp>
#include <cstdio>
using T = tidemark::MemoryUsageTracker;
int main(int, char **argv)
{
	tide_pool p = tide_pool_open(tide_device_open(TIDE_DEVICE_CUDA, 0, "x", 0), TIDE_POOL_DRAM, "DRAM", 0);
	{
		auto guard = T::begin_capture(T::NO_DISPATCH);
		try { T::begin_capture(); return 1; } catch (const std::runtime_error &e) { std::puts(e.what()); }
		tide_alloc(p, 4096, 3 << 20, 0);
		T::snapshot("A");
		if (T::get_memory_usage_all().size() != 1) return 2;
		{ tidemark::phase again("A"); tide_free(p, 4096); }
		T::end_capture();
		T::print_memory_usage();
		try { T::get_memory_usage("A"); return 1; } catch (const std::runtime_error &e) { std::puts(e.what()); }
		if (T::get_memory_usage_all().size() != 3 || T::get_memory_usage_all()[0].second.change != 3 << 20) return 1;
	}
	try { T::snapshot("B"); return 1; } catch (const std::runtime_error &e) { std::puts(e.what()); }
	T::end_capture();
	T::print_memory_usage();
	{ // a capture without memory events has its snapshots
		auto guard = T::begin_capture();
		T::snapshot("IDLE");
		T::print_memory_usage();
		if (T::get_memory_usage("IDLE").current != 0) return 3;
	}
	// each capture in a recording shows its own snapshots, with the rest in one phase before them
	if (tide_start(argv[1], NULL, NULL) != TIDE_OK) return 4;
	for (const char *name : { "X", "Y" }) {
		auto guard = T::begin_capture();
		tide_alloc(p, 8192 + *name, 1 << 20, 0);
		T::snapshot(name);
		if (T::get_memory_usage_all().size() != 1 || T::get_memory_usage(name).change != 1 << 20) return 5;
		T::end_capture("END");
		if (*name == 'Y') T::print_memory_usage();
	}
	tide_usage_clear();
	if (tide_recording()) tide_stop(NULL);
	// NULL is refused, and the end of the program removes the temporary recording
	const char *name;
	tide_usage_figures f;
	if (tide_usage_begin(TIDE_USAGE_NORMAL, NULL, NULL) != TIDE_OK) return 6;
	if (tide_usage_snapshot(NULL, NULL) != TIDE_EUSAGE || tide_usage_snapshot("LAST", NULL) != TIDE_OK) return 7;
	if (tide_usage_get(NULL, &f, NULL) != TIDE_EUSAGE || tide_usage_get("LAST", NULL, NULL) != TIDE_EUSAGE || tide_usage_get("LAST", &f, NULL) != TIDE_OK) return 8;
	if (tide_usage_at(0, NULL, &f, NULL) != TIDE_EUSAGE || tide_usage_at(0, &name, NULL, NULL) != TIDE_EUSAGE) return 9;
	if (tide_usage_print(NULL, NULL) != TIDE_EUSAGE) return 10;
	return 0;
}
"""


def check(text: str, names: list[str]) -> None:
    """Byte for byte in form, the relations to 0.02, and read back by the program."""
    found = WHOLE.search(text)
    assert found, text
    current = peak = 0.0
    rows = PHASE.findall(found[1])
    assert [r[0] for r in rows] == names, rows
    for _, seg, up, down, change, most, now, *l1 in rows:
        seg, up, down, change, most, now = map(float, (seg, up, down, change, most, now))
        assert abs(change - (up - down)) < 0.02 and abs(now - (current + change)) < 0.02, rows
        assert abs(most - max(peak, current + seg)) < 0.02 and l1 == ["0.00"] * 3, rows
        current, peak = now, most
    with tempfile.NamedTemporaryFile("w", suffix=".log") as f:
        f.write("Total parameters: 1000\n" + text)
        f.flush()
        p = subprocess.run([TIDEMARK, "phases", "--json", f.name], capture_output=True, text=True, check=True)
    s = json.loads(p.stdout)["summaries"][0]
    assert [x["name"] for x in s["phases"]] == names and abs(s["peak_bytes"] / (1 << 20) - peak) < 0.006, s


def c_example() -> None:
    run = subprocess.run([BUILD / "examples" / "gpt_track", "--track_memory", "--steps", "1"], capture_output=True, text=True, check=True)
    check(run.stdout, PHASES)
    plain = subprocess.run([BUILD / "examples" / "gpt_track", "--steps", "1"], capture_output=True, text=True, check=True)
    assert "===" not in plain.stdout, plain.stdout


def cpp() -> None:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        print("SKIP: no C++ compiler")
        return
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "t.cpp", Path(folder) / "t"
        source.write_text(CPP)
        subprocess.run([compiler, "-std=c++11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", source, "-o", program, BUILD / "src/libtidemark-usage.a",
                        BUILD / "src/libtidemark.a", BUILD / "src/libtide_base.a", f"-L{BUILD}/src", "-ltidemark-rt", f"-Wl,-rpath,{BUILD}/src",
                        "-lzstd", "-lisal", "-lz", "-lsqlite3", "-lm", "-lpthread"], check=True)
        rest = Path(folder) / "rest"
        rest.mkdir()
        out = subprocess.run([program, f"{folder}/r.tide"], capture_output=True, text=True, check=True, env={**os.environ, "TMPDIR": str(rest)}).stdout
        assert not list(rest.iterdir()), list(rest.iterdir())
    captures = ["=== Memory Usage Summary" + part for part in out.split("=== Memory Usage Summary")[1:]]
    for text, names in zip(captures, (["A", "A", "END_TRACE"], ["IDLE"], ["(before the capture)", "Y", "END"]), strict=True):
        check(text, names)
    for line in ("MemoryUsageTracker: Capture already active", "the name 'A' is ambiguous", "snapshot without an active capture", "WARNING: No traces captured"):
        assert line in out, out


if __name__ == "__main__":
    c_example()
    cpp()
    sys.exit(0)
