"""What a run may write to a workspace, or to a directory of the host, is limited; as root and as an ordinary user."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import watchers  # noqa: E402 # a place with a state folder of its own

pytestmark = pytest.mark.usefixtures("as_who")

MEMORY = ["--disk", "4M", "--inodes", "500"]  # small beside the memory of a box
DISK = ["--disk", "300M", "--inodes", "5000"]  # more than half of it
ODD = """
mkdir -p closed/in deep a/b; echo 1 > closed/in/f; chmod 000 closed/in/f; chmod 000 closed
echo two > one; ln one a/other; ln one a/b/third
ln -s /nowhere/at/all link; mkfifo pipe; printf x > exact; touch -d '2001-02-03 04:05:06.123456789' exact
truncate -s 3M holes; printf end >> holes; rm old/deep/file; rm kept; mkdir kept; echo in > kept/in
rm -rf gone; mkdir gone; echo again > gone/again; chmod 750 a/b; touch -d 2002-02-02 a
"""
DEEP = """
python3 -c "
import os
os.chdir('deep')
for i in range(600): os.mkdir('n' * 20); os.chdir('n' * 20)
open('bottom', 'w').write('reached')"
"""
LOOK = """
find . -path ./deep -prune -o -type d -printf '%P d %m\\n' -o -printf '%P %y %m %s %n %l %T@\\n' | sort; cat one a/other a/b/third kept/in gone/again; ls -i one a/other a/b/third | \
cut -d' ' -f1 | sort -u | wc -l; du -k holes | cut -f1; chmod 700 closed; chmod 600 closed/in/f; cat closed/in/f
"""
FILL = """
def fill(name, megabytes):
    with open(name, "wb") as file:
        for i in range(megabytes): file.write(bytes(1 << 20))
