#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Faults the recorder survives, each a test: `faults.py PROG NAME` runs one, `faults.py PROG` all.

PROG is tests/fault/prog. What a scene leaves behind is read with tide_read.py. Exit 77: skipped, with
a line that says why."""
import contextlib
import errno
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import seccomp  # noqa: E402
from extent import ALL  # noqa: E402
from tide_read import Bad, Tide  # noqa: E402

PROG = ""
TIDEMARK = os.environ.get("TIDE_PROGRAM") or os.environ.get("TIDEMARK", "")  # tools/test: a program that is not sanitized
ROUNDS = int(os.environ.get("TIDE_KILL_ROUNDS", "100" if ALL else "40"))
WINDOW_ROUNDS = max(ROUNDS // 8, 4)  # tide_read.py takes a second for each
THREADS = 8


class Skip(Exception):
	pass


def check(what, ok, *about):
	if not ok:
		raise AssertionError(what + (": " + " ".join(map(str, about)) if about else ""))


def run(*args, ok=(0,), env=None, **kw):
	p = subprocess.run([PROG, *map(str, args)], capture_output=True, text=True, timeout=600,
		env=dict(os.environ, **(env or {})), **kw)
	if p.returncode == 77:
		raise Skip(p.stderr.strip())
	check("exit status of " + args[0], p.returncode in ok, p.returncode, p.stderr[-400:])
	return p.stdout


def published(path, n=THREADS):
	with open(path, "rb") as f:
		data = f.read()
	return [struct.unpack_from("<Q", data, 4096 * i)[0] for i in range(n)]


def numbers(t):
	"""Mark values by name, in the order they stand in the file."""
	out = defaultdict(list)
	for name, f in t.all_events():
		if name == "mark":
			out[t.name(f["name"])].append(f["value"])
	return out


def lane_of(t):
	"""Name of the marks -> rings they are in."""
	out = defaultdict(set)
	for ring, events in t.events.items():
		for name, f in events:
			if name == "mark":
				out[t.name(f["name"])].add(ring)
	return out


def read(path, said=""):
	"""The recording as tide_read.py sees it; the tidemark program must see the same. `said`: what the stop told; parts that it calls
	missing may be."""
	t = Tide(path)
	if os.access(TIDEMARK, os.X_OK):
		p = subprocess.run([TIDEMARK, "info", "--json", path], capture_output=True, text=True, timeout=600)
		check("tidemark reads " + os.path.basename(path), p.returncode == 0, p.stderr)
		facts = json.loads(p.stdout)["facts"]
		check("tidemark: events", facts["tide.events"] == sum(1 for _ in t.all_events()), facts["tide.events"])
		check("tidemark: losses", facts.get("loss.events", 0) == t.lost_total(), facts, t.lost)
		bad = {k: v for k, v in facts.items() if re.match(r"loss\.(missing|ring_|definitions|undefined|repeated|un|damage)", k)}
		check("tidemark: nothing else amiss", not bad or "stop: " in said, bad, said)
	return t


@contextlib.contextmanager
def folder():
	d = tempfile.mkdtemp(prefix="tide-fault-")
	try:
		yield d
	finally:
		shutil.rmtree(d, ignore_errors=True)


@contextlib.contextmanager
def tmpfs(size, options=""):
	with folder() as d:
		p = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%s%s" % (size, options), "tide-fault", d], capture_output=True, text=True)
		if p.returncode:
			raise Skip("no permission to mount a tmpfs here")
		try:
			yield d
		finally:
			subprocess.run(["umount", "-l", d], check=True)


# ---- kill -9


def killed(d, ring, pace, per_pace, after):
	f = os.path.join(d, "k.tide")
	p = subprocess.Popen([PROG, "kill", f, str(ring), str(pace), str(per_pace)], stdout=subprocess.PIPE, text=True)
	check("ready", p.stdout.readline() == "ready\n")
	time.sleep(after)
	p.send_signal(signal.SIGKILL)
	p.wait()
	p.stdout.close()
	t = read(f)
	recovered(f, t)
	return t, published(f + ".pub")


def says_so(f):
	"""A command that reads the two directly tells how many events are from the rings, and the ring file's absence."""
	p = subprocess.run([TIDEMARK, "peak", f], capture_output=True, text=True, timeout=600)
	check("peak", p.returncode == 0, p.stderr)
	check("peak says it read the ring file", "events were read from its ring file" in p.stdout, p.stdout)
	alone = f + ".alone"
	shutil.copy(f, alone)
	p = subprocess.run([TIDEMARK, "peak", alone], capture_output=True, text=True, timeout=600)
	# An error when the kill met the first chunk's write: nothing is before it, and no events is no answer.
	said = p.stderr if p.returncode == 1 and "before the first event" in p.stderr else p.stdout
	check("peak says there is no ring file", "there is no ring file beside it" in said, p.stdout, p.stderr)


