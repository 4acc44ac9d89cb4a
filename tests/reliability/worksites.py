"""Kills of the commands that work on workspaces, at random instants, and what workspace and directory are afterwards.

A workspace has a history of points, each with a picture of what it showed when it was made.  A command is killed; then the
ledger must name points that are known, the head must show its picture, and the directory must be what it was before or
what it was to become, or an apply is under way that can be finished and taken back.
"""
import contextlib
import hashlib
import json
import os
import pathlib
import subprocess
import time

from watchers import IS_ROOT, USER_ID

FILES = 120
# What there is in the current directory: names, types, modes, where links lead, and all bytes.
LOOK = (r"find . -mindepth 1 -printf '%P %y %m %l\n' | LC_ALL=C sort; "
        r"find . -type f -print0 | LC_ALL=C sort -z | xargs -0 -r cat")
POINTS = 6  # so that runs and gc merge points all the time


class Worksite:
    """One workspace over one directory, and what is known of both."""

    def __init__(self, post, random, expect):
        self.post, self.random, self.expect = post, random, expect
        self.tree = post.top / "tree"
        self.pictures, self.names, self.overwritten, self.unknown = {}, set(), {}, set()
        self.looked, self.midway, self.turn = 0, 0, 0
        self.took = {}  # seconds that a command of each kind takes when nobody kills it
        self.plant()

    def plant(self):
        (self.tree / "d").mkdir(parents=True)
        for number in range(FILES):
            (self.tree / f"d/f{number}").write_text(f"old {number}\n")
        settings = self.post.top / "config.yaml"
        settings.write_text(f"points: {POINTS}\n")
        settings.chmod(0o600)
        if IS_ROOT and not self.post.is_room:
            subprocess.run(["chown", "-R", f"{USER_ID}:{USER_ID}", self.tree, settings], check=True)
        self.post.env["RINGFORT_CONFIG"] = str(settings)
        self.good("create", "--name", "w", "--workspace", self.tree)
        self.directory = self.outside()
        for _ in range(3):
            self.deed("exec")(None)
            self.settle_head()

    # --- looking ---

    def good(self, *words):
        done = self.post.run(*words)
        self.expect(done.returncode == 0, f"{words}: {done.stderr.strip()[:300]}")
        return done.stdout

    def ledger(self, name="w"):
        text = self.good("log", "-w", name, "--json")
        return json.loads(text) if text else {"head": 0, "points": [], "applies": [], "applying": 0}

    def inside(self, name="w"):
        self.looked += 1
        return hashlib.sha256(self.good("exec", name, "--", "sh", "-c", LOOK).encode()).hexdigest()

    def outside(self):
        self.looked += 1
        return hashlib.sha256(subprocess.run(["sh", "-c", LOOK], cwd=self.tree, capture_output=True, check=True).stdout).hexdigest()

    def settle_head(self):
        """The head is a point that was there, or the one that the run was to make: it is known from here on."""
        head = self.ledger()["head"]
        if head:
            self.pictures.setdefault(head, self.inside())
        return head

    # --- doing ---

    def script(self):
        """Changes of a run: files that change, come and go, a folder, a link, a mode."""
        self.turn += 1
        some = self.random.sample(range(FILES), 40)
        return "; ".join([*(f"echo {self.turn} >> d/f{n}" for n in some[:30]), f"rm -f d/f{some[30]}", f"mkdir -p e{self.turn % 5}",
                          f"echo {self.turn} > e{self.turn % 5}/new{self.turn}", f"ln -sf x{self.turn} link",
                          f"rm -rf e{(self.turn + 2) % 5}", f"chmod 600 d/f{some[31]} 2>/dev/null || true"])

    def words(self, kind):
        ids = [point["id"] for point in self.ledger()["points"]]
        if kind == "exec":
            return ["exec", "w", "--", "sh", "-c", self.script()]
        if kind == "checkpoint":
            self.names.add(f"c{self.turn}")
            return ["checkpoint", "-w", "w", f"c{self.turn}"]
        if kind == "undo":
            return ["undo", "-w", "w", f"@{self.random.choice(ids)}" if ids else "@0"]
        if kind == "fork":
            return ["fork", "-w", "w", "-n", "3", f"fork{self.turn}"]
        return {"apply": ["apply", "-w", "w", "--theirs"], "back": ["undo", "-w", "w", "--theirs"], "gc": ["gc"]}[kind]

    def deed(self, kind):
        words = self.words(kind)

        def run(delay):
            """Runs it, and kills it after so many seconds; returns whether it was killed."""
            began = time.monotonic()
            with self.post.start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(delay)
                if process.poll() is None:
                    process.kill()
                    process.wait(20)
                    return True
            self.took[kind] = time.monotonic() - began
            return False
        return run

    def kill(self):
        """One turn.  Returns whether somebody was killed."""
        kind = self.random.choice(["exec", "exec", "checkpoint", "undo", "apply", "apply", "back", "gc", "fork"])
        before = self.ledger()
        if kind == "apply" and before["head"] == 0:
            kind = "exec"
        killed = self.deed(kind)(self.random.random() * self.took.get(kind, 0.03))
        self.judge(kind, before)
        return killed

    # --- judging ---

    def judge(self, kind, before):
        now = self.ledger()
        if now["applying"]:
            self.midway += 1
            way = self.random.choice(["apply", "undo"])
            if kind == "apply":
                self.expect(now["head"] == before["head"], "an apply moved the head")
            self.good(way, "-w", "w", "--theirs")
            now = self.ledger()
            self.expect(not now["applying"], f"{way} did not finish what was broken off")
        self.judge_directory(kind, before, now)
        known = set(self.pictures) | self.unknown | {0}
        fresh = {point["id"] for point in now["points"]} - known
        self.expect(not fresh or (kind == "exec" and len(fresh) == 1), f"{kind} made points {fresh}")
        if kind == "exec" and fresh:  # it was killed after its end was kept
            self.expect(now["head"] in fresh, "a run was kept, and is not the head")
            self.pictures[now["head"]] = self.inside()
        elif now["head"] in self.unknown and now["head"] not in self.pictures:
            self.settle_head()
        elif now["head"]:
            self.expect(self.inside() == self.pictures[now["head"]], f"after {kind}, @{now['head']} shows something else")
        named = {point["name"] for point in now["points"] if point["name"]}
        had = {point["name"] for point in before["points"] if point["name"] and (kind, point["id"]) != ("checkpoint", before["head"])}
        self.expect(had <= named, f"{kind} lost a checkpoint")
        self.expect(named <= self.names, f"names that nobody gave: {named - self.names}")
        if kind == "fork":
            self.judge_forks(now)

    def judge_directory(self, kind, before, now):
        """The directory is what the last apply in the ledger made of it, or what it was before the one that is gone."""
        was, last = ((ledger["applies"] or [None])[-1] for ledger in (before, now))
        if last and last["inverse"] not in self.overwritten:
            self.overwritten[last["inverse"]] = self.directory
            self.directory = self.pictures[last["point"]]
        elif was and was != last:
            self.directory = self.overwritten[was["inverse"]]
            self.forget(now, was["since"])
        self.expect(self.outside() == self.directory, f"after {kind}, the directory is something else")
        self.expect(not list(self.tree.rglob(".ringfort-*")), f"after {kind}, copies are left in the directory")

    def forget(self, now, since):
        """An apply was taken back: what began with what it had written lies over the directory as it is again."""
        roots = {}
        for point in now["points"]:
            roots[point["id"]] = roots[point["parent"]] if point["parent"] else point["began"]
            if roots[point["id"]] >= since:
                self.pictures.pop(point["id"], None)
                self.unknown.add(point["id"])

    def judge_forks(self, now):
        for line in self.good("workspaces").splitlines():
            name = line.split()[0]
            if name == "w":
                continue
            fork = self.ledger(name)
            self.expect([p["layer"] for p in fork["points"]] == [p["layer"] for p in now["points"]] and fork["head"] == now["head"],
                        f"{name} is not what it was forked from")
            if now["head"]:
                self.expect(self.inside(name) == self.pictures[now["head"]], f"{name} shows something else")
            self.good("rm", name)

    def judge_all(self):
        """Each point shows what it did, and nothing is left that nobody needs."""
        head = self.ledger()["head"]
        for point in self.ledger()["points"]:
            self.post.run("undo", "-w", "w", f"@{point['id']}")
            shown = self.inside()
            self.expect(shown == self.pictures.setdefault(point["id"], shown), f"@{point['id']} shows something else")
        self.post.run("undo", "-w", "w", f"@{head}")
        self.good("gc")
        now = self.ledger()
        state = pathlib.Path(f"/proc/self/fd/{self.post.root}/var/lib" if self.post.is_room else self.post.top / "state") / "ringfort"
        layers = {point["layer"] for point in now["points"]} | {apply["inverse"] for apply in now["applies"]}
        self.expect(set(os.listdir(state / "layers/all")) == layers, "layers that nobody needs are left, or one is missing")
        self.expect(os.listdir(state / "workspaces") == ["w"], f"left: {os.listdir(state / 'workspaces')}")
