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
LOAD = f"""
import ctypes, os, sys
ctypes.CDLL({_home.LIBRARIES!r} + "/libtidemark-rt.so.0", mode=ctypes.RTLD_GLOBAL)
capture = ctypes.CDLL({_home.LIBRARIES!r} + "/libtidemark-torch.so")
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
            command = [_home.program(), "run", "-o", os.path.join(self.folder, "r.tide"), "--", "sleep", "50"]
            run = subprocess.Popen(command, pass_fds=[its], stderr=subprocess.DEVNULL)
            os.close(its)
            time.sleep(i % 20 / 5000)
            run.terminate()
            self.assertEqual(run.wait(20), -signal.SIGTERM)
            self.assertEqual(select.select([ours], [], [], 20)[0], [ours], "the program runs on")
            os.close(ours)


if __name__ == "__main__":
    unittest.main()