"""
BOTTOM = """
python3 -c "
import os
os.chdir('deep')
for i in range(600): os.chdir('n' * 20)
print(open('bottom').read())"
"""


@pytest.fixture
def post(ringfort, public, who, request, monkeypatch):
    monkeypatch.setenv("RF_POST_DISK", "1")  # layers in a tmpfs would count as memory
    folder = public / f"quota-{abs(hash(request.node.name)) % 10**8}"
    with watchers.Post(ringfort, who, folder) as place:
        yield place
    shutil.rmtree(folder, ignore_errors=True)


def make_tree(top, who):
    (top / "old/deep").mkdir(parents=True)
    (top / "gone").mkdir()
    (top / "kept").write_text("kept\n")
    (top / "old/deep/file").write_text("deep\n")
    (top / "gone/was").write_text("was\n")
    if watchers.IS_ROOT and who == "user":
        subprocess.run(["chown", "-R", f"{watchers.USER_ID}:{watchers.USER_ID}", top], check=True)
    return top


@pytest.fixture
def tree(post, who):
    return make_tree(post.top / "tree", who)


def run_json(post, *args):
    done = post.run(*args)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def grades(result):
    limits = result["isolation"]["limits"]
    return limits["disk"], limits["inodes"]


def need_memory():
    """Files in memory have user attributes from Linux 6.6 on."""
    if tuple(int(part) for part in os.uname().release.split(".")[:2]) < (6, 6):
        pytest.skip("needs Linux 6.6")


def in_tree(post, tree, *options, script, keeps=False):
    words = ["exec", "--json", *options, "w"] if keeps else ["run", "--json", "--workspace", tree, *options]
    return run_json(post, *words, "--", "sh", "-c", script)


def test_a_full_workspace_gives_enospc_and_the_status_disk(post, tree):
    need_memory()
    result = in_tree(post, tree, *MEMORY, script="head -c 8M /dev/zero > big")
    assert (result["status"], result["limits_hit"], grades(result)) == ("disk", ["disk"], ("hard", "hard"))
    assert "No space left" in result["stderr"] and 4 << 20 <= result["usage"]["disk"] < 5 << 20
    assert not (tree / "big").exists()


def test_a_workspace_with_too_many_files_gives_enospc_and_the_status_disk(post, tree):
    need_memory()
    script = "i=0; while [ $i -lt 900 ]; do : > f$i || exit 9; i=$((i + 1)); done"
    result = in_tree(post, tree, *MEMORY, script=script)
    assert (result["status"], result["limits_hit"]) == ("disk", ["inodes"])
    added = len(result["workspace"]["changes"])
    assert 490 <= added <= 500, added


def test_parallel_writers_share_one_limit(post, tree):
    need_memory()
    script = "for i in 1 2 3 4 5 6 7 8; do (while head -c 1M /dev/zero >> f$i; do :; done) & done; wait; cat f* | wc -c"
    result = in_tree(post, tree, *MEMORY, script=script)
    assert result["limits_hit"] == ["disk"] and 3 << 20 < int(result["stdout"]) <= 4 << 20, result["stdout"]


def test_what_was_there_before_does_not_count(post, tree):
    (tree / "much").write_bytes(b"m" * (6 << 20))
    result = in_tree(post, tree, *MEMORY, script="cat much | wc -c; rm much; echo little > file")
    assert result["status"] == "ok" and result["stdout"] == f"{6 << 20}\n" and result["usage"]["disk"] < 1 << 20


def test_a_larger_limit_is_looked_after_on_the_disk_and_ends_the_run(post, tree):
    result = in_tree(post, tree, *DISK, "--memory", "128M", script="head -c 900M /dev/zero > big; sleep 20")
    assert (result["status"], result["limits_hit"], grades(result)) == ("disk", ["disk"], ("sampled", "sampled"))
    assert result["exit_code"] is None and result["usage"]["wall_ms"] < 15000
    result = in_tree(post, tree, *DISK, script="python3 -c '\nfor i in range(9000): open(f\"f{i}\", \"w\")'; sleep 20")
    assert (result["status"], result["limits_hit"]) == ("disk", ["inodes"])


# What a walk did not see of a layer on disk: 400 MB, or 6,000 files, at a limit of 300 MB and 5,000.
UNSEEN = {
    "deep": "for i in range(400): os.mkdir('d'); os.chdir('d')\nfill('f', 400)",
    "closed": "os.mkdir('closed'); fd = os.open('closed/f', 66); os.chmod('closed', 0)\npour(fd, 400)",
    "closed-below": "os.makedirs('a/b/c'); fd = os.open('a/b/c/f', 66); os.chmod('a/b', 0); os.chmod('a', 0o400)\npour(fd, 400)",
    "unlinked": "fd = os.open('f', 66); os.unlink('f')\npour(fd, 400)",
    "tmpfile": "fd = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600)\npour(fd, 400)",
    "tmpfiles": "fds = [os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600) for i in range(40)]\nfor fd in fds: pour(fd, 10)",
    "links": "os.makedirs('a/b'); fill('f', 1)\nfor i in range(200): os.link('f', f'a/b/{i}')\nos.chmod('a', 0)\n"
             "fd = os.open('f', 1)\npour(fd, 400)",
    "sent": "import socket\na, b = socket.socketpair()\nfor i in range(8):\n    fd = os.open('f', 66); os.unlink('f'); pour(fd, 50)\n"
            "    socket.send_fds(a, [b'x'], [fd]); os.close(fd)",
    "mapped": "import mmap\nkept = []\nfor i in range(8):\n    fd = os.open('f', 66); os.unlink('f'); pour(fd, 50)\n"
              "    kept.append(mmap.mmap(fd, 4096, prot=mmap.PROT_READ)); os.close(fd)",
    "mapped-by-a-false-name": "import mmap\nos.mkdir('x '); kept = []\nfor i in range(8):\n"
                              "    fd = os.open('x /memfd:f', 66); os.unlink('x /memfd:f'); pour(fd, 50)\n"
                              "    kept.append(mmap.mmap(fd, 4096, prot=mmap.PROT_READ)); os.close(fd)",
    "undumpable": "import ctypes; ctypes.CDLL(None).prctl(4, 0)\nfd = os.open('f', 66); os.unlink('f')\npour(fd, 400)",
    "thread": "import ctypes, threading\ndef run():\n    ctypes.CDLL(None).unshare(0x400)\n"
              "    pour(os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600), 400); time.sleep(20)\n"
              "threading.Thread(target=run, daemon=True).start()",
    "ignored-children": "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nfds = []\nfor i in range(400):\n"
                        "    fds.append(os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600))\n    if os.fork() == 0: pour(fds[-1], 1); os._exit(0)\n"
                        "    try: os.wait()\n    except ChildProcessError: pass",
    "closed-files": "os.makedirs('a/b'); dir = os.open('a/b', os.O_RDONLY); os.chmod('a', 0)\n"
                    "for i in range(6000): os.close(os.open(f'f{i}', 66, dir_fd=dir))",
    "deep-files": "for i in range(400): os.mkdir('d'); os.chdir('d')\nfor i in range(6000): os.close(os.open(f'f{i}', 66))",
}


@pytest.mark.parametrize("how", UNSEEN)
def test_nothing_of_a_layer_on_disk_is_hidden_from_who_looks(post, tree, how):
    pour = "def pour(fd, megabytes):\n    for i in range(megabytes): os.write(fd, bytes(1 << 20))\n"
    script = f"import os, time\n{FILL}\n{pour}\n{UNSEEN[how]}\ntime.sleep(20)"
    result = run_json(post, "run", "--json", "--workspace", tree, *DISK, "--memory", "256M", "--workdir", str(tree), "--",
                      "/usr/bin/python3", "-c", script)
    hit = "inodes" if how.endswith("files") and how != "tmpfiles" else "disk"
    assert (result["status"], result["limits_hit"], grades(result)[0]) == ("disk", [hit], "sampled"), result


# Keeps each file by a rule of its own, and neither by a name nor by a descriptor.
HOLDER = r"""
import ctypes, os, struct, time
call, held = ctypes.CDLL(None, use_errno=True).syscall, 0
rules = call(444, struct.pack("Q", 4), ctypes.c_size_t(8), 0)
for i in range(400):
    fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(fd, bytes(1 << 20))
    held += call(445, rules, 1, struct.pack("=Qi", 4, fd), 0) == 0
    os.close(fd)
