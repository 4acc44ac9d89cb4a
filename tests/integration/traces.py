"""Runs inside a box, for test_between_boxes.py: leaves traces everywhere, or looks for them.

    traces.py leave     all that a program may do to what might be handed on to the next box
    traces.py look      prints, as JSON, what a program finds there

What `look` finds in a box must not depend on what went on in others before it.
"""
import ctypes
import json
import mmap
import os
import resource
import signal
import socket
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.getauxval.restype = ctypes.c_ulong
MARK = b"a trace of the box before "
PORTS = range(40000, 40016)
AT_RANDOM = 25
FOLDERS = ("/tmp", "/dev/shm", "/run", "/var", os.environ["HOME"])


def text_of(path):
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except OSError as error:
        return error.strerror


def can(action, *words):
    """What an action gives, or why it can't be done: both must be the same in the next box."""
    try:
        return action(*words)
    except OSError as error:
        return error.strerror


# --- leaving ---

def talk(port):
    """A conversation on loopback, ended so that this side keeps the port for a while."""
    listener = socket.create_server(("127.0.0.1", port))
    near = socket.create_connection(("127.0.0.1", port))
    far, _ = listener.accept()
    near.sendall(MARK * 1000)
    far.recv(len(MARK) * 1000)
    far.close()
    near.close()
    return listener  # still listening when the box ends


def leave():
    listeners = [can(talk, port) for port in PORTS]
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", PORTS[0]))
    for _ in range(200):
        udp.sendto(MARK, ("127.0.0.1", PORTS[0]))
    for folder in FOLDERS:
        for number in range(20):
            can(leave_file, f"{folder}/trace-{number}")
    memory = bytearray(MARK * (64 * 2**20 // len(MARK) + 1))
    for key in range(1, 9):
        LIBC.shmat(LIBC.shmget(key, 65536, 0o1600), None, 0)
        LIBC.msgget(key, 0o1600)
        LIBC.semget(key, 4, 0o1600)
    for _ in range(50):
        if os.fork() == 0:
            os._exit(0)
        os.wait()
    if os.fork() == 0:  # somebody who stays, deaf to everything
        for number in range(1, 32):
            can(signal.signal, number, signal.SIG_IGN)
        signal.pause()
    os.umask(0o777)
    can(os.nice, 5)
    can(socket.sethostname, "trace")
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
    print(sum(isinstance(each, socket.socket) for each in listeners), len(memory) >> 20)
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)  # no chance to tidy up


def leave_file(path):
    with open(path, "wb") as file:
        file.write(MARK * 1000)


# --- looking ---

def counters(path):
    """The counters of a file of /proc/net that has lines of names above lines of values."""
    lines = text_of(path).splitlines()
    found = {}
    for names, values in zip(lines[::2], lines[1::2]):
        for name, value in zip(names.split()[1:], values.split()[1:]):
            found[names.split(":")[0] + name] = value
    return found


def bind_all():
    """Ports that somebody holds, or whose conversation lingers, can't be had."""
    held = []
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        for port in PORTS:
            with socket.socket(socket.AF_INET, kind) as sock:
                if can(sock.bind, ("127.0.0.1", port)) is not None:
                    held.append(port)
    return held


def forked_pids():
    found = []
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        found.append(pid)
    return found


def inode_of_new_file(folder):
    path = f"{folder}/new"
    with open(path, "xb") as file:
        file.truncate(65536)
        inode = os.fstat(file.fileno()).st_ino
    with open(path, "rb") as file:
        is_empty = not file.read().strip(b"\0")
    os.unlink(path)
    return inode, is_empty


def room(folder):
    found = os.statvfs(folder)
    return found.f_blocks, found.f_bfree, found.f_files, found.f_ffree


def dirty_bytes():
    """Bytes in new memory that are not zero."""
    with mmap.mmap(-1, 64 * 2**20) as memory:
        return 0 if memory.find(MARK[:8]) < 0 and not memory[:2**20].strip(b"\0") else 1


def address_of(name):
    return next(line.split("-")[0] for line in text_of("/proc/self/maps").splitlines()
                if name in line)


def look():
    random = ctypes.string_at(LIBC.getauxval(AT_RANDOM), 16).hex()
    status = dict(line.split(":\t", 1) for line in text_of("/proc/self/status").splitlines())
    same = {
        "interfaces": text_of("/proc/net/dev"),
        "pids": [os.getpid(), *forked_pids()],
        "last pid": text_of("/proc/sys/kernel/ns_last_pid"),
        "processes": [name for name in os.listdir("/proc") if name.isdigit()],
        "held ports": bind_all(),
        "sockets": {path: text_of(f"/proc/net/{path}").splitlines()[1:]
                    for path in ("tcp", "udp", "tcp6", "udp6", "unix", "raw")},
        "files": {folder: can(os.listdir, folder) for folder in FOLDERS},
        "room": {folder: can(room, folder) for folder in FOLDERS},
        "new file": {folder: can(inode_of_new_file, folder) for folder in FOLDERS},
        "new memory": dirty_bytes(),
        "shared memory": [LIBC.shmget(1, 65536, 0o600), LIBC.shmget(0, 4096, 0o1600)],
        "queues": [LIBC.msgget(1, 0o600), LIBC.msgget(0, 0o1600)],
        "semaphores": [LIBC.semget(1, 4, 0o600), LIBC.semget(0, 1, 0o1600)],
        "ipc": [len(text_of(f"/proc/sysvipc/{kind}").splitlines()) for kind in
                ("shm", "msg", "sem")],
        "host name": socket.gethostname(),
        "environment": dict(os.environ),
        "signals": {key: status[key] for key in ("SigQ", "SigPnd", "ShdPnd", "SigBlk", "SigIgn")},
        "umask": status["Umask"],
        "niceness": os.nice(0),
        "limits": text_of("/proc/self/limits"),
        "groups": text_of("/proc/self/cgroup"),
        "identity": [os.getresuid(), os.getresgid(), os.getgroups()],
        "children's time": resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime < 1,
        "standard input": sys.stdin.read(),
        "descriptors": sorted(os.listdir("/proc/self/fd")),
    }
    # The counters of the network, taken before anything was sent here: see main().
    unlike = {
        "urandom": os.urandom(16).hex(),
        "uuid": text_of("/proc/sys/kernel/random/uuid"),
        "at_random": random,
        "library": address_of("libc.so"),
        "stack": address_of("[stack]"),
    }
    return same, unlike


def main():
    if sys.argv[1] == "leave":
        leave()
    network = {path: counters(f"/proc/net/{path}") for path in ("snmp", "netstat")}
    same, unlike = look()
    print(json.dumps({"same": {**same, "network": network}, "unlike": unlike}))


main()
