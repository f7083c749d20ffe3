# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Makes the kernel refuse system calls: seccomp filters for the children that a test starts."""
import ctypes
import platform
import struct

CLONE_FILES = 0x400
CLOSE_RANGE_UNSHARE = 2
# name: number on x86_64, on aarch64
CALLS = {"inotify_add_watch": (254, 27), "openat": (257, 56), "unshare": (272, 97), "close_range": (436, 436)}
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # BPF: load a word, jump if equal, return
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
NUMBER, ARGUMENTS = 0, 16  # offsets in struct seccomp_data


def number(name):
    """Returns the number of a system call, None if it is unknown."""
    machine = {"x86_64": 0, "aarch64": 1}.get(platform.machine())
    return None if machine is None else CALLS[name][machine]


def refuse(*rules):
    """For preexec_fn. Each rule: (name, error), or (name, error, argument, value): only with that value."""
    code = []

    def put(op, jump, value):
        code.append(struct.pack("<HBBI", op, 0, jump, value & 0xFFFFFFFF))

    for name, error, *only in rules:
        put(LOAD, 0, NUMBER)
        put(EQUAL, 3 if only else 1, number(name))
        if only:
            put(LOAD, 0, ARGUMENTS + 8 * only[0])
            put(EQUAL, 1, only[1])
        put(RETURN, 0, ERRNO | error)
    put(RETURN, 0, ALLOW)
    text = ctypes.create_string_buffer(b"".join(code), 8 * len(code))
    program = struct.pack("<HxxxxxxQ", len(code), ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)

    def apply(kept=text):
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0):
            raise OSError(ctypes.get_errno(), "seccomp")

    return apply
