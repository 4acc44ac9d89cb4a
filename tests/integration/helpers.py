"""Small things that several integration suites use: waiting, and looking for what was left behind."""
import fcntl
import glob
import os
import time

USER_ID = 12345  # as in tests/conftest.py
FIRST_BOX_UID = 0x70000000  # where root's boxes get their host uids from


def eventually(is_so, seconds=5.0, step=0.02):
    """Asks again and again until the answer is true; gives the last answer."""
    end = time.monotonic() + seconds
    while True:
        answer = is_so()
        if answer or time.monotonic() > end:
            return answer
        time.sleep(step)


def processes_with(token):
    """The pids of all processes whose command line holds `token`, this one's family excepted."""
    found = []
    for path in glob.glob("/proc/[0-9]*"):
        try:
            with open(path + "/cmdline", "rb") as file:
                line = file.read()
        except OSError:
            continue
        if token.encode() in line:
            found.append(int(path.rsplit("/", 1)[1]))
    return found


def children_of(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path, encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return found


def empty_cgroups():
    """Ringfort's groups without a process.  A living box's has one, whoever made it."""
    found = set()
    for folder, below, _ in os.walk("/sys/fs/cgroup"):
        for name in below:
            path = os.path.join(folder, name)
            if not name.startswith("ringfort-"):
                continue
            try:
                with open(path + "/cgroup.procs", encoding="ascii") as file:
                    if not file.read().strip():
                        found.add(path)
            except OSError:
                pass
    return found


def left_cgroups(seconds=3.0):
    """Groups that stay without a process; one that is just being made or removed does not stay."""
    staying = empty_cgroups()
    end = time.monotonic() + seconds
    while staying and time.monotonic() < end:
        time.sleep(0.05)
        staying &= empty_cgroups()
    return staying


def dead_records(folder):
    """The records in `folder` whose launcher is gone: nobody holds their lock."""
    found = set()
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return found
    for name in names:
        try:
            with open(os.path.join(folder, name), "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                found.add(name)
        except BlockingIOError:
            pass
        except FileNotFoundError:
            pass
    return found


def left_records(folder, seconds=2.0):
    staying = dead_records(folder)
    end = time.monotonic() + seconds
    while staying and time.monotonic() < end:
        time.sleep(0.05)
        staying &= dead_records(folder)
    return staying


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return {line.split(" ", 5)[4] for line in file}


def namespaces_alive():
    """The inode numbers of all namespaces that some process is in."""
    found = set()
    for path in glob.glob("/proc/[0-9]*/ns/*"):
        try:
            found.add(os.stat(path).st_ino)
        except OSError:
            pass
    return found


# For code that a client runs, after its own connect() and so on: seconds until a server answers that was passed sockets
# with data that nobody reads, which whoever closes them last has to wait for.  It finds them all in one go.
LINGERING = """
import signal, time
def lingering():
    listener = socket.create_server(("127.0.0.1", 0))
    sender = socket.create_connection(listener.getsockname())
    receiver, _ = listener.accept()
    sender.setblocking(False)
    try:
        while True:
            sender.send(bytes(65536))
    except BlockingIOError:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 8))
    return sender, receiver

def answer_after(*packets):
    sock, kept = connect(), []
    server = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    sock.close()
    os.kill(server, signal.SIGSTOP)
    sock = connect()
    for packet in packets:
        sender, receiver = lingering()
        kept.append(receiver)
        socket.send_fds(sock, [packet], [sender.fileno()])
        sender.close()
    sock.close()
    other = connect()
    os.kill(server, signal.SIGCONT)
    began = time.monotonic()
    try:
        other.send(message(99))
        receive(other)
    except OSError:
        pass  # it was refused; what counts is how soon
    return time.monotonic() - began
"""

# Root enters a Landlock domain without no_new_privs, so that nothing in /proc shows it.
IN_A_DOMAIN = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if os.geteuid() != 0:
    libc.prctl(38, 1, 0, 0, 0)
rights = ctypes.c_uint64(1 << 6)  # making character devices is all that it takes away
ruleset = libc.syscall(444, ctypes.byref(rights), 8, 0)
assert ruleset >= 0 and libc.syscall(446, ruleset, 0) == 0, os.strerror(ctypes.get_errno())
os.execvp(sys.argv[1], sys.argv[1:])
"""

CONFINED = {
    "a Landlock domain": ["/usr/bin/python3", "-c", IN_A_DOMAIN],
    "no_new_privs": ["setpriv", "--no-new-privs", "--"],
    "a mount namespace of its own": ["unshare", "--map-root-user", "--user", "--mount"],
    "a network namespace of its own": ["unshare", "--map-root-user", "--user", "--net"],
}