def recovered(f, t):
	"""`tidemark recover` makes one closed file with the same events of the two."""
	if not os.access(TIDEMARK, os.X_OK):
		return
	out = f.removesuffix(".tide") + ".recovered.tide"
	p = subprocess.run([TIDEMARK, "recover", f, "-o", out], capture_output=True, text=True, timeout=600)
	check("recover", p.returncode == 0, p.stderr)
	says_so(f)
	r = Tide(out)
	check("recovered file is closed", r.clean)
	check("recovered events", numbers(r) == numbers(t))
	check("recovered losses", r.lost_total() == t.lost_total(), r.lost, t.lost)


def kill_paced():
	rng = random.Random(int(os.environ.get("TIDE_SEED", "1")))
	total = from_rings = torn = long = two_points = 0
	with folder() as d:
		for i in range(ROUNDS):
			t, pub = killed(d, 1 << (18 if i % 2 else 20), 2000, 40, rng.uniform(0, 0.25))
			got = numbers(t)
			for k in range(THREADS):
				values = got["thread-%d" % k]
				check("round %d: thread %d has 1..k" % (i, k), values == list(range(1, len(values) + 1)), values[:5], values[-5:])
				check("round %d: thread %d: nothing that returned is missing" % (i, k), len(values) >= pub[k], len(values), pub[k])
				check("round %d: thread %d: nothing but the call in flight beyond" % (i, k), len(values) <= pub[k] + 1)
				total += len(values)
			check("no loss", t.lost_total() == 0, t.lost)
			long += max(map(len, got.values())) >= 2000
			two_points += len(t.ticks) >= 2
			from_rings += t.from_rings
			torn += t.torn
	check("clock points", two_points or not long)  # in one round the writer may have had no processor
	print("%d kills, %d events, %d of them read from rings, %d torn chunks" % (ROUNDS, total, from_rings, torn))


