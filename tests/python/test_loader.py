# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Taking over, in libraries of any build, and being loaded from anywhere: pages that are larger than the linker had in mind, names
with versions while other threads load libraries, PyTorch built into one library; spaces, and signals that come early. The libraries are
small ones of our own that call c10's functions; no torch is needed."""
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from tidemark import _home

CC = shutil.which("cc")
C10 = "#include <stdlib.h>\nvoid *_ZN3c109alloc_cpuEm(size_t n) { return malloc(n); }\n"
FREE = "void _ZN3c108free_cpuEPv(void *p) { free(p); }\n"
USER = "int data[64] = { 1 };\nvoid *_ZN3c109alloc_cpuEm(unsigned long);\nint use(void) { data[0]++; return !_ZN3c109alloc_cpuEm(64); }\n"
LOADS = """#include <dlfcn.h>
#include <pthread.h>
static void *loads(void *p) { for (;;) dlclose(dlopen(p, RTLD_NOW)); }
int begin(char *p) { static char path[4096]; pthread_t t; __builtin_strcpy(path, p); return pthread_create(&t, 0, loads, path); }
"""
PATCHER = """#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <string.h>
typedef void *alloc_fn(unsigned long);
static alloc_fn *next;
static void **at;
static int seen;
static void *own(unsigned long n) { seen++; return next(n); }
/* As any tool does that hooks by the global offset table: the slot of libuser.so becomes its own, what was there is called on. */
static int visit(struct dl_phdr_info *i, unsigned long size, void *user)
{
	ElfW(Dyn) *d = 0;
	ElfW(Sym) *symbols = 0;
	ElfW(Rela) *r = 0;
	const char *names = 0;
	unsigned long n = 0;
	if (!strstr(i->dlpi_name, "libuser.so"))
		return 0;
	for (int k = 0; k < i->dlpi_phnum; k++)
		if (i->dlpi_phdr[k].p_type == PT_DYNAMIC)
			d = (void *)(i->dlpi_addr + i->dlpi_phdr[k].p_vaddr);
	for (; d->d_tag; d++) {
		if (d->d_tag == DT_SYMTAB) symbols = (void *)d->d_un.d_ptr;
		if (d->d_tag == DT_STRTAB) names = (void *)d->d_un.d_ptr;
		if (d->d_tag == DT_JMPREL) r = (void *)d->d_un.d_ptr;
		if (d->d_tag == DT_PLTRELSZ) n = d->d_un.d_val / sizeof *r;
	}
	for (unsigned long k = 0; k < n; k++)
		if (strstr(names + symbols[ELF64_R_SYM(r[k].r_info)].st_name, "alloc_cpu"))
			at = (void **)(i->dlpi_addr + r[k].r_offset);
	return 1;
}
int patch(void)
{
	dl_iterate_phdr(visit, 0);
	next = (alloc_fn *)*at;
	*at = (void *)own;
	return at != 0;
}
int unpatch(void) { *at = (void *)next; return 0; }
int calls(void) { return seen; }
int stays(void) { return *at == (void *)own; }
"""
LOAD = f"""
import ctypes, os, sys
ctypes.CDLL({_home.LIBRARIES!r} + "/libtidemark-rt.so.0", mode=ctypes.RTLD_GLOBAL)
LIBRARY = {_home.LIBRARIES!r} + "/libtidemark-torch.so"
capture = ctypes.CDLL(LIBRARY)
"""
RELRO, STACK, LOADED, WRITABLE = 0x6474E552, 0x6474E551, 1, 2


def sealed_to_the_middle_of_a_page(file: str) -> None:
    """Says of a library without it that all up to its .got, and not its .data in the same page, is read-only after relocation."""
    with open(file, "rb") as f:
        b = bytearray(f.read())
    phoff, shoff = struct.unpack_from("<QQ", b, 32)
    phnum, _, shnum = struct.unpack_from("<HHH", b, 56)
    heads = [phoff + 56 * i for i in range(phnum)]
    begin = next(struct.unpack_from("<Q", b, h + 16)[0] for h in heads
                 if struct.unpack_from("<I", b, h)[0] == LOADED and b[h + 4] & WRITABLE)
    data = [struct.unpack_from("<QQ", b, shoff + 64 * i + 16)[0] for i in range(shnum)]  # addresses of sections
    progbits = [struct.unpack_from("<I", b, shoff + 64 * i + 4)[0] == 1 for i in range(shnum)]
    flags = [struct.unpack_from("<Q", b, shoff + 64 * i + 8)[0] for i in range(shnum)]
    end = max(a for a, p, f in zip(data, progbits, flags) if p and f & 1)  # .data is the last that is written and not empty
    free = next(h for h in heads if struct.unpack_from("<I", b, h)[0] == STACK)
    struct.pack_into("<IIQQQQQQ", b, free, RELRO, 4, begin, begin, begin, end - begin, end - begin, 1)
    with open(file, "wb") as f:
        f.write(b)


