# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A dashboard server for tests: starts it on a free port, sends requests, stops it; and a small checker of JSON schemas."""
import atexit
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.parse

TIDEMARK = os.environ["TIDEMARK"]
SOURCE = pathlib.Path(os.environ["TIDE_SOURCE"])
sys.path.insert(0, str(SOURCE / "tests" / "support"))
from waiting import wait_for  # noqa: E402, F401

POLLS = "tidemark serve: looks for new files every 2 seconds: "
STATE = tempfile.mkdtemp(prefix="tidemark-state-")
atexit.register(shutil.rmtree, STATE, ignore_errors=True)


def skip_unless_built():
    p = subprocess.run([TIDEMARK, "serve", "--port", "0", "--bind", "no address"], capture_output=True, text=True)
    if "this build has no server" in p.stderr:
        print("skipped: this build has no server (libmicrohttpd-dev was not there)")
        sys.exit(77)


class Server:
    def __init__(self, *args, token=False, state=None, says="", **kw):
        """Without a token unless asked for one; `state` is the folder the user's is kept in; `says`: what stderr has to hold."""
        self.says = says
        free = [] if token or {"--token", "--bind"} & set(map(str, args)) else ["--no-token"]
        self.process = subprocess.Popen([TIDEMARK, "serve", *map(str, args), *free, "--port", "0"], env={**os.environ, "XDG_STATE_HOME": state or STATE},
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)
        line = self.process.stdout.readline()
        assert line.startswith("serving at http://"), (line, self.process.stderr.read())
        self.url = line.split()[-1]
        u = urllib.parse.urlsplit(self.url)
        self.port = u.port
        self.token = dict(urllib.parse.parse_qsl(u.query)).get("token")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=300)
        if kind is None:
            lines = err.splitlines(keepends=True)
            if lines and lines[0].startswith(POLLS) and not self.says:  # other processes of this user have taken what there is of inotify
                print("without inotify:", lines.pop(0).removeprefix(POLLS), end="")
            assert self.process.returncode == 0 and "".join(lines) == self.says, (self.process.returncode, out, err)

    def ask(self, target, method="GET", headers=None, body=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        c.request(method, target, body=body, headers=headers or {})
        r = c.getresponse()
        data = r.read()
        c.close()
        return r.status, dict(r.getheaders()), data

    def json(self, target, status=200, **kw):
        got, headers, data = self.ask(target, **kw)
        assert got == status, (target, got, data[:300])
        assert headers["Content-Type"] == "application/json", target
        return json.loads(data)

    def memory(self, what):
        """Bytes: VmRSS, what the server holds; VmSize, what it has mapped."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(what + ":"):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"no {what}")

    def rss(self):
        return self.memory("VmRSS")

    def sanitized(self):
        """Returns whether a sanitizer is used: it maps terabytes and shadow memory, so memory figures are meaningless."""
        return self.memory("VmSize") > 1 << 40

    def inotify(self):
        """Returns how many folders the kernel watches for the server, None if it has no instance of inotify."""
        place = f"/proc/{self.process.pid}/"
        for fd in os.listdir(place + "fd"):
            try:
                if os.readlink(f"{place}fd/{fd}") == "anon_inode:inotify":
                    return pathlib.Path(f"{place}fdinfo/{fd}").read_text().count("inotify wd:")
            except FileNotFoundError:  # a connection that was closed meanwhile
                pass
        return None

    def fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


class Events:
    """The stream of /api/events."""

    def __init__(self, server, timeout=200):
        self.c = http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout)
        self.c.request("GET", "/api/events")
        self.r = self.c.getresponse()
        assert self.r.status == 200 and self.r.getheader("Content-Type") == "text/event-stream"

    def __iter__(self):
        name, data = "message", ""
        while line := self.r.readline():
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                data = line[6:]
            elif not line and data:
                yield name, json.loads(data)
                name, data = "message", ""

    def close(self):
        self.c.close()


# ---- JSON schemas: as much of them as docs/openapi.json uses ----

KINDS = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"type", "required", "properties", "additionalProperties", "items", "anyOf", "enum", "minimum", "maximum",
         "description", "$ref", "format", "pattern", "default", "const", "x-kind"}


def is_kind(value, kind):
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, KINDS[kind])


def faults(doc, schema, value, at="$"):
    """Returns the differences of `value` from `schema`."""
    assert set(schema) <= KNOWN, f"the checker does not know {set(schema) - KNOWN}"
    if "$ref" in schema:
        target = doc
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        return faults(doc, target, value, at)
    if "anyOf" in schema:
        tries = [faults(doc, s, value, at) for s in schema["anyOf"]]
        return [] if any(not t for t in tries) else min(tries, key=len)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_kind(value, k) for k in kinds):
        return [f"{at}: {value!r:.60} is no {'/'.join(kinds)}"]
    out = []
    if "const" in schema and value != schema["const"]:
        out.append(f"{at}: {value!r} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        out.append(f"{at}: {value!r} is none of {schema['enum']}")
    if "minimum" in schema and is_kind(value, "number") and value < schema["minimum"]:
        out.append(f"{at}: {value} is less than {schema['minimum']}")
    if isinstance(value, dict):
        known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        out += [f"{at}: no {k!r}" for k in schema.get("required", []) if k not in value]
        for k, v in value.items():
            if k in known:
                out += faults(doc, known[k], v, f"{at}.{k}")
            elif more is False:
                out.append(f"{at}: {k!r} is not documented")
            elif isinstance(more, dict):
                out += faults(doc, more, v, f"{at}.{k}")
    if isinstance(value, list) and "items" in schema:
        for i, v in enumerate(value):
            out += faults(doc, schema["items"], v, f"{at}[{i}]")
    return out
