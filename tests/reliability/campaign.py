"""Kills of Ringfort's own processes at random instants, and what the log and the machine look like afterwards.

Each part works at a Post (tests/watchers.py): a place of its own, as root or as an ordinary user.  It gives its figures
as a dictionary; `failed` is a list of sentences, empty if all that is promised held.
"""
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "integration")]
from helpers import eventually  # noqa: E402
from watchers import IS_ROOT, USER_ID, Post  # noqa: E402
from hosts import kill_hosts, soak  # noqa: E402
from worksites import Worksite  # noqa: E402

BATCH = 7  # events of one message: the most that can be unacknowledged when a watcher is killed

# Tells numbered events for as long as its input is open, whatever becomes of watchers; at the end it prints ranges of those
# that were acknowledged.
TELLER = """
    import select
    number, ranges = 0, []
    def is_over():
        return bool(select.select([0], [], [], 0)[0])
    while not is_over():
        try:
            with connect() as sock:
                while not is_over():
                    said = tell(sock, *[event(DENIAL, RING="api", WHAT=f"number {number + i}") for i in range(%d)])
                    if not said or said[0] != KEPT:
                        break
                    ranges.append(number)
                    number += %d
                    time.sleep(0.002)
        except OSError:
            pass
        number += %d
        time.sleep(0.002)
    print(json.dumps(ranges))
""" % (BATCH, BATCH, BATCH)

