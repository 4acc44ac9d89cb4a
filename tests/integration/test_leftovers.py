"""After any number of runs of any kind, nothing of them is left on the host."""
import concurrent.futures
import glob
import json
import os
import random
import signal
import subprocess
import time

import pytest

from helpers import (FIRST_BOX_UID, empty_cgroups, eventually, left_cgroups, left_records, mounts, namespaces_alive,
                     processes_with)

pytestmark = pytest.mark.usefixtures("as_who")

# Arguments, and whether a SIGTERM follows after a moment.  TOKEN is put into every command line.
KINDS = [
    (["--", "sh", "-c", "true TOKEN"], False),
    (["--", "sh", "-c", "echo x > /tmp/TOKEN; echo y > ~/TOKEN; exit 3"], False),
    (["--", "sh", "-c", "sleep TOKEN & setsid sleep TOKEN & exit 0"], False),
    (["--time", "30ms", "--", "sleep", "TOKEN"], False),
    (["--time", "30ms", "--", "sh", "-c", "trap '' TERM; sleep TOKEN & sleep TOKEN"], False),
    (["--", "sleep", "TOKEN"], True),
    (["--", "sh", "-c", "trap '' TERM; sleep 0.1; : TOKEN"], True),
    (["--memory", "16M", "--", "python3", "-c", "bytearray(10**9); 'TOKEN'"], False),
    (["--output", "10", "--", "sh", "-c", "yes; : TOKEN"], False),
    (["--", "no-such-program", "TOKEN"], False),
    (["--read", "/no/such/TOKEN", "--", "true"], False),
    (["--workdir", "/no/such/TOKEN", "--", "true"], False),
    (["--memory", "TOKEN apples", "--", "true"], False),
    (["--require", "hard", "--", "true", "TOKEN"], False),
    (["--write", ".", "--", "sh", "-c", "mkdir -p sub && touch sub/TOKEN && rm -r sub"], False),
    (["--", "/etc/passwd", "TOKEN"], False),
]


class Scene:
    """The host before the runs, and what it must still be like after them."""

    def __init__(self, boxes, runtime, workdir):
        self.boxes, self.runtime, self.workdir = boxes, runtime, workdir
        self.token = f"6543{random.randrange(10**9)}"
        self.mounts, self.cgroups = mounts(), empty_cgroups()
        self.namespaces, self.ids = set(), set()
        self.descriptors = len(os.listdir("/proc/self/fd"))

    def run(self, start, args, has_signal):
        words = [word.replace("TOKEN", self.token) for word in args]
        process = start("--json", *words)
        if has_signal:
            time.sleep(0.03)
            process.terminate()
        out, _ = process.communicate(timeout=20)
        if out:
            result = json.loads(out)
            self.ids.add(result["id"])
            proof = result["isolation"]["proof"]
            self.namespaces |= set(proof.get("namespace_ids", {}).values()) - {0}
        return process.returncode

    def assert_clean(self):
        assert eventually(lambda: not processes_with(self.token), 2), "processes"
        left = {path for path in left_cgroups() - self.cgroups if path.rpartition("ringfort-")[2] in self.ids}
        assert left == set(), "cgroups"
        # Of who was killed before it said its name; other checkouts' boxes are on the same machine, and do not stay.
        assert eventually(lambda: left_cgroups(1) - self.cgroups == set(), 20), "cgroups"
        assert left_records(self.boxes) == set(), "records"
        assert mounts() - self.mounts == set(), "mounts"
        # Another box may have the number of one that is gone; not all the time, though.
        assert eventually(lambda: not self.namespaces & namespaces_alive(), 5), "namespaces"
        assert len(os.listdir("/proc/self/fd")) <= self.descriptors + 2, "descriptors"
        assert [p.name for p in self.workdir.iterdir()] == [], "files in the current directory"
        left = [str(p) for p in self.runtime.rglob("*") if not p.is_dir()]
        assert left == [], "files in the runtime directory"
        for place in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/ringfort"):
            for path in glob.glob(place + "/*"):
                assert self.token not in path
                try:
                    assert os.lstat(path).st_uid < FIRST_BOX_UID, path
                except FileNotFoundError:
                    pass


@pytest.fixture
def scene(boxes, runtime, workdir):
    return Scene(boxes, runtime, workdir)


def test_fifty_runs_one_after_the_other_leave_nothing(scene, start):
    codes = [scene.run(start, *KINDS[i % len(KINDS)]) for i in range(50)]
    assert {0, 3, 124, 125, 127, 137} <= set(codes), "the runs were of all kinds"
    scene.assert_clean()


def test_four_at_a_time_leave_nothing(scene, start):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(scene.run, start, *KINDS[i % len(KINDS)]) for i in range(48)]
        codes = [job.result() for job in jobs]
    assert {0, 3, 124, 125, 127, 137} <= set(codes)
    scene.assert_clean()


