"""A server under load whose processes are killed one after another, and one that runs very many programs.

Clients send requests with idempotency keys all the time, and note what they were answered.  A process is killed; then the server must serve
again, what was acknowledged must be answered the same, nothing may have run twice, sandboxes live or are told of as ended, and at the
end nothing of any box is left.
"""
import contextlib
import http.client
import os
import pathlib
import random as randoms
import signal
import subprocess
import tempfile
import threading
import time
import uuid

from helpers import eventually, processes_with
from servers import Server, sockets_of

VICTIMS = ("front", "warden", "clerk", "serve", "gateway", "watch")
CEILING = "version: 1\nfiles: { current: none }\nnetwork: { allow: [\"example.org\"] }\nlimits: { time: 1h }\n"
CLIENTS = 3
ERRORS = (OSError, http.client.HTTPException, ValueError)


class Client(threading.Thread):
    """Sends runs, each with a key of its own; one that was not answered is asked for again, until it is known what became of it."""

    def __init__(self, server, mark, expect):
        super().__init__(daemon=True)
        self.server, self.mark, self.expect = server, mark, expect
        self.is_over, self.answered, self.runs, self.cut, self.errors = False, [], 0, 0, 0

    def body_of(self, name):
        return {"command": f": {self.mark}; cat /proc/sys/kernel/random/uuid", "env": {"NAME": name}, "timeout": 30}

    def ask(self, name):
        return self.server.post("/v1/run", self.body_of(name), headers={"Idempotency-Key": name}, timeout=30)

    def run_one(self):
        name = str(uuid.uuid4())
        while not self.is_over:
            try:
                answer = self.ask(name)
            except ERRORS:
                self.errors += 1
                time.sleep(0.05)
                continue
            if answer.status == 200:
                self.runs += 1
                self.answered.append((name, answer.body))
                return
            said = answer.json["error"]
            self.expect(said["message"] and answer.status in (409, 429, 500, 503), f"an unclear answer: {answer}")
            if answer.status == 409 and "nobody knows" in said["message"]:
                self.cut += 1
                return
            time.sleep(0.05)

    def run(self):
        while not self.is_over:
            self.run_one()


class Host:
    def __init__(self, campaign, *options):
        self.campaign = campaign
        self.folder = tempfile.TemporaryDirectory(prefix="rf-host-")
        place = pathlib.Path(self.folder.name)
        os.chmod(place, 0o755)
        self.server = Server(campaign.ringfort, campaign.who, place / "s", *options)

    def __enter__(self):
        return self.server

    def __exit__(self, *why):
        self.server.close()
        self.folder.cleanup()


