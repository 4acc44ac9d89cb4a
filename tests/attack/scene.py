"""The scene of an attack: what there is outside to be stolen or broken, and the ways to run.

Everything that an attack could reach is made here for it alone: a canary file with a secret, a
directory shown read-only, one shown writable, a sleeping victim, listeners, a key, a terminal.
After the run the scene tells from outside whether the deed was done (the `judge` functions of
catalogue.py ask it); what the attack itself says comes second.
"""
import contextlib
import ctypes
import fcntl
import json
import os
import pathlib
import pty
import secrets
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import termios
import threading
import time

import pytest

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
DEED = b"overwritten"  # what attacks write
TIMEOUT_S = 20


HERE = pathlib.Path(__file__).resolve().parent


class Said:
    """What an attack said: `word` ("escaped", "refused EPERM", "killed SIGSYS"), and its loot."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out.decode(errors="replace"), err.decode("utf-8",
                                                                                        "replace")
        lines = [line for line in self.out.split("\n")
                 if line.startswith(("escaped", "refused ", "killed "))]
        self.word = lines[-1].strip() if lines else "nothing"
        self.loot = ""
        if self.word.startswith("escaped"):
            self.word, _, self.loot = self.word.partition(" ")

    def __repr__(self):
        return f"{self.word} {self.loot}, exit code {self.code}, said {self.out!r} {self.err!r}"


class Scene:
    def __init__(self, who, ringfort, program, public, workdir):
        self.who, self.ringfort, self.program, self.public = who, ringfort, program, public
        self.workdir = workdir
        self.uid = os.stat(workdir).st_uid
        workdir.chmod(0o777)  # in controls without mounts, root's boxes have a stranger's uid
        self.secret = secrets.token_hex(12)
        self.token = "rf-token-" + secrets.token_hex(8)
        self.stack = contextlib.ExitStack()
        self.heard = []            # what came in over sockets, pipes and terminals
        self.stdin = subprocess.DEVNULL
        self.stdout_file = None    # a regular file instead of a pipe
        self.stderr_file = None
        self.terminal = None       # the slave of a pty
        self.pass_fds = ()
        self.env = {}
        self.box_options = []
        self.commands = []         # the only programs of the box; none: all
        self.hides = []            # options that hide something in a shown tree
        self.is_lesser, self.is_weaker, self.forbidden = False, False, []
        self.has_warden = False    # boxes come from one that stands
        self.wrapper = []          # goes before the launcher, in every way of running
        self.outside = self.folder("outside-")
        self.canary = self.file(self.outside / "canary", self.secret)

    # --- things ---

    @staticmethod
    def need(path):
        if not os.path.exists(path):
            pytest.skip(f"this machine has no {path}")
        return path

    def folder(self, prefix, parent=None):
        path = pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=parent or self.public))
        self.stack.callback(shutil.rmtree, path, ignore_errors=True)
        os.chown(path, self.uid, -1)
        path.chmod(0o777)
        return path

    def file(self, path, text, mode=0o666):
        path.write_text(text)
        os.chown(path, self.uid, -1)
        path.chmod(mode)
        return path

    def read_only(self, name="canary"):
        """A file in a directory that the box is shown read-only."""
        self.shown = self.folder("shown-")
        self.box_options += ["--read", str(self.shown)]
        return self.file(self.shown / name, self.secret)

    def read_only_elsewhere(self):
        """The same, not beneath /tmp, which is a scratch directory in the box."""
        self.shown = self.folder("rf-shown-", "/srv" if os.access("/srv", os.W_OK) else "/var/tmp")
        self.seen_as = str(self.shown) if self.is_lesser else "/mnt/shown"
        self.box_options += ["--read", f"{self.shown}:{self.seen_as}"]
        return self.shown

    def tree(self, right="--read"):
        """A directory that the box is shown, with a folder in it."""
        self.shown = self.folder("shown-")
        self.box_options += [right, str(self.shown)]
        folder = self.shown / "folder"
        folder.mkdir()
        os.chown(folder, self.uid, -1)
        folder.chmod(0o777)
        return folder

    def denied(self, right="--read"):
        """A file in such a tree that the policy denies."""
        path = self.file(self.tree(right) / "private", self.secret)
        self.hides = ["--deny", str(path)]
        return path

    def credential(self, name):
        """A file of a well-known name in a tree that is shown."""
        self.tree()
        path = self.shown / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in (path.parent, *path.parent.parents):
            if folder == self.shown.parent:
                break
            os.chown(folder, self.uid, -1)
        return self.file(path, self.secret)

    def only(self, *programs):
        """From now on boxes may run the attack itself, a shell and these."""
        self.commands = [self.program, "sh", *programs]

    def unnamed(self):
        """A program in a directory that the box is shown, and that nobody names."""
        shutil.copy(self.program, self.read_only("unnamed"))
        (self.shown / "unnamed").chmod(0o755)
        return str(self.shown / "unnamed")

    def loader(self):
        """The dynamic loader that a shell is started with, by its own name."""
        with open("/bin/sh", "rb") as file:
            head = file.read(4096)
        start = head.find(b"/lib")
        return head[start:head.index(b"\0", start)].decode()

    def victim(self):
        """A process of the same user, outside."""
        self.prey = subprocess.Popen([*self.as_user(), "sleep", "60"])
        self.stack.callback(self.prey.wait)
        self.stack.callback(self.prey.kill)
        time.sleep(0.02)  # setpriv becomes sleep
        return str(self.prey.pid)

    def victim_is_dead(self):
        time.sleep(0.02)
        return self.prey.poll() is not None

    def serve(self, sock):
        """Answers whoever comes, and notes what was said."""
        self.stack.callback(sock.close)
        sock.settimeout(TIMEOUT_S)

        def answer():
            with contextlib.suppress(OSError):
                if sock.type == socket.SOCK_STREAM:
                    sock.listen()
                    ready.set()
                    peer, _ = sock.accept()
                    with peer:
                        self.heard.append(peer.recv(100))
                        peer.send(b"welcome")
                else:
                    ready.set()
                    data, peer = sock.recvfrom(100)
                    self.heard.append(data)
                    sock.sendto(b"welcome", peer)

        ready = threading.Event()
        threading.Thread(target=answer, daemon=True).start()
        ready.wait()

    def inet(self, kind):
        sock = socket.socket(socket.AF_INET, kind)
        sock.bind(("127.0.0.1", 0))
        self.serve(sock)
        return ["tcp" if kind == socket.SOCK_STREAM else "udp", "127.0.0.1",
                str(sock.getsockname()[1])]

    def unix(self, path):
        sock = socket.socket(socket.AF_UNIX)
        sock.bind(str(path))
        if str(path)[0] != "\0":
            os.chown(path, self.uid, -1)
            os.chmod(path, 0o777)
        self.serve(sock)
        return str(path).lstrip("\0")

    def fifo(self, path):
        os.mkfifo(path)
        os.chown(path, self.uid, -1)
        path.chmod(0o666)
        self.reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.stack.callback(os.close, self.reader)
        return path

    def was_heard(self):
        """True if an attack's words came through a socket, pipe or terminal of ours."""
        time.sleep(0.02)
        if hasattr(self, "reader"):
            with contextlib.suppress(BlockingIOError):
                self.heard.append(os.read(self.reader, 100))
        if self.terminal is not None:
            waiting = struct.unpack("i", fcntl.ioctl(self.terminal, termios.FIONREAD, b"\0" * 4))
            if waiting[0]:
                self.heard.append(os.read(self.terminal, 100))
        return any(DEED in words for words in self.heard)

    def libc(self, name, *args):
        function = getattr(ctypes.CDLL(None, use_errno=True), name)
        function.restype = ctypes.c_long
        result = function(*args)
        if result == -1:
            raise OSError(ctypes.get_errno(), name)
        return result

    def sysv_memory(self):
        made = self.libc("shmget", 0, 4096, 0o1666)
        self.stack.callback(self.libc, "shmctl", made, 0, None)
        at = self.libc("shmat", made, None, 0)
        ctypes.memmove(at, self.secret.encode() + b"\0", len(self.secret) + 1)
        self.libc("shmdt", ctypes.c_void_p(at))
        return str(made)

    def sysv_semaphore(self):
        made = self.libc("semget", 0, 1, 0o1666)
        self.stack.callback(self.libc, "semctl", made, 0, 0)
        return str(made)

    def sysv_message(self):
        made = self.libc("msgget", 0, 0o1666)
        self.stack.callback(self.libc, "msgctl", made, 0, None)
        message = struct.pack("l", 1) + self.secret.encode()
        self.libc("msgsnd", made, message, len(self.secret), 0)
        return str(made)

    def posix_queue(self):
        name = f"/{self.token}"
        old = os.umask(0)
        queue = self.libc("mq_open", name.encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
        os.umask(old)
        self.stack.callback(self.libc, "mq_unlink", name.encode())
        self.stack.callback(os.close, queue)
        return name

    def key(self):
        self.wrapper = [self.program, "hold-key", self.token, self.secret]
        return self.token

    def leaked_directory(self):
        fd = os.open(self.outside, os.O_RDONLY | os.O_DIRECTORY)
        self.stack.callback(os.close, fd)
        self.pass_fds = (fd,)
        return "canary"

    def leaked_socket(self):
        """One end of a pair, which the launcher inherits; the other one hears."""
        ours, theirs = socket.socketpair()
        self.serve_pair(ours)
        self.stack.callback(theirs.close)
        self.pass_fds = (theirs.fileno(),)
        return []

    def serve_pair(self, sock):
        sock.setblocking(False)
        self.stack.callback(sock.close)
        self.reader = sock.fileno()

    def giver(self, path):
        """A socket of the host that hands the directory outside to whoever connects."""
        sock = socket.socket(socket.AF_UNIX)
        sock.bind(str(path))
        os.chown(path, self.uid, -1)
        os.chmod(path, 0o777)
        sock.settimeout(TIMEOUT_S)
        sock.listen()
        self.stack.callback(sock.close)
        held = os.open(self.outside, os.O_RDONLY | os.O_DIRECTORY)
        self.stack.callback(os.close, held)

        def give():
            with contextlib.suppress(OSError):
                peer, _ = sock.accept()
                with peer:
                    socket.send_fds(peer, [b"x"], [held])

        threading.Thread(target=give, daemon=True).start()
        return [str(path), self.canary.name]

    def datagrams(self, path):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        sock.bind(str(path))
        os.chown(path, self.uid, -1)
        os.chmod(path, 0o777)
        self.serve_pair(sock)
        return str(path)

    def shown_device(self):
        """A device node in a tree that the box is shown: the one that gives zeros."""
        if os.geteuid():
            pytest.skip("needs root, who makes the device")
        path = self.tree() / "device"
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        path.chmod(0o666)
        return str(path)

    def privileged(self, how):
        """A copy of the attacks in a shown tree, setuid root or with a capability."""
        if os.geteuid():
            pytest.skip("needs root, who gives the privilege")
        path = self.tree() / "privileged"
        shutil.copy(self.program, path)
        if how == "setuid":
            path.chmod(0o4755)
        else:
            path.chmod(0o755)
            os.setxattr(path, "security.capability", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))
        return str(path)

    def own_launcher(self):
        """A copy of the programs in a directory that anybody can write."""
        where = self.folder("launcher-")
        for program in pathlib.Path(self.ringfort).parent.glob("ringfort*"):
            shutil.copy(program, where)
        self.ringfort = str(where / pathlib.Path(self.ringfort).name)
        return self.ringfort

    def deep(self, depth=60):
        """Two paths of equal length: one leads down to a file of the host, the other nowhere at all."""
        path = self.outside
        for _ in range(depth):
            path /= "d"
            path.mkdir()
            path.chmod(0o755)
        self.file(path / "x", "")
        there = str(path / "x")
        name = self.outside.name
        return [there, there.replace(name, name.replace("outside", "absent!"), 1)]

    def raised(self):
        """The secret, which is in the caller's environment, spelt so that searching finds no copy of itself."""
        self.env["RF_CANARY"] = self.secret
        return ["".join(chr(ord(c) + 1) for c in self.secret)]

    def tty(self):
        """From now on, runs have a controlling terminal: a pty of ours."""
        master, self.terminal = pty.openpty()
        os.chown(os.ttyname(self.terminal), self.uid, -1)
        settings = termios.tcgetattr(self.terminal)
        settings[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(self.terminal, termios.TCSANOW, settings)
        os.set_blocking(self.terminal, False)
        self.stack.callback(os.close, self.terminal)
        self.stack.callback(os.close, master)
        self.master = master

    def regular_output(self):
        self.stdout_file = self.file(self.outside / "output", self.secret + "\n")

    def regular_errors(self):
        self.stderr_file = self.file(self.outside / "errors", self.secret + "\n")

    def regular_input(self):
        path = self.file(self.outside / "input", self.secret)
        self.stdin = open(path, "rb")
        self.stack.callback(self.stdin.close)
        self.input_file = path

    # --- who and how ---

    def as_user(self):
        if self.uid == os.geteuid():
            return []
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups", "--"]

    def launch(self, command, env=None, timeout=TIMEOUT_S):
        stdout = open(self.stdout_file, "ab") if self.stdout_file else subprocess.PIPE
        stderr = open(self.stderr_file, "ab") if self.stderr_file else subprocess.PIPE
        options = dict(stdin=self.stdin, stdout=stdout, stderr=stderr)
        if self.terminal is not None:
            options = dict(stdin=self.terminal, stdout=subprocess.PIPE, stderr=self.terminal)

            def on_start():
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            options["preexec_fn"] = on_start
        process = subprocess.Popen(
            [*self.as_user(), *self.wrapper, *command], cwd=self.workdir, pass_fds=self.pass_fds,
            env={"PATH": PATH, "HOME": str(self.workdir), "LANG": "C.UTF-8", **self.env,
                 **(env or {})},
            start_new_session=True, **options)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        if self.stderr_file:
            stderr.close()
        if self.stdout_file:
            stdout.close()
            out = self.stdout_file.read_bytes()
        return Said(process.returncode, out or b"", err or b"")

    def box_command(self, *options, build="ringfort"):
        launcher = pathlib.Path(self.ringfort).parent / build
        only = ["--command", ",".join(self.commands)] if self.commands else []
        weaker = ["--weaker", "allow"] if self.is_lesser or self.is_weaker else []
        alone = [] if self.has_warden else ["--no-warden"]
        return [*self.forbidden, str(launcher), "run", *alone, "--read", os.path.dirname(self.program),
                "--write", str(self.workdir), *only, *weaker, *self.box_options, *self.hides, *options, "--"]

    def has_cgroups(self):
        """Whether a box of this caller gets cgroups of its own on this machine."""
        said = self.launch([*self.box_command("--json"), "true"])
        return json.loads(said.out)["isolation"]["limits"]["memory"] == "hard"

    def in_box(self, *attack, options=()):
        return self.launch([*self.box_command(*options), self.program, *attack])

    def without(self, walls, *attack, options=()):
        """In a box without these walls, whose pid 1 was told not to insist on the proof."""
        return self.launch(
            # Without mounts, whoever samples memory takes the host's file system for the box's.
            [*self.box_command("--weaker", "allow", "--memory", "4096G", *options,
                               build="ringfort-unwalled"), self.program, *attack],
            {"RINGFORT_TEST_WITHOUT": ",".join(walls), "RINGFORT_TEST_UNPROVEN": "1"})

    def on_host(self, *attack):
        return self.launch([self.program, *attack])

    def in_unshare(self, flags, before, after, *attack):
        """In namespaces alone: with all rights over them, and a pid 1 that is a plain shell."""
        flags = [*flags, "--map-root-user"] if self.uid else flags
        script = f'{before or ":"}\n"$@"\n{after or ":"}'
        return self.launch(["unshare", *flags, "--fork", "--pid", "--mount-proc", "--kill-child",
                            "sh", "-c", script, "sh", self.program, *attack])

    def be_lesser(self, forbid):
        """From now on namespaces are forbidden: as in Docker for root, as in Ubuntu for others."""
        self.is_lesser = True
        self.forbidden = ([forbid, "eperm"] if self.uid else
                          ["setpriv", "--bounding-set", "-sys_admin", "--"])

    # --- outside evidence ---

    def survivors(self):
        """Processes with this scene's token among their arguments."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.token.encode() in (folder / "cmdline").read_bytes():
                    state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                    if state != "Z":
                        found.append(int(folder.name))
        return found

    def planted(self, test):
        """True if a file in the writable directory passes the test on its lstat()."""
        return any(test(path.lstat()) for path in self.workdir.rglob("*"))

    def done(self):
        for pid in self.survivors():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self.stack.close()