def test_runs_and_a_killed_launcher_side_by_side_leave_nothing(scene, start):
    for _ in range(5):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        doomed = start("--", "sleep", scene.token, **quiet)
        other = start("--", "sh", "-c", f"sleep 0.05; : {scene.token}",
                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(0.03)
        doomed.send_signal(signal.SIGKILL)
        said = other.communicate(timeout=10)[1]
        assert other.returncode == 0, f"the neighbour is not disturbed: {said}"
    assert start("--", "true", **quiet).wait(10) == 0
    scene.assert_clean()


def test_who_sees_no_groups_leaves_those_of_a_dead_box_to_others(command, environment, workdir, as_who):
    """A launcher without /sys/fs/cgroup, as in a container, must not take a group that it can't see for removed."""
    if as_who != "root" or os.geteuid() != 0:
        pytest.skip("needs root, whose boxes have groups")
    before = left_cgroups()
    # Killed before it has a janitor; whatever it had by then is the next one's to remove.
    for pause in range(12):
        process = subprocess.Popen(command("run", "--", "sleep", "5"), cwd=workdir, env=environment,
                                   stderr=subprocess.DEVNULL)
        time.sleep(0.001 * pause)
        process.kill()
        process.wait()
        subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                        'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh",
                        *command("run", "--weaker", "allow", "--", "true")], cwd=workdir, env=environment,
                       check=False, capture_output=True, timeout=20)
    subprocess.run(command("run", "--", "true"), cwd=workdir, env=environment, check=True, timeout=20)
    assert eventually(lambda: left_cgroups() <= before, 3), left_cgroups() - before


def test_nothing_runs_beside_the_box_once_it_is_over(start, ringfort):
    """The janitor of a run that took long enough to have one is gone with it."""
    process = start("--", "sleep", "0.2")
    group = os.getpgid(process.pid)
    assert process.wait(10) == 0
    time.sleep(0.05)
    for path in glob.glob("/proc/[0-9]*/exe"):
        try:
            assert os.readlink(path) != ringfort, path
        except OSError:
            pass
    assert group == os.getpgrp()


def test_no_descriptor_of_the_caller_gets_into_the_box(command, environment, workdir):
    extra = [os.open("/etc/passwd", os.O_RDONLY) for _ in range(500)]
    for fd in extra:
        os.set_inheritable(fd, True)
    try:
        done = subprocess.run(command("run", "--", "python3", "-c",
                                      "import os; d = os.open('/proc/self/fd', os.O_RDONLY);"
                                      "print(sorted(int(n) for n in os.listdir(d) if int(n) != d))"),
                              stdin=subprocess.DEVNULL, capture_output=True, close_fds=False, cwd=workdir,
                              env=environment, timeout=20, check=False)
    finally:
        for fd in extra:
            os.close(fd)
    numbers = [n for n in json.loads(done.stdout)]
    assert numbers[:3] == [0, 1, 2] and len(numbers) <= 4, "and the one that lists them"


def test_a_caller_with_high_descriptors_and_none_low_leaks_none(command, environment, workdir):
    words = command("run", "--", "sh", "-c", "ls /proc/self/fd | wc -l; ls -l /proc/1/fd 2>/dev/null | wc -l")
    done = subprocess.run(["bash", "-c", 'ulimit -n 4096; exec 3</etc/passwd 9</etc/passwd 255</etc/passwd '
                           '2000</etc/passwd 4000</etc; exec "$@" <&-', "bash", *words], capture_output=True,
                          cwd=workdir, env=environment, timeout=20, check=False)
    assert done.stdout.split() == [b"4", b"0"], done


def test_a_caller_without_room_for_descriptors_gets_a_clear_error(command, environment, workdir):
    words = command("run", "--", "true")
    groups = empty_cgroups()
    for room in (3, 4, 8, 12, 16, 24):
        done = subprocess.run(["bash", "-c", f'ulimit -n {room}; exec "$@"', "bash", *words],
                              capture_output=True, cwd=workdir, env=environment, timeout=20, check=False)
        assert done.returncode == 0 or done.returncode in (125, 127) and done.stderr, (room, done)
        assert left_cgroups() - groups == set(), room


def test_uids_of_boxes_are_given_back(start, as_who):
    if as_who != "root":
        pytest.skip("needs root")
    uids = set()
    for _ in range(3):
        process = start("--", "sh", "-c", "echo up; sleep 0.2")
        assert process.stdout.readline() == b"up\n"
        inside = [pid for pid in processes_with("echo up; sleep 0.2")
                  if os.stat(f"/proc/{pid}").st_uid >= FIRST_BOX_UID]
        assert inside, "a box of root's runs under a uid of its own"
        uids |= {os.stat(f"/proc/{pid}").st_uid for pid in inside}
        process.wait(10)
    assert len(uids) == 3, "and each under another"
    with open("/proc/locks", encoding="ascii") as file:
        locks = file.read()
    inode = os.stat("/run/ringfort/uids").st_ino
    mine = [line for line in locks.splitlines() if f":{inode} " in line and "OFDLCK" in line]
    assert eventually(lambda: not [u for u in uids if any(f" {u - FIRST_BOX_UID} " in m for m in mine)], 1)


def test_a_host_that_shares_its_mounts_gets_none_of_a_boxs(command, environment, workdir, as_who):
    """systemd shares every mount: what a box mounts on a shown tree must not be mounted on the host's, too."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    for name in ("shown", "own"):
        (workdir / name).mkdir()
        os.chown(workdir / name, workdir.stat().st_uid, workdir.stat().st_gid)
    (workdir / "shown/.env").write_text("SECRET=1\n", encoding="ascii")
    run = command("run", "--read", str(workdir / "shown"), "--write", str(workdir / "own"), "--", "ls")
    script = ('mount --make-rslave / && mount --make-rshared / && cut -d" " -f5 /proc/self/mountinfo >before &&'
              ' "$@" >listed && cut -d" " -f5 /proc/self/mountinfo | diff before - && cat listed; rm -f before listed')
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", *run], capture_output=True, text=True,
                          cwd=workdir, env={**environment, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, timeout=20,
                          check=False)
    assert "own" in done.stdout and not any(line[:1] in "<>" for line in done.stdout.splitlines()), done