time.sleep(0.3)
print(held)
"""


def test_no_rule_keeps_the_files_of_a_layer_on_disk(post, tree):
    words = ["--memory", "256M", "--workdir", str(tree), "--", "/usr/bin/python3", "-c", HOLDER]
    result = run_json(post, "run", "--json", "--workspace", tree, *DISK, *words)
    assert (result["status"], result["stdout"]) == ("ok", "0\n"), result


HONEST = {
    "again": "for i in range(5):\n    fd = os.open('f', 66 | os.O_TRUNC); pour(fd, 100); os.fsync(fd); os.close(fd)",
    "deleted": "for i in range(5):\n    fd = os.open('f', 66); pour(fd, 100); os.fsync(fd); os.close(fd); os.unlink('f')",
    "links": "fill('f', 100)\nfor i in range(50): os.link('f', f'l{i}')",
    "closed": "os.makedirs('a/b'); fill('a/b/f', 100); os.chmod('a/b', 0); os.chmod('a', 0)",
    "moved": "os.makedirs('a/b/c/d/e/f/g')\nfor i in range(3000):\n    os.rename('a/b/c', 'x'); os.rename('x', 'a/b/c')",
    "library": "import mmap\nfd = os.open('/tmp/f', 66); os.ftruncate(fd, 4096); m = mmap.mmap(fd, 4096); os.unlink('/tmp/f'); os.close(fd)\n"
               "for i in range(5):\n    fd = os.open('f', 66); pour(fd, 100); os.fsync(fd); os.close(fd); os.unlink('f')",
}


@pytest.mark.parametrize("how", HONEST)
def test_what_is_within_the_limit_of_a_layer_on_disk_is_let_be(post, tree, how):
    pour = "def pour(fd, megabytes):\n    for i in range(megabytes): os.write(fd, bytes(1 << 20))\n"
    script = f"import os, time\n{FILL}\n{pour}\n{HONEST[how]}\ntime.sleep(0.3); print('well')"
    result = run_json(post, "run", "--json", "--workspace", tree, *DISK, "--memory", "256M", "--workdir", str(tree), "--",
                      "/usr/bin/python3", "-c", script)
    assert (result["status"], result["stdout"]) == ("ok", "well\n"), result


def test_a_large_limit_leaves_the_boxs_memory_alone(post, tree):
    result = in_tree(post, tree, "--disk", "1G", "--memory", "64M", script="head -c 150M /dev/zero > big; du -m big")
    assert result["status"] == "ok" and grades(result)[0] == "sampled", result


def test_what_is_written_to_the_host_itself_is_looked_after(post, tree):
    words = ["run", "--json", "--write", tree, "--disk", "20M", "--", "sh", "-c"]
    result = run_json(post, *words, f"head -c 1M /dev/zero > {tree}/some")
    assert (result["status"], grades(result)) == ("ok", ("sampled", "none"))
    result = run_json(post, *words, f"cd {tree}; while :; do head -c 1M /dev/zero >> f; done")
    assert (result["status"], result["limits_hit"]) == ("disk", ["disk"]), result
    assert (tree / "f").stat().st_size < 2 << 30


# Claims 1,000 MB without writing it, by each way there is; then writes what glibc would in place of it.
CLAIM = r"""
import ctypes, fcntl, os, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
os.chdir(sys.argv[1])
fd = os.open("claimed", os.O_RDWR | os.O_CREAT)
ways = {"fallocate": lambda: libc.fallocate(fd, 0, ctypes.c_long(0), ctypes.c_long(1000 << 20)),
        "keep-size": lambda: libc.fallocate(fd, 1, ctypes.c_long(0), ctypes.c_long(1000 << 20)),
        "ioctl": lambda: fcntl.ioctl(fd, 0x4030582a, struct.pack("hhqqiI4i", 0, 0, 0, 1000 << 20, 0, 0, 0, 0, 0, 0))}