# Moves the wall clock of a watcher by as many seconds as a file says.
JUMP = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *now)
{
	int code = (int)syscall(SYS_clock_gettime, id, now);
	const char *path = getenv("RF_TEST_JUMP");
	FILE *file = id == CLOCK_REALTIME && path ? fopen(path, "re") : NULL;
	long by = 0;

	if (file && fscanf(file, "%ld", &by) == 1)
		now->tv_sec += by;
	if (file)
		fclose(file);
	return code;
}
"""


class Campaign:
    def __init__(self, ringfort, who, seed):
        self.ringfort, self.who, self.random = ringfort, who, random.Random(seed)
        self.folder = tempfile.TemporaryDirectory(prefix="reliability-", dir="/var/tmp")
        pathlib.Path(self.folder.name).chmod(0o755)
        self.post = Post(ringfort, who, pathlib.Path(self.folder.name) / "post")
        self.mark = f"31.{self.random.randrange(10**9):09d}"  # how long its programs sleep: nobody else's do
        self.failed = []

    def close(self):
        self.post.close()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.close()

    # --- what must hold ---

    def expect(self, is_so, story):
        if not is_so:
            self.failed.append(f"{self.who}: {story}")
        return is_so

    def expect_chain(self, when):
        found = self.post.verify()
        self.expect(found["good"], f"{when}: the chain is not good: {json.dumps(found)[:300]}")

    def ends(self):
        """How the runs in the log ended; each must have one end."""
        ids = {kind: [one["box"] for one in self.post.events("--kind", kind)] for kind in ("run.started", "run.ended")}
        started, ended = ids["run.started"], ids["run.ended"]
        for box in started:
            self.expect(ended.count(box) == 1, f"box {box} has {ended.count(box)} ends in the log")
        verdicts = [one["verdict"] for one in self.post.events("--kind", "run.ended")]
        return len(started), verdicts.count("lost"), started

    def expect_nothing_left(self, boxes):
        """One more run, and then no process, record or group of any box is there."""
        self.expect(self.post.run("run", "--no-warden", "--audit", "required", "--", "true").returncode == 0, "no run afterwards")
        self.expect(eventually(lambda: not self.left(boxes), 10), f"left behind: {self.left(boxes)[:3]}")

    def left(self, boxes):
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in path.read_bytes():
                    found.append(str(path.parent))
        top = f"/proc/self/fd/{self.post.root}/run/ringfort/boxes" if self.post.is_room else self.post.top / "run/ringfort/boxes"
        known = set(boxes)
        with contextlib.suppress(OSError):
            found += [f"record {name}" for name in os.listdir(top) if name in known]
        for folder, below, _ in os.walk("/sys/fs/cgroup"):
            found += [f"{folder}/{name}" for name in below if name.startswith("ringfort-") and name[9:] in known]
        return found

    # --- who is there while somebody is killed ---

    @contextlib.contextmanager
    def telling(self, count):
        """So many clients tell events; gives a list that their acknowledged numbers are in afterwards."""
        source = (HERE.parent / "watchers.py").read_text() + "\n" + "\n".join(line[4:] for line in TELLER.splitlines())
        folder = "/run/ringfort" if self.post.is_room else self.post.env["XDG_RUNTIME_DIR"] + "/ringfort"
        clients = [subprocess.Popen([*self.post.before, "/usr/bin/python3", "-c",
                                     source.replace("number, ranges = 0, []", f"number, ranges = {i * 10**9}, []"), folder],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.post.env, cwd="/")
                   for i in range(count)]
        acknowledged = []
        try:
            yield acknowledged
        finally:
            for client in clients:
                out, _ = client.communicate(timeout=60)
                acknowledged += [first + i for first in json.loads(out) for i in range(BATCH)]

    @contextlib.contextmanager
    def running(self, count, *words):
        """So many launchers begin one run after another, of some hundredths of a second each."""
        is_over = threading.Event()

        def go():
            while not is_over.is_set():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.post.run("run", "--audit", "required", *words, "--", "sh", "-c",
                                  f"sleep 0.0{random.randrange(1, 9)}; : {self.mark}")
        threads = [threading.Thread(target=go) for _ in range(count)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            is_over.set()
            for thread in threads:
                thread.join()

    def stand_warden(self):
        warden = self.post.start("warden", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        eventually(lambda: warden.poll() is not None or self.post.run("warden", "--status").returncode == 0, 20)
        self.expect(warden.poll() is None, f"a warden ended: {warden.stderr.read() if warden.poll() is not None else ''}")
        return warden

    # --- parts ---

    def kill_watchers(self, times):
        with self.telling(2) as acknowledged:
            for turn in range(times):
                self.post.stand("--segment", "256K")
                time.sleep(self.random.random() * 0.15)
                self.post.end(signal.SIGKILL)
                self.expect_chain(f"kill {turn}")
            self.post.stand()
        kept = [int(one["what"].split()[1]) for one in self.post.events("--kind", "denial")]
        missing = set(acknowledged) - set(kept)
        self.expect(not missing, f"{len(missing)} acknowledged events are missing")
        self.expect(len(kept) == len(set(kept)), "an event is there twice")
        unacknowledged = len(set(kept) - set(acknowledged))
        self.expect(unacknowledged <= 2 * BATCH * (times + 1), f"{unacknowledged} events that nobody was told of")
        self.expect_chain("at the end")
        found = len(self.post.events("--kind", "recovery"))
        self.expect(found == times, f"{found} recoveries after {times} kills")
        self.post.end()
        return {"kills": times, "events": len(acknowledged), "missing": len(missing)}

    def kill_launchers(self, times):
        self.post.stand()
        for _ in range(times):
            run = self.post.start("run", "--no-warden", "--audit", "required", "--", "sleep", self.mark,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(self.random.random() * 0.06)
            run.kill()
            run.wait(20)
        eventually(lambda: len(self.post.events("--kind", "run.started")) == len(self.post.events("--kind", "run.ended")))
        count, lost, boxes = self.ends()
        self.expect(count == lost, f"{count} runs were killed, and {lost} are lost")
        self.expect_nothing_left(boxes)
        self.expect_chain("at the end")
        self.post.end()
        return {"kills": times, "runs": count, "lost": lost}

    def kill_wardens(self, times, with_watcher=False):
        self.post.stand("--segment", "256K")
        warden = self.stand_warden()
        with self.running(2):
            for turn in range(times):
                time.sleep(self.random.random() * 0.15)
                warden.kill()
                if with_watcher:
                    self.post.end(signal.SIGKILL)
                    self.expect_chain(f"kill {turn}")
                    self.post.stand("--segment", "256K")
                warden.wait(20)
                warden = self.stand_warden()
        eventually(lambda: len(self.post.events("--kind", "run.started")) == len(self.post.events("--kind", "run.ended")))
        warden.terminate()
        warden.wait(20)
        count, lost, boxes = self.ends()
        self.expect_nothing_left(boxes)
        self.expect_chain("at the end")
        self.post.end()
        return {"kills": times, "runs": count, "lost": lost}

    def kill_both(self, times):
        return self.kill_wardens(times, with_watcher=True)

    def kill_workspaces(self, times):
        site = Worksite(self.post, self.random, self.expect)
        kills = 0
        while kills < times and not self.failed:
            kills += site.kill()
            if kills % 20 == 19:
                site.judge_all()
        site.judge_all()
        return {"kills": kills, "midway": site.midway, "states": site.looked}

    def full_disk(self, _times):
        if not IS_ROOT:
            return None
        with self.post.small_disk("256k") as disk:
            self.post.stand()
            filler = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
            with contextlib.suppress(OSError):
                while os.write(filler, bytes(4096)):
                    pass
            os.close(filler)
            codes = [self.post.run("run", "--audit", "required", "--", "true").returncode for _ in range(40)]
            self.expect(126 in codes and set(codes) <= {0, 126}, f"runs on a full disk: {set(codes)}")
            self.expect(self.post.run("run", "--audit", "off", "--", "true").returncode == 0, "who is not recorded does not run")
            self.expect_chain("full")
            (disk / "filler").unlink()
            self.expect(self.post.run("run", "--audit", "required", "--", "true").returncode == 0, "no run once there is room")
            self.expect_chain("with room")
        return {"runs": len(codes), "refused": codes.count(126)}

    def read_only(self, _times):
        if not IS_ROOT:
            return None
        with self.post.small_disk("256k") as disk:
            self.post.stand()
            self.post.end()
            where = "/var/lib" if self.post.is_room else disk
            subprocess.run([*(self.post.before if self.post.is_room else []), "mount", "-o", "remount,ro", where], check=True)
            code = self.post.run("watch").returncode
            self.expect(code == 125, f"a watcher on a read-only disk: {code}")
            code = self.post.run("run", "--audit", "required", "--", "true").returncode
            self.expect(code == 126, f"a run that can't be recorded: {code}")
        return {"refused": 1}

    def damaged(self, times):
        for turn in range(times):
            self.post.stand()
            self.post.run("run", "--audit", "required", "--", "true")
            self.post.end(signal.SIGKILL if turn % 2 else signal.SIGTERM)
            log = sorted(self.post.log.glob("*.log"))[-1]
            data = bytearray(log.read_bytes())
            data[self.random.randrange(len(data) // 2)] ^= 1 << self.random.randrange(8)
            log.write_bytes(data)
            if not self.post.verify()["good"]:
                self.post.stand()
                self.expect(any(one["alarm"] == "chain_broken" for one in self.post.events("--kind", "alarm")), "no alarm")
                self.expect_chain("the new chain")
                self.post.end()
            else:
                self.expect(False, "a changed bit was not found")
        aside = len(list(self.post.log.glob("broken-*")))
        self.expect(aside == times, f"{aside} logs were put aside")
        return {"damaged": times, "found": aside}

    def many_at_once(self, times):
        for _ in range(times):
            started = [self.post.start("watch", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(6)]
            self.expect(eventually(lambda all_=started: sum(one.poll() is None for one in all_) == 1), "not one of six stands")
            self.expect(eventually(lambda: self.post.run("run", "--audit", "required", "--", "true").returncode == 0),
                        "the one that stands does not record")
            for one in started:
                one.terminate()
                one.wait(20)
            self.expect_chain("one of six")
        return {"started": 6 * times, "stood": times}

    def owned(self, name, text, mode=0o644):
        """A file of whoever runs."""
        path = self.post.top / name
        path.write_text(text)
        path.chmod(mode)
        if IS_ROOT and self.who == "user":
            os.chown(path, USER_ID, USER_ID)
        return path

    def hung_hook(self, times):
        hook = self.owned("hook", f"#!/bin/sh\n/bin/sleep {self.mark} & /bin/sleep {self.mark}\n", 0o755)
        policy = self.owned("policy.yaml", "alarms: {forks: 150, on_forks: kill}\n")
        self.post.stand("--hook", hook)
        slowest = 0
        for turn in range(1, times + 1):
            self.post.run("run", "--policy", policy, "--", "sh", "-c", "while :; do (:) ; (:) ; (:) ; done")
            for _ in range(5):
                began = time.monotonic()
                self.expect(self.post.run("run", "--audit", "required", "--", "true").returncode == 0, "no run beside a hook")
                slowest = max(slowest, time.monotonic() - began)
            self.expect(eventually(lambda n=turn: [one["verdict"] for one in self.post.events("--kind", "hook")] ==
                                   ["timeout"] * n, 15), "a hook that hangs is not ended")
        self.expect(slowest < 3, f"a run beside a hook that hangs took {slowest:.1f} s")
        self.expect(eventually(lambda: not self.left([]), 5), f"left of a hook: {self.left([])}")
        self.expect_chain("after hooks")
        self.post.end()
        return {"hooks": times}

    def clock_jumps(self, _times):
        jump = pathlib.Path(self.folder.name) / "jump"
        shim = jump.with_suffix(".so")
        jump.with_suffix(".c").write_text(JUMP)
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, jump.with_suffix(".c")], check=True)
        shim.chmod(0o755)
        self.post.env.update(LD_PRELOAD=str(shim), RF_TEST_JUMP=str(jump))
        self.post.stand()
        for name in ("LD_PRELOAD", "RF_TEST_JUMP"):
            del self.post.env[name]
        steps = (3600, -7200, 86400, 0)
        for by in steps:
            jump.write_text(f"{by}\n")
            time.sleep(1.2)
            self.expect(self.post.run("run", "--audit", "required", "--", "true").returncode == 0, f"no run at {by} s")
        skews = [round(one["skew_ms"] / 1000) for one in self.post.events("--kind", "clock.jump")]
        self.expect(skews == [b - a for a, b in zip((0, *steps), steps)], f"jumps that were told: {skews}")
        self.expect_chain("after jumps")
        self.post.end()
        return {"jumps": len(skews)}


# What is done, how often in all (of both users together), and what is promised.
PARTS = {
    "watchers": (Campaign.kill_watchers, 500, "the watcher, while two clients tell events"),
    "launchers": (Campaign.kill_launchers, 500, "the launcher, from its first instruction on"),
    "wardens": (Campaign.kill_wardens, 200, "the warden, while two clients run boxes"),
    "both": (Campaign.kill_both, 100, "warden and watcher at once, the same"),
    "hosts": (kill_hosts, 120, "front, warden, clerk, server, gateway and watcher in turn, while three clients run programs"),
    "soak": (soak, 2000, "a server that runs very many programs (memory in KiB)"),
    "workspaces": (Campaign.kill_workspaces, 400, "a run, checkpoint, undo, apply, gc or fork of a workspace"),
    "full_disk": (Campaign.full_disk, 2, "a full disk"),
    "read_only": (Campaign.read_only, 2, "a disk that can't be written"),
    "damaged": (Campaign.damaged, 40, "a bit of the log changed"),
    "many_at_once": (Campaign.many_at_once, 20, "six watchers started at once"),
    "hung_hook": (Campaign.hung_hook, 6, "a hook that hangs"),
    "clock_jumps": (Campaign.clock_jumps, 2, "the clock set an hour ahead, back, a day ahead, back"),
}


def run_part(name, ringfort, who, times, seed):
    """The figures of one part, with its failures."""
    with Campaign(ringfort, who, seed) as campaign:
        began = time.monotonic()
        figures = PARTS[name][0](campaign, times)
        if figures is None:
            return None
        return {"part": name, "who": who, **figures, "failed": campaign.failed, "seconds": round(time.monotonic() - began, 1)}
