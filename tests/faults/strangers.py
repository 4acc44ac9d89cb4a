"""Clients that a warden does not deserve: bytes that are no message, and connections that are no good.

    strangers.py SOCKET PID SEED    tries everything on the warden with this pid; prints a line for each thing that is wrong

Run as whoever the warden belongs to.  A second connection asks after each mischief whether the warden is still there.
"""
import array
import os
import random
import resource
import socket
import struct
import sys
import tempfile
import time

HELLO, JOIN, RUN, SIGNAL, END, WELCOME, STARTED, ENDED, REFUSED, PROVE = range(1, 11)
PACKET = 64 * 1024


def head(kind, length=0, version=3, number=7):
    return struct.pack("=IHHQ", length, version, kind, number)


def message(kind, body=b"", **more):
    return head(kind, len(body), **more) + body


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(3)
        end = time.monotonic() + 3
        while True:
            try:
                self.socket.connect(path)
                return
            except BlockingIOError:  # others are waiting to be let in
                if time.monotonic() > end:
                    raise
                time.sleep(0.001)

    def send(self, packet, fds=()):
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        try:
            self.socket.sendmsg([packet], control)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def answer(self):
        """The type of the next message; 0 at the end of the connection; None after three seconds of silence."""
        try:
            packet = self.socket.recv(PACKET)
        except ConnectionResetError:
            return 0
        except TimeoutError:
            return None
        return struct.unpack("=IHHQ", packet[:16])[2] if len(packet) >= 16 else 0

    def close(self):
        self.socket.close()


def memfd(size, data=b""):
    fd = os.memfd_create("body")
    os.write(fd, data)
    os.ftruncate(fd, size)
    return fd


def mischief(source):
    """Names, packets, descriptors, and what may come back (all of it may end the connection)."""
    pipe, file = os.pipe(), os.open("/dev/null", os.O_RDWR)
    folder = os.open("/", os.O_RDONLY)
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).detach()
    for size in range(1, 16):
        yield f"a head of {size} bytes", head(HELLO)[:size], ()
    for version in (0, 1, 2, 4, 256, 65535):
        yield f"version {version}", message(HELLO, version=version), ()
    for kind in (0, WELCOME, STARTED, ENDED, REFUSED, 11, 255, 65535):
        yield f"type {kind}", message(kind), ()
        yield f"type {kind} with a body", message(kind, b"x" * 64), ()
    for length in (1, 5, 255, 65536, 2**31, 2**32 - 1):
        yield f"a length of {length} without a body", head(HELLO, length), ()
        yield f"a run's length of {length} without a body", head(RUN, length), (pipe[0], pipe[1], pipe[1])
    yield "a length of 0 with a body", head(HELLO) + b"body", ()
    yield "a greeting that is too long", message(HELLO, b"x" * 257), ()
    for count in (1, 2, 3, 4, 5, 16, 200):
        yield f"{count} descriptors with a greeting", message(HELLO), (file,) * count
    for count in (0, 1, 2, 4, 5, 16):
        yield f"{count} descriptors with a run", message(RUN, b"x" * 32), (pipe[1],) * count
    for count in (0, 2, 4):
        yield f"{count} descriptors with a join", message(JOIN), (stream,) * count
    for name, fd in (("a pipe", pipe[0]), ("a file", file), ("a folder", folder), ("a stream", stream)):
        yield f"{name} to join", message(JOIN), (fd,)
    for name, fds in (("files", (file,) * 3), ("folders", (folder,) * 3), ("pipes", (pipe[0], pipe[1], pipe[1]))):
        for body in (b"x", b"\0" * 64, b"\xff" * 64, os.urandom(4096)):
            yield f"no errand, with {name}", message(RUN, body), fds
    for size, said in ((10, 100), (100, 10), (0, 70000), (70000, 70000), (2**40, 70000), (70000, 2**32 - 1)):
        yield f"a body of {size} bytes in a memfd that says {said}", head(RUN, said), (pipe[0], pipe[1], pipe[1],
                                                                                     memfd(size))
    yield "a pipe for a body", head(RUN, 70000), (pipe[0], pipe[1], pipe[1], pipe[0])
    yield "a device for a body", head(RUN, 70000), (pipe[0], pipe[1], pipe[1], os.open("/dev/zero", os.O_RDONLY))
    for number in (0, 65, 1000, 2**32 - 1):
        yield f"signal {number}", message(SIGNAL, struct.pack("=I", number)), ()
        yield f"an end for limit {number}", message(END, struct.pack("=I", number)), ()
    for body in (b"", b"x", b"xxxxx"):
        yield f"a signal of {len(body)} bytes", message(SIGNAL, body), ()
    for size in (PACKET - 1, PACKET, PACKET + 1, 100000, 150000):
        yield f"a packet of {size} bytes", (head(RUN, size - 16) + b"x" * size)[:size], (pipe[0], pipe[1], pipe[1])
    for _ in range(400):
        packet = bytearray(message(source.choice([HELLO, JOIN, RUN, SIGNAL, END]),
                                   source.randbytes(source.randrange(300))))
        for _ in range(source.randrange(4)):
            packet[source.randrange(len(packet))] = source.randrange(256)
        yield f"{bytes(packet)!r}", bytes(packet), (source.choice([pipe[0], pipe[1], file, folder]),) * source.randrange(5)


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def processor_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask(steady, what):
    """Whether the warden answers others, and how soon."""
    began = time.monotonic()
    steady.send(message(HELLO))
    got = steady.answer()
    took_s = time.monotonic() - began
    if got != WELCOME or took_s > 2.5:
        print(f"{what}: another client got {got} after {took_s:.2f} s")
    return got == WELCOME


