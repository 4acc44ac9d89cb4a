"""A standing warden for a test, which no other run on the machine meets.

An ordinary user's lies in an XDG_RUNTIME_DIR of its own.  Root's is always /run/ringfort, so it stands
in a mount namespace in which that is another folder; what all boxes of root must agree upon, records
and uids, stays where it is.
"""
import os
import pathlib
import signal
import subprocess
import time

ROOM = """
	mkdir -p -m 700 /run/ringfort/boxes && touch /run/ringfort/uids &&
	mount --bind /run/ringfort "$1" && mount -t tmpfs -o mode=700 none /run/ringfort &&
	mkdir -m 700 /run/ringfort/boxes && touch /run/ringfort/uids &&
	mount --bind "$1/boxes" /run/ringfort/boxes &&
	mount --bind "$1/uids" /run/ringfort/uids && umount "$1" && echo ready && exec sleep infinity
"""


class Standing:
    """`words` start a program where the warden is met; `env` goes with them."""

    def __init__(self, ringfort, prefix, runtime, cwd, *options):
        self.ringfort = ringfort
        self.env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb",
                    "XDG_RUNTIME_DIR": str(runtime), "HOME": str(runtime)}
        self.cwd = cwd
        self.room = None
        self.words = list(prefix)
        if os.geteuid() == 0 and not prefix:
            self.room = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh",
                                          "-c", ROOM, "sh", str(runtime)],
                                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            assert self.room.stdout.readline() == b"ready\n"
            self.words = ["nsenter", f"--target={self.room.pid}", "--mount", f"--wdns={cwd}"]
        self.process = subprocess.Popen([*self.words, ringfort, "warden", *options], env=self.env,
                                        cwd=cwd, stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        until = time.monotonic() + 10
        while self.run("warden", "--status").returncode:
            assert self.process.poll() is None, self.process.stderr.read()
            assert time.monotonic() < until, "no warden came"
            time.sleep(0.02)

    def run(self, *args, stdin=b"", timeout=60):
        """`ringfort *args` of somebody who meets the warden."""
        return subprocess.run([*self.words, self.ringfort, *map(os.fspath, args)], env=self.env,
                              cwd=self.cwd, input=stdin, capture_output=True, timeout=timeout,
                              check=False)

    def pid(self):
        """The warden's own: those before it in `words` become it by exec."""
        name = pathlib.Path(f"/proc/{self.process.pid}/comm").read_text()
        assert name.startswith("ringfort"), name
        return self.process.pid

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stderr.close()
            if self.room:
                self.room.kill()
                self.room.wait()
                self.room.stdout.close()