for name, way in ways.items():
    try:
        print(name, "done" if way() == 0 else os.strerror(ctypes.get_errno()), flush=True)
    except OSError as error:
        print(name, error.strerror, flush=True)
print(os.fstat(fd).st_blocks, flush=True)
os.posix_fallocate(fd, 0, 4 << 20)
print(os.fstat(fd).st_size, flush=True)
time.sleep(0.3)
os.posix_fallocate(fd, 0, 1000 << 20)
time.sleep(20)
"""


@pytest.mark.parametrize("how", ["--write", "--workspace"])
def test_space_that_is_claimed_and_not_written_is_not_given(post, tree, how):
    limit = ["--disk", "20M"] if how == "--write" else [*DISK, "--memory", "128M"]
    result = run_json(post, "run", "--json", how, tree, *limit, "--", "python3", "-c", CLAIM, tree)
    said = result["stdout"].splitlines()
    # fallocate, and the ioctl that does the same, which no box has.
    assert [line.split(" ", 1)[1] for line in said[:3]] == ["Operation not supported"] * 2 + ["Inappropriate ioctl for device"], result
    assert said[3] == "0" and said[4] == str(4 << 20), said  # which glibc wrote in its place, and that counts
    assert (result["status"], result["limits_hit"]) == ("disk", ["disk"]), result
    assert not (tree / "claimed").exists() or (tree / "claimed").stat().st_blocks * 512 < 900 << 20


# What writes 300 MB, and can't be looked at, or is gone when somebody looks.
HIDDEN = {
    "undumpable": "import ctypes; ctypes.CDLL(None).prctl(4, 0)\nfd = os.open('f', 66); os.unlink('f')\n"
                  "for i in range(300): os.write(fd, bytes(1 << 20))",
    "undumpable-children": "import ctypes; ctypes.CDLL(None).prctl(4, 0)\nfor i in range(30):\n"
                           "    if os.fork() == 0: fill(f'f{i}', 10); os._exit(0)\n    os.wait()",
    "unreadable-program": "import shutil; shutil.copy('/usr/bin/dd', '/tmp/dd'); os.chmod('/tmp/dd', 0o111)\n"
                          "os.system('/tmp/dd if=/dev/zero of=f bs=1M count=300 2>/dev/null')",
    "unwaited": "for i in range(30):\n    if os.fork() == 0: fill(f'f{i}', 10); os._exit(0)\n    time.sleep(0.1)",
    "without-a-first-thread": "import ctypes, threading\n"
                              "threading.Thread(target=lambda: (time.sleep(0.1), fill('f', 300), time.sleep(20))).start()\n"
                              "ctypes.CDLL(None).syscall({'x86_64': 60, 'aarch64': 93}[os.uname().machine], 0)",
    "orphans": "for i in range(60):\n    child = os.fork()\n    if child == 0:\n"
               "        if os.fork() == 0: fill(f'f{i}', 5); open(f'done{i}', 'w'); os._exit(0)\n        os._exit(0)\n"
               "    os.waitpid(child, 0)\n    while not os.path.exists(f'done{i}'): time.sleep(0.002)",
}


@pytest.mark.parametrize("how", HIDDEN)
def test_a_writer_that_cannot_be_looked_at_is_over_the_limit(post, tree, how):
    script = f"import os, time\nos.chdir('{tree}')\n{FILL}\n{HIDDEN[how]}\ntime.sleep(20)"
    result = run_json(post, "run", "--json", "--write", tree, "--disk", "20M", "--", "python3", "-c", script)
    assert (result["status"], result["limits_hit"]) == ("disk", ["disk"]), result
    assert sum(file.stat().st_size for file in tree.iterdir() if file.is_file()) < 200 << 20


def test_one_that_cannot_be_looked_at_and_sleeps_is_let_be(post, tree):
    """Agents for keys forbid to be looked at, and write nothing."""
    script = "#include <sys/prctl.h>\n#include <unistd.h>\nint main(void) { return prctl(4, 0, 0, 0, 0) || sleep(1); }"
    build = f"cd /tmp && echo '{script}' > m.c && gcc -o m m.c && cd {tree} && for i in 1 2 3 4; do /tmp/m & done; wait; echo well"
    if not shutil.which("gcc"):
        pytest.skip("no gcc")
    result = run_json(post, "run", "--json", "--write", tree, "--disk", "100M", "--", "sh", "-c", build)
    assert (result["status"], result["stdout"]) == ("ok", "well\n"), result


def test_a_build_by_many_processes_is_within_the_limit(post, tree):
    """Whoever ends is closed to us for a moment: that is no reason to take it for a writer."""
    if not shutil.which("gcc"):
        pytest.skip("no gcc")
    build = (f"cd {tree}; for i in $(seq 40); do printf '#include <stdio.h>\\nint f%s(void) {{ return puts(\"\"); }}' $i > m$i.c; done; "
             "seq 40 | xargs -P8 -I{} gcc -O2 -c m{}.c && ls *.o | wc -l")
    result = run_json(post, "run", "--json", "--write", tree, "--disk", "20M", "--", "sh", "-c", build)
    assert (result["status"], result["stdout"]) == ("ok", "40\n"), result


@contextlib.contextmanager
def tmpfs(post, where):
    """One that is mounted there, for as long as it takes."""
    if not watchers.IS_ROOT:
        pytest.skip("needs root, to mount")
    where.mkdir()
    before = post.before if post.is_room else []
    subprocess.run([*before, "mount", "-t", "tmpfs", "-o", "size=400M,mode=777", "none", where], check=True)
    try:
        yield where
    finally:
        subprocess.run([*before, "umount", where], check=True)


@pytest.fixture
def in_memory(post):
    with tmpfs(post, post.top / "memory") as where:
        yield where


def test_a_tree_in_memory_is_graded_none_and_said(post, tree, in_memory):
    """The kernel counts what is written to disks, and a tmpfs has none."""
    words = ["run", "--json", "--write", in_memory, "--disk", "20M", "--", "sh", "-c", f"head -c 30M /dev/zero > {in_memory}/f"]
    result = run_json(post, *words)
    assert (result["status"], grades(result)) == ("ok", ("none", "none")), result
    assert f"limits.disk does not hold in {in_memory} (tmpfs): nobody counts what is written there" in result["warnings"]
    result = run_json(post, "run", "--json", "--write", in_memory, "--require", "hard", "--", "true")
    assert result["status"] == "denied" and result["error"], result


def test_a_disk_beside_a_tree_in_memory_is_looked_after_all_the_same(post, tree, in_memory):
    result = run_json(post, "run", "--json", "--write", in_memory, "--write", tree, "--disk", "20M", "--", "sh", "-c",
                      f"head -c 300M /dev/zero > {tree}/f; sleep 20")
    assert (result["status"], result["limits_hit"], grades(result)[0]) == ("disk", ["disk"], "none"), result


def test_a_tmpfs_within_a_writable_tree_is_found(post, tree):
    with tmpfs(post, tree / "a b"):
        result = run_json(post, "run", "--json", "--write", tree, "--", "true")
    assert grades(result)[0] == "none" and f"{tree}/a b (tmpfs)" in str(result["warnings"]), result
    assert grades(run_json(post, "run", "--json", "--write", tree, "--", "true"))[0] == "sampled"


@pytest.mark.parametrize("options, hint", [
    (["--write"], "--workspace in place of --write"), ([*DISK, "--workspace"], "half of limits.memory")])
def test_limits_that_must_be_hard_refuse_what_is_only_looked_at(post, tree, options, hint):
    (post.top / "hard.yaml").write_text("version: 1\nlimits: { require: hard }\n")
    (post.top / "hard.yaml").chmod(0o644)
    result = run_json(post, "run", "--json", "--policy", post.top / "hard.yaml", *options, tree, "--", "true")
    assert result["status"] == "denied"
    if "cgroup" not in result["error"]["remedy"]:  # an ordinary user lacks others first
        assert "limits.disk" in result["error"]["message"] and hint in result["error"]["remedy"], result["error"]


def test_what_a_run_leaves_in_memory_is_kept_as_on_the_disk(post, tree):
    need_memory()
    seen = {}
    for name, room in ("memory", ["--disk", "8M", "--inodes", "2000"]), ("disk", DISK):
        assert post.run("create", "--name", "w", "--workspace", tree).returncode == 0
        result = in_tree(post, tree, *room, script=ODD + DEEP, keeps=True)
        assert result["status"] == "ok" and grades(result)[0] == ("hard" if name == "memory" else "sampled"), result
        listed = {row["path"]: row["change"] for row in result["workspace"]["changes"]}
        look = in_tree(post, tree, *room, script=LOOK + BOTTOM, keeps=True)
        assert look["status"] == "ok", look
        assert post.run("rm", "w").returncode == 0
        seen[name] = listed, [line for line in look["stdout"].splitlines()]
    paths = [line.split()[0] for line in seen["disk"][1]]
    fresh = {"", "holes", "link", "pipe", "one", "closed", "closed/in", "a/b", "a/other", "a/b/third", "kept", "kept/in", "gone",
             "gone/again", "old", "old/deep", "closed/in/f"}

    def without_times(lines):
        return [line if line.split(" ")[0] not in fresh else line.rsplit(" ", 1)[0] for line in lines]

    assert paths and without_times(seen["memory"][1]) == without_times(seen["disk"][1])
    assert seen["memory"][0] == seen["disk"][0]
    assert "reached" in seen["memory"][1] and "exact f 644 1 1  981173106.1234567890" in "\n".join(seen["memory"][1])


def test_a_launcher_that_is_killed_leaves_nothing_of_what_was_in_memory(post, tree):
    post.run("create", "--name", "w", "--workspace", tree)
    run = post.start("exec", "w", "--", "sh", "-c", "echo half > half; echo ready; sleep 30")
    assert run.stdout.readline() == b"ready\n"
    run.send_signal(signal.SIGKILL) if not post.is_room else os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    assert eventually(lambda: "half" not in post.run("exec", "w", "--", "ls").stdout)
    assert json.loads(post.run("log", "-w", "w", "--json").stdout)["points"] == []
    post.run("gc")
    assert post.run("rm", "w").returncode == 0


def test_a_living_program_in_memory_can_be_kept(post, tree):
    post.run("create", "--name", "w", "--workspace", tree)
    run = post.start("exec", "w", "--", "sh", "-c", "echo now > now; rm kept; echo ready; sleep 1.5; echo later > later")
    assert run.stdout.readline() == b"ready\n"
    done = post.run("checkpoint", "--live", "-w", "w", "point")
    assert done.returncode == 0, done.stderr
    assert run.wait() == 0, run.stderr.read()
    assert sorted(post.run("file", "ls", "-w", "w", "--at", "point").stdout.split()) == ["gone/", "now", "old/"]
    assert sorted(post.run("file", "ls", "-w", "w").stdout.split()) == ["gone/", "later", "now", "old/"]


# ------------------------------------------------------------- file systems

@contextlib.contextmanager
def image(post, kind, options=(), make=()):
    """State and tree on a file system of their own; gives the tree's folder."""
    folder, file = post.top / "image", post.top / "image.raw"
    with open(file, "wb") as out:
        out.truncate(400 << 20)
    enter = post.before if post.is_room else []
    folder.mkdir(mode=0o755)
    if kind == "tmpfs":
        mount = ["mount", "-t", "tmpfs", "-o", "mode=755", "none", folder]
    else:
        quiet = ["-q"] if kind != "btrfs" else ["-q", "-f"]
        subprocess.run([shutil.which(f"mkfs.{kind}", path="/usr/sbin:/sbin"), *quiet, *make, file], check=True)
        mount = ["mount", "-o", ",".join(["loop", *options]), file, folder]
    done = subprocess.run([*enter, *mount], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no {kind} here: {done.stderr}")
    try:
        inside = pathlib.Path(f"/proc/self/fd/{post.root}/{folder}") if post.is_room else folder
        (inside / "state").mkdir()
        (inside / "tree").mkdir()
        make_tree(inside / "tree", post.who)
        if post.is_room:
            subprocess.run([*enter, "mount", "--bind", folder / "state", "/var/lib"], check=True)
        else:
            post.env["XDG_STATE_HOME"] = str(folder / "state")
            os.chown(folder / "state", watchers.USER_ID, watchers.USER_ID)
        yield folder / "tree"
    finally:
        subprocess.run([*enter, "umount", "-l", folder], check=True)
        file.unlink()


def need_image(kind):
    if not watchers.IS_ROOT:
        pytest.skip("loop devices are root's")
    if kind != "tmpfs" and not shutil.which(f"mkfs.{kind}", path="/usr/sbin:/sbin"):
        pytest.skip(f"needs mkfs.{kind}")


@pytest.mark.parametrize("room", [["--disk", "8M", "--inodes", "2000"], DISK], ids=["memory", "disk"])
@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs"])
def test_a_workspace_lives_on_every_file_system(post, kind, room):
    need_image(kind)
    if kind == "tmpfs":
        need_memory()
    with image(post, kind) as tree:
        assert post.run("create", "--name", "w", "--workspace", tree).returncode == 0
        result = in_tree(post, tree, *room, script=ODD, keeps=True)
        assert result["status"] == "ok", result
        look = in_tree(post, tree, *room, script=LOOK, keeps=True)
        assert look["status"] == "ok", look
        assert post.run("checkpoint", "-w", "w", "done").returncode == 0
        done = post.run("apply", "-w", "w", "--only", "one", "--only", "kept", "--only", "gone")
        assert done.returncode == 0, done.stderr
        assert post.run("undo", "-w", "w").returncode == 0
        inside = pathlib.Path(f"/proc/self/fd/{post.root}/{tree}") if post.is_room else tree
        assert time.sleep(0) is None and (inside / "kept").is_file()
        done = post.run("rm", "w")
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind, options, make", [("ext4", ["prjquota"], ["-O", "project,quota", "-E", "quotatype=prjquota"]),
                                                 ("xfs", ["prjquota"], [])])