@unittest.skipUnless(CC, "there is no C compiler")
class Loader(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def build(self, name: str, source: str, *flags: str) -> str:
        file = os.path.join(self.folder, name)
        shared = [] if name == "main" else ["-shared", "-fPIC", f"-Wl,-soname,{name}"]
        subprocess.run([str(CC), *shared, "-x", "c", "-", "-o", file, f"-L{self.folder}", f"-Wl,-rpath,{self.folder}", *flags],
                       input=source, text=True, check=True)
        return file

    def run_python(self, code: str, *args: str, seconds: int = 30) -> str:
        done = subprocess.run([sys.executable, "-c", LOAD + code, *args], capture_output=True, text=True, timeout=seconds, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_rest_of_a_page_stays_writable(self):
        c10 = self.build("libc10.so", C10 + FREE)
        user = self.build("libuser.so", USER, "-fno-plt", "-Wl,-z,norelro,-z,now", "-lc10")
        sealed_to_the_middle_of_a_page(user)
        self.assertIn("GNU_RELRO", subprocess.run(["readelf", "-lW", user], capture_output=True, text=True, check=True).stdout)
        code = """
ctypes.CDLL(sys.argv[1])
user = ctypes.CDLL(sys.argv[2])
print(user.use(), capture.tide_torch_attach(), user.use(), capture.tide_torch_detach(), user.use())
"""
        self.assertEqual(self.run_python(code, c10, user).split(), ["0", "1", "0", "1", "0"])

    def test_a_slot_that_another_tool_has_patched_over(self):
        """It is theirs and leads to us: it is left alone, records nothing once we are detached, and our code stays loaded."""
        c10 = self.build("libc10.so", C10 + FREE)
        user = self.build("libuser.so", USER, "-Wl,-z,lazy", "-lc10")
        patcher = self.build("libpatcher.so", PATCHER)
        code = """
import _ctypes
class Stats(ctypes.Structure):
    _fields_ = [("events", ctypes.c_uint64), ("others", ctypes.c_uint64 * 16)]
def use():
    before, after = Stats(), Stats()
    capture.tide_stats_get(ctypes.byref(before))
    assert user.use() == 0
    capture.tide_stats_get(ctypes.byref(after))
    return after.events - before.events
ctypes.CDLL(sys.argv[1])
user, tool = ctypes.CDLL(sys.argv[2]), ctypes.CDLL(sys.argv[3])
assert capture.tide_start(sys.argv[4].encode(), None, None) == 0
print("before", use(), "attached", capture.tide_torch_attach(), use())
tool.patch()
print("patched", use(), "again", capture.tide_torch_attach(), use(), "theirs", tool.stays(), tool.calls())
print("detached", capture.tide_torch_detach(), use(), "theirs", tool.stays(), tool.calls())
print("attached", capture.tide_torch_attach(), use(), "theirs", tool.stays(), tool.calls())
print("detached", capture.tide_torch_detach(), use(), "theirs", tool.stays(), tool.calls())
handle = capture._handle
capture.tide_stop(None)
del capture
for _ in range(3):
    _ctypes.dlclose(handle)  # nobody holds it any more
print("closed", user.use(), "theirs", tool.stays(), tool.calls())
capture = ctypes.CDLL(LIBRARY)
tool.unpatch()
print("ours", user.use(), "attached", capture.tide_torch_attach(), "detached", capture.tide_torch_detach())
"""
        self.assertEqual(self.run_python(code, c10, user, patcher, os.path.join(self.folder, "p.tide")).splitlines(), [
            "before 0 attached 1 1",
            "patched 1 again 1 1 theirs 1 2",
            "detached 0 0 theirs 1 3",
            "attached 1 1 theirs 1 4",
            "detached 0 0 theirs 1 5",
            "closed 0 theirs 1 6",
            "ours 0 attached 1 detached 1",
        ])

    def test_another_thread_that_loads_libraries(self):
        """Under a name with a version; without free_cpu, so that it is looked for again and again."""
        c10, other = self.build("libc10.so.1", C10), self.build("libother.so", "int x;\n")
        loads = self.build("libloads.so", LOADS, "-pthread", "-ldl")
        code = """
ctypes.CDLL(sys.argv[1])
ctypes.CDLL(sys.argv[3]).begin(sys.argv[2].encode())
print([capture.tide_torch_attach() for _ in range(1000)].count(0), flush=True)
os._exit(0)
"""
        self.assertEqual(self.run_python(code, c10, other, loads), "1000\n")

    def test_pytorch_in_one_library(self):
        self.build("libmono.so", C10 + FREE + USER.replace("void *_Z", "// void *_Z", 1))
        program = self.build("main", "int use(void);\nint main(void) { return use(); }\n", "-lmono")
        env = {**os.environ, "LD_LIBRARY_PATH": _home.LIBRARIES, "LD_PRELOAD": "libtidemark-torch.so"}
        self.assertEqual(subprocess.run([program], check=False).returncode, 0)
        self.assertEqual(subprocess.run([program], env=env, check=False).returncode, 0)

    def test_a_folder_with_a_space_in_its_name(self):
        """LD_PRELOAD is parted by spaces too."""
        self.build("libmono.so", C10 + FREE + USER.replace("void *_Z", "// void *_Z", 1))
        program = self.build("main", "int use(void);\nint main(void) { return use(); }\n", "-lmono")
        home, out = os.path.join(self.folder, "a b"), os.path.join(self.folder, "r.tide")
        shutil.copytree(_home.HOME, home)
        command = [os.path.join(home, "bin", "tidemark"), "run", "-o", out, "--", program]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, "ld.so" in done.stderr, os.path.exists(out)), (0, False, True), done.stderr)

    def test_a_signal_right_after_the_start_is_handed_on(self):
        """The program has the writing end of a pipe: it ends, then there is nothing more to read."""
        for i in range(60):
            ours, its = os.pipe()
            command = [_home.program(), "run", "-o", os.path.join(self.folder, "r.tide"), "--", "sleep", "3000"]
            run = subprocess.Popen(command, pass_fds=[its], stderr=subprocess.DEVNULL)
            os.close(its)
            time.sleep(i % 20 / 5000)
            run.terminate()
            self.assertEqual(run.wait(300), -signal.SIGTERM)
            self.assertEqual(select.select([ours], [], [], 300)[0], [ours], "the program runs on")
            os.close(ours)


if __name__ == "__main__":
    unittest.main()