def try_mischief(path, steady, seed):
    count = 0
    for what, packet, fds in mischief(random.Random(seed)):
        one = Connection(path)
        one.send(packet, fds)
        got = one.answer()
        if got not in (0, WELCOME, STARTED, ENDED, REFUSED) and packet[6:8] not in (b"\4\0", b"\5\0", b"\2\0"):
            print(f"{what}: the answer is {got}")
        one.close()
        count += 1
        if not ask(steady, what):
            break
    return count


def try_silence(path, steady):
    """A client that asks and never reads."""
    one = Connection(path)
    one.socket.setblocking(False)
    sent = 0
    try:
        for sent in range(20000):
            one.socket.send(message(HELLO, b"x" * 200))
    except OSError:
        pass  # its own queue is full, or the connection was ended
    ask(steady, f"{sent} questions of one who does not read")
    one.close()
    return sent


def try_crowd(path, pid, steady):
    """More connections than a warden takes, or has descriptors for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    crowd, refused = [], 0
    for _ in range(min(5000, hard - 64)):
        try:
            crowd.append(Connection(path))
        except OSError:
            refused += 1
            if refused == 3:
                break  # nobody is let in any more
    ask(steady, f"{len(crowd)} connections")
    before = processor_s(pid)
    time.sleep(0.5)
    if processor_s(pid) - before > 0.3:
        print(f"{len(crowd)} connections: a warden that has nothing to do took {processor_s(pid) - before:.2f} s")
    for one in crowd:
        one.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return len(crowd)


def main():
    path, pid, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.chdir(tempfile.gettempdir())
    steady = Connection(path)
    ask(steady, "at first")
    before = open_files(pid)
    figures = [try_mischief(path, steady, seed), try_silence(path, steady), try_crowd(path, pid, steady)]
    end = time.monotonic() + 3
    while (now := open_files(pid)) > before and time.monotonic() < end:
        ask(steady, "at last")
        time.sleep(0.05)
    if now > before:
        print(f"the warden has {now} descriptors and had {before}")
    print(f"tried: {figures[0]} bad messages, {figures[1]} unread answers, {figures[2]} connections")


if __name__ == "__main__":
    main()
