#!/usr/bin/python3
"""The library from another language: Python's ctypes, and nothing to compile.

    hello.py [LIBRARY]    libringfort.so.0 by default
"""
import ctypes
import sys

C_WORDS = ctypes.POINTER(ctypes.c_char_p)


class Error(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("code", ctypes.c_int), ("line", ctypes.c_int),
                ("column", ctypes.c_int), ("message", ctypes.c_char * 512), ("remedy", ctypes.c_char * 512)]


class Run(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("argv", C_WORDS), ("env", C_WORDS), ("cwd", ctypes.c_char_p),
                ("input", ctypes.c_char_p), ("input_len", ctypes.c_size_t), ("input_fd", ctypes.c_int),
                ("output_fd", ctypes.c_int * 2), ("on_output", ctypes.c_void_p), ("data", ctypes.c_void_p),
                ("wants_denials", ctypes.c_int)]


def check(code, error):
    if code < 0:
        sys.exit(f"{error.message.decode()}\n  {error.remedy.decode()}")


def main(path="libringfort.so.0"):
    library = ctypes.CDLL(path)
    library.ringfort_json.restype = ctypes.c_char_p
    error = Error(size=ctypes.sizeof(Error))
    fort, box = ctypes.c_void_p(), ctypes.c_void_p()
    check(library.ringfort_open(None, ctypes.byref(fort), ctypes.byref(error)), error)
    argv = (ctypes.c_char_p * 3)(b"echo", b"from a box", None)
    run = Run(size=ctypes.sizeof(Run), argv=argv, input_fd=-1, output_fd=(-1, -1))
    check(library.ringfort_start(fort, None, ctypes.byref(run), ctypes.byref(box), ctypes.byref(error)), error)
    check(library.ringfort_wait(box, -1, ctypes.byref(error)), error)
    print(library.ringfort_json(box, None).decode(), end="")
    library.ringfort_free(box)
    library.ringfort_close(fort)


main(*sys.argv[1:])