def test_a_project_quota_keeps_large_limits_hard(post, kind, options, make, as_who):
    need_image(kind)
    if as_who != "root":
        pytest.skip("only root can set one")
    with image(post, kind, options, make) as tree:
        result = in_tree(post, tree, "--disk", "40M", "--memory", "64M", script="head -c 50M /dev/zero > big")
        assert (result["status"], result["limits_hit"], grades(result)) == ("disk", ["disk"], ("hard", "hard")), result
        assert 39 << 20 < result["usage"]["disk"] <= 41 << 20 and result["exit_code"] == 1
        result = in_tree(post, tree, *DISK, "--inodes", "100",
                         script="i=0; while [ $i -lt 200 ]; do : > f$i || exit 9; i=$((i + 1)); done")
        assert (result["status"], result["limits_hit"]) == ("disk", ["inodes"]), result
        post.run("create", "--name", "w", "--workspace", tree)
        for i in range(3):
            result = in_tree(post, tree, "--disk", "300M", script=f"head -c 5M /dev/zero > f{i}", keeps=True)
            assert result["status"] == "ok" and grades(result) == ("hard", "hard"), result
        done = post.run("gc")
        assert done.returncode == 0, done.stderr
        assert in_tree(post, tree, "--disk", "300M", script="cat f0 f1 f2 | wc -c", keeps=True)["stdout"] == f"{15 << 20}\n"


def test_what_lies_too_deep_to_be_named_is_told_and_the_rest_applied(post, tree):
    post.run("create", "--name", "w", "--workspace", tree)
    result = in_tree(post, tree, script="echo new > new; mkdir deep\n" + DEEP, keeps=True)
    assert result["status"] == "ok" and not [text for text in result["warnings"] if "deep" in text], result["warnings"]
    rows = json.loads(post.run("diff", "-w", "w", "--json").stdout)
    ends = [row for row in rows if row["protected"]]
    assert len(ends) == 1 and ends[0]["protected"] == "deeper than a path can name" and len(ends[0]["path"]) > 3500
    done = post.run("apply", "-w", "w", "--only", "new")
    assert done.returncode == 0 and (tree / "new").exists(), done.stderr


def test_a_policy_that_is_wrong_leaves_no_trace(post, tree):
    state = pathlib.Path(f"/proc/self/fd/{post.root}/var/lib/ringfort") if post.is_room else post.top / "state/ringfort"
    done = post.run("run", "--workspace", tree, "--memory", "17", "--", "true")
    assert done.returncode != 0 and not state.exists(), done.stderr