def kill_unpaced():
	rng = random.Random(2)
	total = lost = 0
	with folder() as d:
		rounds, i = max(ROUNDS // 8, 1), 0
		while i < rounds or lost == 0 and i < 100:  # on a loaded machine a kill may come before the rings are full
			t, pub = killed(d, 65536, 0, 1, rng.uniform(0, 0.03 * (i // rounds + 1)))
			i += 1
			got, rings = numbers(t), lane_of(t)
			for k in range(THREADS):
				values = got["thread-%d" % k]
				check("increasing", all(a < b for a, b in zip(values, values[1:])))
				check("one ring", len(rings["thread-%d" % k]) <= 1)
				gone = sum(sum(t.lost.get(r, ())) for r in rings["thread-%d" % k])
				check("round %d: thread %d: missing = counted" % (i, k), pub[k] <= len(values) + gone <= pub[k] + 1, pub[k], len(values), gone)
				total += len(values)
			lost += t.lost_total()
	print("%d events kept, %d counted as lost" % (total, lost))
	check("the test provokes losses", lost > 0)


# ---- kill -9 of a recording that is limited in size


def live_blocks(t):
	"""Addresses of live blocks at the end: those carried over from the previous file, then each ring's events in order."""
	live = set()
	for ring in sorted(t.events, reverse=True):  # CARRY_RING is the largest
		for name, f in t.events[ring]:
			if name.startswith("alloc"):
				live.add(f["addr"])
			elif name == "free":
				live.discard(f["addr"])
	return live


def previous_part(f):
	"""The file that was full before this one. A kill may come before it has its name."""
	fresh = [os.path.join(os.path.dirname(f), x) for x in os.listdir(os.path.dirname(f)) if x.endswith(".new")]
	named = f.removesuffix(".tide") + ".old.tide"
	for path in [*fresh, named]:
		if os.path.exists(path):
			try:
				t = Tide(path)
			except Bad:  # the next part, which was being written
				continue
			if path == named or sum(1 for n, _ in t.all_events() if n == "mark"):
				return t
	return None


def kill_window():
	rng = random.Random(int(os.environ.get("TIDE_SEED", "3")))
	parts = events = 0
	for i in range(WINDOW_ROUNDS):
		with folder() as d:
			f = os.path.join(d, "k.tide")
			p = subprocess.Popen([PROG, "killwindow", f], stdout=subprocess.PIPE, text=True)
			check("ready", p.stdout.readline() == "ready\n")
			time.sleep(rng.uniform(0, 0.3))
			p.send_signal(signal.SIGKILL)
			p.wait()
			p.stdout.close()
			t, pub = read(f), published(f + ".pub", 4)
			got, live = numbers(t), live_blocks(t)
			check("no loss", t.lost_total() == 0, t.lost)
			later = t.facts.get("loss.window_events", 0) > 0
			old = numbers(previous_part(f)) if later else {}
			for k in range(4):
				about = "round %d: thread %d: " % (i, k)
				values = old.get("thread-%d" % k, []) + got["thread-%d" % k]
				last = values[-1] if values else 0
				check(about + "both files together miss nothing", values == list(range(last - len(values) + 1, last + 1)), values[:3], values[-3:])
				check(about + "begins with 1 unless a file is full", later or not values or values[0] == 1, values[:3])
				check(about + "nothing that returned is missing", pub[k] <= last <= pub[k] + 1, pub[k], last)
				mine = {(a - (k + 1 << 40)) // 512 for a in live if a >> 40 == k + 1}
				sure, most = set(range(max(last - 49, 1), pub[k] + 1)), set(range(max(pub[k] - 49, 1), last + 1))
				check(about + "live blocks", sure <= mine <= most, sorted(sure - mine), sorted(mine - most))
				events += len(values)
			parts += later
	print("%d kills, %d of them after a file was full, %d steps" % (WINDOW_ROUNDS, parts, events))
	if not parts and os.environ.get("TIDE_PROGRAM"):
		raise Skip("a sanitized program is too slow to fill a file")
	check("files got full", parts > 0)


# ---- disk full


def accounted(f, pub_path, threads, each, extra=1):
	t = read(f)
	got = numbers(t)
	kept = len(got[None])  # the unnamed marks with which threads took their rings
	for k in range(threads):
		values = got["thread-%d" % k]
		check("increasing", all(a < b for a, b in zip(values, values[1:])))
		kept += len(values)
	pub = published(pub_path, threads)
	check("all calls returned", pub == [each] * threads, pub)
	total = threads * (each + extra)
	check("missing = counted", kept + t.lost_total() == total, kept, t.lost_total(), total)
	return t, kept


def disk_full():
	for mode in ("stop", "abort"):
		with tmpfs("4m") as d, folder() as other:
			f = os.path.join(d, "f.tide")
			pub = os.path.join(other, "pub")
			out = run("full", f, 2, 1500000, mode, env={"PUB": pub}, ok=(0, -9))
			t, kept = accounted(f, pub, 2, 1500000)
			check("the disk was full", t.lost_total() > 0 and t.size > 1 << 20, t.size)
			if mode == "stop":
				check("stop completes the file", out.startswith("0 ") and t.clean, out)
				check("no rings left", os.listdir(d) == ["f.tide"], os.listdir(d))
				check("total is true", t.total["events"] == kept and t.total["lost"] == t.lost_total())
			print("%s: %d kept, %d counted as lost, %d bytes" % (mode, kept, t.lost_total(), t.size))


def sanitized(binary):
	return re.search(r"lib[atu]san", subprocess.run(["ldd", binary], capture_output=True, text=True).stdout)


def shm_64mb():
	for size in 64, 24:
		with tmpfs("%dm" % size) as d, folder() as other:
			f, pub = os.path.join(d, "f.tide"), os.path.join(other, "pub")
			run("full", f, 100, 5000, "stop", env={"PUB": pub})
			t, kept = accounted(f, pub, 100, 5000)
			print("100 threads on %d MB: %d rings, %d kept, %d counted as lost" % (size, t.total["rings"], kept, t.lost_total()))
			if size == 64:
				check("later threads have smaller rings", t.total["rings"] > 64)
			else:
				check("more threads than rings", 0 < t.lost_total() and t.total["rings"] < 50)
	with tmpfs("128k") as d:  # not even the smallest rings
		print(run("nostart", os.path.join(d, "f.tide")).strip())
		check("nothing left", os.listdir(d) == [], os.listdir(d))
		if sanitized(PROG):
			print("skipped tidemark run: a sanitizer's library cannot be preloaded")
			return
		ran = subprocess.run([TIDEMARK, "run", "--heap", "-o", os.path.join(d, "f.tide"), "--", "/bin/true"], capture_output=True, text=True)
		check("tidemark run says that there is no space", ran.returncode == 0 and "no space: 128 KiB are free" in ran.stderr, ran.stderr)
	with tmpfs("400k") as d:  # the file, but no ring
		ran = subprocess.run([TIDEMARK, "run", "--heap", "-o", os.path.join(d, "f.tide"), "--", "/bin/true"], capture_output=True, text=True)
		check("tidemark run says how much is free without its own files", ran.returncode == 0 and "no space: 400 KiB are free" in ran.stderr, ran.stderr)
	with tmpfs("1m") as d:  # allocated ahead, the file would leave nothing for the ring
		ran = subprocess.run([TIDEMARK, "run", "--heap=full", "-o", os.path.join(d, "f.tide"), "--", "/bin/true"], capture_output=True, text=True)
		check("1 MiB is enough for a recording", ran.returncode == 0 and os.path.exists(os.path.join(d, "f.tide")), ran.stderr)
	with tmpfs("3m") as d:  # it is full after a part
		many = "for i in range(1000000): bytearray(600)"
		ran = subprocess.run([TIDEMARK, "run", "--heap=full", "-o", os.path.join(d, "f.tide"), "--", sys.executable, "-c", many], capture_output=True, text=True)
		check("tidemark run says that events were lost", ran.returncode == 0 and "events were lost" in ran.stderr, ran.stderr)


def read_only():
	with tmpfs("1m", ",ro") as d:
		print(run("nostart", os.path.join(d, "f.tide")).strip())
	with folder() as d:
		print(run("nostart", os.path.join(d, "missing", "f.tide")).strip())


def file_size_limit():
	with folder() as d:
		f = os.path.join(d, "f.tide")
		run("fsize", f)
		t, kept = accounted(f, f + ".pub", 1, 2000000, extra=0)
		print("%d kept, %d counted as lost" % (kept, t.lost_total()))
		if sanitized(PROG):
			print("skipped tidemark run: a sanitizer's library cannot be preloaded")
			return
		for command in "exec /bin/true", "/bin/true; true", "sh -c 'exec /bin/true'; true":
			ran = subprocess.run([TIDEMARK, "run", "--heap", "-o", os.path.join(d, "r.tide"), "--", "sh", "-c", "ulimit -f 100; " + command], capture_output=True, text=True)
			check("tidemark run says which process was not recorded, and why", ran.returncode == 0 and "1 process was not recorded" in ran.stderr and "(ulimit -f)" in ran.stderr, ran.stderr)


# ---- fork


def fork_row(d, how, children):
	f = os.path.join(d, how + ".tide")
	run("fork", f, how)
	t = read(f)
	check(how + ": parent's marks", numbers(t) == {"parent": list(range(1, 151))}, numbers(t))
	check(how + ": parent's ops", [n for n, _ in t.all_events() if n in ("begin", "end")] == ["begin", "end"])
	files = sorted(x for x in os.listdir(d) if re.match(re.escape(how) + r"\.(\d+\.tide|tide\.own)$", x))
	check(how + ": children's files", len(files) == children, files)
	for x in files:
		c = read(os.path.join(d, x))
		check(how + ": another recording", c.recording != t.recording and c.pid != t.pid)
		check(how + ": child's marks", numbers(c) == {"child": list(range(1, 101))}, numbers(c))
		check(how + ": names are there", c.name(next(f["name"] for n, f in c.all_events() if n == "begin")) == "in child")
		check(how + ": pools are there", [p["kind"] for p in c.defs["pool"].values()] == [5])
		check(how + ": ops", [n for n, _ in c.all_events() if n in ("begin", "end")] == ["begin", "end"])
		check(how + ": loss", c.lost_total() == 0)
	return files


def fork_():
	rows = {"fork": 1, "noevents": 0, "exec": 0, "clone": 1, "nofollow": 0, "own": 1, "grandchild": 2, "_exit": 1}
	with folder() as d:
		for how, children in rows.items():
			fork_row(d, how, children)
		names = [x for x in os.listdir(d) if x.endswith("-rings")]
		check("rings only of those that could not stop", len(names) == 2, names)  # clone, _exit


def fork_storm():
	with folder() as d:
		run("forkstorm", os.path.join(d, "s.tide"), 50)
		files = [x for x in os.listdir(d) if re.match(r"s\.\d+\.tide$", x)]
		check("one file a child", len(files) == 50, len(files))
		for x in files[:20]:
			t = read(os.path.join(d, x))
			check("names", any(str(n).startswith("child's own") for n in numbers(t)) and "name 0 of thread 0" in numbers(t))
			ids = [v["text"] for v in t.defs["name"].values()]
			check("each name once", len(ids) == len(set(ids)))


def fork_start():
	with folder() as d:
		n = 60
		run("forkstart", os.path.join(d, "s.tide"), n)
		got = Counter(name for x in os.listdir(d) if x.endswith(".tide") for name in numbers(read(os.path.join(d, x))))
		check("one recording a process", got == {"parent": 1, "child": n, "grandchild": n}, got)


def fork_stop():
	with folder() as d:
		run("forkstop", os.path.join(d, "s.tide"), int(os.environ.get("TIDE_FORKS", "400")))


# ---- threads, start and stop


def short_threads():
	n = 10000
	with folder() as d:
		f = os.path.join(d, "t.tide")
		out = run("threads", f, n)
		t = read(f)
		check("every mark", sorted(numbers(t)["short"]) == list(range(n)))
		check("no loss", t.lost_total() == 0)
		check("few rings", t.total["rings"] <= 16, t.total)
		check("lanes", len(t.defs["thread"]) == n)
		per_lane = defaultdict(list)
		for events in t.events.values():
			for name, f in events:
				per_lane[f["lane_now"]].append(name)
		shapes = Counter(map(tuple, per_lane.values()))
		check("every thread starts outside all ops", set(shapes) == {("lane", "begin", "begin", "mark", "end")}, shapes)
		print(out.strip())


def twice():
	with folder() as d:
		f = os.path.join(d, "t.tide")
		run("twice", f)
		a, b = read(f), read(f + ".second")
		check("first", numbers(a) == {"kept": [1, 2]} and a.clean)
		check("second, stopped by exit", numbers(b) == {"kept": [4]} and b.clean)
		check("no rings left", sorted(os.listdir(d)) == ["t.tide", "t.tide.second"], os.listdir(d))


def together():
	n = 12
	with folder() as d:
		out = run("together", os.path.join(d, "t.tide"), n)
		got = dict(line.split() for line in out.splitlines())
		check("a file each", len(set(got.values())) == n and sorted(os.listdir(d)) == sorted(got.values()), got, os.listdir(d))
		check("one has the name itself", list(got.values()).count("t.tide") == 1, got)
		for i, name in got.items():
			t = read(os.path.join(d, name))
			check("whole and its own", t.clean and numbers(t) == {"mine": [int(i)]}, name)
		run("together", os.path.join(d, "t.tide"), 1)  # nobody is there any more: replaced, as ever
		check("no more files", len(os.listdir(d)) == n, os.listdir(d))


def stop_race():
	n, events = int(os.environ.get("TIDE_STOPS", "40")), 0
	with folder() as d:
		f = os.path.join(d, "t.tide")
		run("stop", f, n)
		for i in range(n):
			t = read("%s.%d" % (f, i))
			count = sum(1 for _ in t.all_events())
			check("clean", t.clean and t.total["events"] == count and t.total["lost"] == t.lost_total(), t.total, count)
			events += count
		check("no rings left", not [x for x in os.listdir(d) if x.endswith("-rings")])
	print("%d recordings, %d events" % (n, events))


# ---- signals


def signals():
	n = 400000
	with folder() as d:
		f = os.path.join(d, "t.tide")
		out = run("signal", f, n)
		handled, lost_signal = map(int, re.findall(r"\d+", out))
		t = read(f)
		got = numbers(t)
		check("increasing", all(a < b for x in got.values() for a, b in zip(x, x[1:])))
		check("marks of both accounted for", len(got["thread-0"]) + len(got["handler"]) + t.lost_total() == n + handled)
		check("the thread itself lost nothing to signals", len(got["thread-0"]) + sum(x[0] for x in t.lost.values()) >= n)
		check("counted", sum(x[1] for x in t.lost.values()) == lost_signal)
	print(out.strip())


def signal_lock():
	with folder() as d:
		f = os.path.join(d, "t.tide")
		run("siglock", f, 20000)
		t = read(f)
		ids = [v["text"] for v in t.defs["name"].values()]
		check("each name once", len(ids) == len(set(ids)) and sum(x.startswith("fresh name") for x in ids) == 20000)


def full_wait():
	with folder() as d:
		f = os.path.join(d, "t.tide")
		run("wait", f, 300000)
		t = read(f)
		check("nothing lost", numbers(t)["thread-0"] == list(range(1, 300001)) and t.lost_total() == 0)


def full_disk_wait():
	"""A wait for each event would take hours."""
	n = 600000
	with tmpfs("4m") as d:
		f = os.path.join(d, "t.tide")
		run("fullwait", f, n)
		t = read(f)
		check("counted", t.lost_total() > 10000 and len(numbers(t)["thread-0"]) + t.lost_total() == n, t.lost_total())


def close_fds():
	with folder() as d:
		f = os.path.join(d, "t.tide")
		run("closefd", f)
		t = read(f)
		got = numbers(t)
		check("complete", t.clean and sum(map(len, got.values())) + t.lost_total() == 120000)
		check("events of all threads", len(got) == 6 and t.lost_total() == 0, t.lost)


def close_race():
	with folder() as d:
		f = os.path.join(d, "t.tide")
		said = run("closerace", f)
		check("nothing of it is in the program's file", said == "0 bytes in the program's file\n", said)
		t = read(f)
		got = numbers(t)
		check("complete", t.clean and sum(map(len, got.values())) + t.lost_total() == 800000, t.lost_total())
		check("no ring file is left", not os.path.exists(f + "-rings"))


def shared_table():
	"""A kernel (or a sandbox) that gives the writer thread no descriptor table of its own."""
	if seccomp.number("unshare") is None:
		raise Skip("the numbers of system calls are not known here")
	shared = seccomp.refuse(("unshare", errno.EPERM, 0, seccomp.CLONE_FILES), ("close_range", errno.ENOSYS, 2, seccomp.CLOSE_RANGE_UNSHARE))
	with folder() as d:
		f = os.path.join(d, "t.tide")
		check("a table of its own", run("whosefd", os.path.join(d, "own.tide")) == "private\n")
		check("the program's table", run("whosefd", os.path.join(d, "shared.tide"), preexec_fn=shared) == "shared\n")
		said = run("closefd", f, ok=(0, 3), preexec_fn=shared)
		got = numbers(read(f, said))
		complete = sum(map(len, got.values())) == 120000 and len(got) == 6
		check("complete all the same, or told", complete or "stop: " in said, {k: len(v) for k, v in got.items()}, said)
		told = 0
		for i in range(3): # the race that only a table of its own ends
			if told:
				break
			f = os.path.join(d, f"race{i}.tide")
			said = run("closerace", f, ok=(0, 1), preexec_fn=shared)
			misled = "0 bytes in the program's file\n" not in said.splitlines(keepends=True)
			told += "stop: " in said
			check("what went astray is told", not misled or "stop: " in said, said)
			t = read(f, said)
			have = sum(map(len, numbers(t).values())) + t.lost_total()
			check("what is missing is told", have == 800000 or "stop: " in said, have, said)
		print("shared table: a race was " + ("lost and told" if told else "not lost"))


def cut_rings():
	with folder() as d:
		f, again = os.path.join(d, "t.tide"), os.path.join(d, "again.tide")
		said = run("cutrings", f, again)
		check("the stop tells", "ring file was truncated" in said, said)
		check("the next recording is whole", numbers(read(again)) == {"again": [1]})
		t = read(f)
		got = numbers(t)
		check("what was written before is there", all(v == list(range(1, len(v) + 1)) for v in got.values()) and sum(map(len, got.values())) > 100, got)
		if os.access(TIDEMARK, os.X_OK):
			p = subprocess.run([TIDEMARK, "info", f], capture_output=True, text=True, timeout=600)
			check("info tells", "ring file was truncated" in p.stdout, p.stdout, p.stderr)
			p = subprocess.run([TIDEMARK, "info", "--json", f], capture_output=True, text=True, timeout=600)
			facts = json.loads(p.stdout)["facts"]
			calls = int(re.search(r"(\d+) calls", said)[1])
			check("events and losses add up to the calls", facts["tide.events"] + facts.get("loss.events", 0) == calls, facts, calls)


def system():
	with folder() as d:
		f = os.path.join(d, "t.tide")
		run("system", f)
		check("parent's marks", numbers(read(f)) == {"parent": [1, 2]})
		check("one file", os.listdir(d) == ["t.tide"], os.listdir(d))


def heap():
	"""malloc itself records."""
	prog = os.path.join(os.path.dirname(PROG), "fault_heap")
	if not os.path.exists(prog):
		raise Skip("fault_heap is not built")
	with folder() as d:
		f = os.path.join(d, "h.tide")
		p = subprocess.run([prog, f], capture_output=True, text=True, timeout=400)
		check("exit status", p.returncode == 0, p.returncode, p.stderr)
		files = [f] + [os.path.join(d, x) for x in os.listdir(d) if re.match(r"h\.\d+\.tide$", x)]
		check("five children", len(files) == 6, files)
		for x in files:
			t = read(x)
			count = Counter(n for n, _ in t.all_events())
			check("threads' events", t.clean and count["alloc"] >= 4000 and count["free"] >= 4000, count)
			check("nothing lost", t.lost_total() == 0, t.lost)


def dlopen():
	"""Loaded late and twice, unloaded while it records: one recorder, and it stays."""
	lib = os.environ.get("TIDE_RT") or os.path.join(os.environ.get("TIDE_BUILD", "build"), "src", "libtidemark-rt.so")
	if sanitized(lib):
		raise Skip("a sanitizer's library cannot be loaded late")
	needed = re.findall(r"NEEDED.*\[(.*?)\]", subprocess.run(["readelf", "-d", lib], capture_output=True, text=True, check=True).stdout)
	check("libc only", all(re.match(r"libc\.so|ld-linux", x) for x in needed), needed)
	code = """
import _ctypes, ctypes, sys
a, b = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[1])
assert a.tide_start(sys.argv[2].encode(), None, None) == 0
assert b.tide_recording() and b.tide_start(b"/tmp/never", None, None) == 8
b.tide_mark(3, b.tide_intern(b"late"), ctypes.c_int64(1))
_ctypes.dlclose(a._handle); _ctypes.dlclose(b._handle)
c = ctypes.CDLL(sys.argv[1])
c.tide_mark(3, c.tide_intern(b"late"), ctypes.c_int64(2))
"""
	with folder() as d:
		f = os.path.join(d, "t.tide")
		subprocess.run([sys.executable, "-c", code, lib, f], check=True, timeout=300)
		t = read(f)
		check("both", numbers(t) == {"late": [1, 2]} and t.clean, numbers(t))


def clocks():
	"""The fallback clock, and the points that tie the counter to the wall."""
	with folder() as d:
		for clock, kind in (("ns", 0), (None, None)):
			f = os.path.join(d, "t.tide")
			before = time.time_ns()
			run("wait", f, 1000, env={"TIDEMARK_CLOCK": clock} if clock else None)
			t = read(f)
			check("clock", kind is None or t.clock == kind, t.clock)
			check("a point at the start and one at the end", len(t.ticks) >= 2)
			first, last = t.ticks[0], t.ticks[-1]
			check("points go forward", all(x < y for x, y in zip(first, last)))
			check("real time", before - 10**6 <= first[2] <= last[2] <= time.time_ns() + 10**6)
			inside = [f["dt"] for n, f in t.all_events()]
			check("events lie between them", first[0] <= inside[0] and inside[-1] <= last[0])
			if kind == 0:
				check("ticks are ns", abs((last[0] - first[0]) - (last[1] - first[1])) < 10**6)


TESTS = {
	"kill-paced": kill_paced,
	"kill-unpaced": kill_unpaced,
	"kill-window": kill_window,
	"disk-full": disk_full,
	"shm-64mb": shm_64mb,
	"read-only": read_only,
	"file-size-limit": file_size_limit,
	"fork": fork_,
	"fork-storm": fork_storm,
	"fork-stop": fork_stop,
	"fork-start": fork_start,
	"short-threads": short_threads,
	"start-twice": twice,
	"start-together": together,
	"stop-race": stop_race,
	"signals": signals,
	"signal-lock": signal_lock,
	"full-wait": full_wait,
	"full-disk-wait": full_disk_wait,
	"close-fds": close_fds,
	"close-race": close_race,
	"shared-table": shared_table,
	"cut-rings": cut_rings,
	"system": system,
	"heap": heap,
	"dlopen": dlopen,
	"clocks": clocks,
}


def main():
	global PROG
	PROG = os.path.abspath(sys.argv[1])
	status = 0
	for name in sys.argv[2:] or TESTS:
		t0 = time.time()
		try:
			TESTS[name]()
			print("ok   %s (%.1f s)" % (name, time.time() - t0))
		except Skip as e:
			print("skip %s: %s" % (name, e))
			status = status or 77
		except (AssertionError, Bad, subprocess.TimeoutExpired) as e:
			print("FAIL %s: %s" % (name, e))
			status = 1
	return status


if __name__ == "__main__":
	sys.exit(main())
