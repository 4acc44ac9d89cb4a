"""What the power goes out under, inside the guest: a watcher and a workspace whose state lies on a disk.

Each boot first looks at what the one before it left: the log verifies, which events it has, which checkpoints there are
and what they hold.  Then it works and says what it was promised (acknowledged events, or checkpoints made with --sync, in turn),
until the host ends the machine.  The last boot (rf.last) only looks.
"""
import json
import os
import re
import subprocess
import sys
import time

from stage import call, eventually, lay_out, read, start

DISK, TREE, PLACE = "/dev/nvme0n1", "/mnt/tree", "/run/ringfort"
TOLD = re.compile(r"boot (\d+) number (\d+)")
SAY_EVERY = 0.02  # seconds between two lines of the console, which is slow


def say(text):
    print(text, flush=True)


def ringfort(*words):
    code, out, err = call(*words, cwd=TREE)
    assert code == 0, f"ringfort {' '.join(words)}: {code} {out} {err}"
    return out


def mount_disk():
    subprocess.run(["busybox", "mount", "-t", "ext4", DISK, "/mnt"], check=True)
    for folder in ("/mnt/lib", TREE):
        os.makedirs(folder, exist_ok=True)
    subprocess.run(["busybox", "mount", "--bind", "/mnt/lib", "/var/lib"], check=True)


def stand():
    watcher = start("watch")
    assert eventually(lambda: call("watch", "--status")[0] == 0, 60), watcher.stderr.read()
    return watcher


# ------------------------------------------------------------- what is there

def look_at_log():
    """Says whether the log is good, and for each boot how many of its events are there from the first on."""
    verified = json.loads(call("audit", "verify", "--json")[1])
    found = {}
    for line in ringfort("audit", "show", "--json", "--kind", "denial").splitlines():
        match = TOLD.fullmatch(json.loads(line)["what"])
        if match:
            found.setdefault(int(match[1]), []).append(int(match[2]))
    cuts = ringfort("audit", "show", "--json", "--kind", "chain.cut").count("\n")
    say(f"log {json.dumps({'good': verified['good'], 'why': verified.get('problem'), 'cuts': cuts})}")
    for boot, numbers in sorted(found.items()):
        say(f"events {json.dumps({'boot': boot, 'count': len(numbers), 'whole': numbers == list(range(len(numbers)))})}")


def look_at_workspace(boot):
    """Says which checkpoints there are, and what the last of them holds."""
    if call("log", "-w", "work", "--json")[0] != 0:
        ringfort("create", "--name", "work", "--workspace", TREE)
    names = [point["name"] for point in json.loads(ringfort("log", "-w", "work", "--json"))["points"] if point["name"]]
    last = next((name for name in reversed(names) if name.startswith(f"b{boot - 1}-")), None)
    holds = None
    if last:
        if current() != last:
            ringfort("undo", "-w", "work", last)
        holds = ringfort("exec", "work", "--", "cat", "n").strip()
    say(f"points {json.dumps({'names': names, 'last': last, 'holds': holds})}")


def current():
    """The name of the point on which the workspace stands."""
    ledger = json.loads(ringfort("log", "-w", "work", "--json"))
    return next((point["name"] for point in ledger["points"] if point["id"] == ledger["head"]), None)


# ------------------------------------------------------------- what goes on

def tell_events(boot):
    sys.argv[1:] = [PLACE]
    sys.path.insert(0, "/opt/ringfort/tests")
    import watchers  # its second half: the protocol
    number, said = 0, 0.0
    with watchers.connect() as sock:
        while True:
            events = [watchers.event(watchers.DENIAL, RING="api", WHAT=f"boot {boot} number {number + i}") for i in range(5)]
            kept = watchers.tell(sock, *events)
            assert kept and kept[0] == watchers.KEPT, kept
            number += 5
            now = time.monotonic()
            if now - said >= SAY_EVERY:
                said = now
                say(f"acked {number} {now * 1000:.0f}")


def make_checkpoints(boot):
    number = 0
    while True:
        number += 1
        ringfort("exec", "work", "--", "sh", "-c", f"echo {number} > n; seq 2000 > filler{number % 5}")
        ringfort("checkpoint", "-w", "work", f"b{boot}-{number}")
        say(f"kept b{boot}-{number} {number}")


def main():
    words = read("/proc/cmdline")
    boot = int(re.search(r"rf\.outage=(\d+)", words)[1])
    lay_out()
    mount_disk()
    watcher = stand()
    look_at_log()
    look_at_workspace(boot)
    if "rf.last" in words:
        return
    if boot % 2:  # a disk that a watcher syncs all the time would keep checkpoints as well
        watcher.terminate()
        watcher.wait(30)
    (make_checkpoints if boot % 2 else tell_events)(boot)


if __name__ == "__main__":
    main()