def joined(pid):
    """Sockets at the other ends of those that a process has."""
    own, found = sockets_of(pid), set()
    for line in subprocess.run(["ss", "-xaH"], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if words[0] == "u_seq" and len(words) >= 8 and f"socket:[{words[5]}]" in own:
            found.add(f"socket:[{words[7]}]")
    return found


def processes_of(server):
    """Pids by name: of the server and of all that it started, by their environment or their sockets."""
    found = {"serve": [server.pid], **{name.removeprefix("ringfort-"): pids for name, pids in server.children().items()}}
    ends = joined(found["clerk"][0]) if "clerk" in found else set()
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            name = os.path.basename((path / "cmdline").read_bytes().split(b"\0")[0].decode())
            if (name == "ringfort-watch" and str(server.runtime).encode() in (path / "environ").read_bytes()) or \
                    (name == "ringfort-gateway" and ends & sockets_of(path.name)):
                found.setdefault(name.removeprefix("ringfort-"), []).append(int(path.name))
    return found


def make_box(server, key):
    """A sandbox with a network, so that there is a gateway; or None: the server is not there at this moment."""
    with contextlib.suppress(*ERRORS, KeyError):
        return server.post("/v1/sandboxes", {"timeout": 3000, "policy": {"network": {"allow": ["example.org"]}}},
                           key=key).json["id"]
    return None


def is_up(server):
    try:
        return server.post("/v1/run", {"argv": ["true"]}, timeout=10).status == 200
    except ERRORS:
        return False


def kill_hosts(campaign, times):
    """Kills of a server's processes in turn; figures as the other parts have them."""
    mark, random = f"8767{time.monotonic_ns()}", randoms.Random(campaign.random.random())
    kills, lost, kept, killed = 0, 0, 0, {}
    with Host(campaign, "--grace=20") as server:
        ceiling = server.runtime / "ceiling.yaml"
        ceiling.write_text(CEILING, encoding="utf-8")
        key = server.make_key("--ceiling", ceiling)
        clients = [Client(server, mark, campaign.expect) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        box = None
        for turn in range(times):
            victim = VICTIMS[turn % len(VICTIMS)]
            box = box or make_box(server, key)
            if victim == "gateway":  # that of a server that was killed is gone
                make_box(server, key)
            pids = []
            if not eventually(lambda: pids.extend(processes_of(server).get(victim, [])) or pids, 10):
                continue  # the gateway of a sandbox that could not be made
            time.sleep(random.random() * 0.3)
            os.kill(pids[0], signal.SIGKILL)
            kills += 1
            killed[victim] = killed.get(victim, 0) + 1
            if victim == "serve":
                server.process.wait(20)
                server.start()
            campaign.expect(eventually(lambda: is_up(server), 40), f"it does not serve after the end of {victim}")
            said = server.get(f"/v1/sandboxes/{box}", key=key) if box else None
            if said and victim == "warden":
                campaign.expect(said.status == 404 and "warden" in said.json["error"]["message"], f"a lost sandbox: {said.body}")
                box, lost = None, lost + 1
            elif said:
                campaign.expect(said.status == 200, f"a sandbox is gone after the end of {victim}: {said.body}")
                kept += 1
        for client in clients:
            client.is_over = True
        for client in clients:
            client.join(60)
        again, other, outputs = 0, 0, set()
        for client in clients:
            for name, body in client.answered:
                outputs.add(body)
                if again < 200:
                    again += 1
                    other += not campaign.expect(client.ask(name).body == body, f"it was acknowledged, and is answered otherwise: {name}")
        campaign.expect(len(outputs) == sum(len(client.answered) for client in clients), "two runs have one output")
        wardens = server.children().get("ringfort-warden", [])
        campaign.expect(server.end() == 0, "it does not end when it is asked to")
        campaign.expect(times < len(VICTIMS) or set(killed) == set(VICTIMS), f"only {sorted(killed)} were killed")
        campaign.expect(eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in wardens), 30), "a warden is left")
        campaign.expect(eventually(lambda: not processes_with(mark), 30), "a program outlives its server")
    return {"kills": kills, "runs": sum(client.runs for client in clients), "again": again, "other": other,
            "cut": sum(client.cut for client in clients), "kept": kept, "gone": lost}


def weigh(server):
    """Of each process memory in KiB and descriptors; and the mounts that the server sees."""
    found = {}
    for name, pids in processes_of(server).items():
        with contextlib.suppress(OSError, StopIteration):
            pid = pids[0]
            status = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
            found[name] = (int(next(line.split()[1] for line in status if line.startswith("RssAnon:"))),
                           len(os.listdir(f"/proc/{pid}/fd")))
    return found, len(pathlib.Path(f"/proc/{server.pid}/mounts").read_text().splitlines())


def soak(campaign, times):
    """So many runs by way of a few clients: afterwards each process is what it was when it was warm."""
    def work(count):
        with contextlib.closing(server.connect(60)) as line:
            for _ in range(count):
                answer = server.post("/v1/run", {"argv": ["true"]}, connection=line)
                campaign.expect(answer.status == 200 and answer.json["status"] == "ok", f"a run fails: {answer.body[:200]}")

    def run(count):
        threads = [threading.Thread(target=work, args=(count // 4,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with Host(campaign) as server:
        run(max(100, times // 10))
        before, mounts = weigh(server)
        run(times)
        after, mounts_after = weigh(server)
        grown = max(after[name][0] - before[name][0] for name in before if name in after)
        for name, (memory, files) in before.items():
            campaign.expect(name in after, f"{name} has ended")
            campaign.expect(after.get(name, (0, 0))[0] - memory < 4096, f"{name} has grown from {memory} to {after.get(name)} KiB")
            campaign.expect(after.get(name, (0, 0))[1] - files < 16, f"{name} had {files} descriptors, and has {after.get(name)}")
        campaign.expect(mounts_after == mounts, f"{mounts} mounts became {mounts_after}")
        pids = set(map(str, sum(processes_of(server).values(), [])))
        campaign.expect(server.end() == 0, "it does not end when it is asked to")
        campaign.expect(eventually(lambda: not [pid for pid in pids if os.path.exists(f"/proc/{pid}")], 30), "processes are left")
    return {"runs": times // 4 * 4, "grown": max(0, grown)}
