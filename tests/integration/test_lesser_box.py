"""The lesser box: what works in it, what is refused, and that nothing of it is left.

Namespaces are forbidden by tests/lesser/forbid.c, in each of the ways that machines have.
"""
import glob
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

from helpers import children_of, eventually, processes_with

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "lesser/forbid.c"
WAYS = ["eperm", "enospc", "docker", "mounts"]


@pytest.fixture(scope="session")
def forbid(public):
    if not shutil.which("gcc"):
        pytest.skip("no gcc on this machine")
    path = public / "forbid-namespaces"
    subprocess.run(["gcc", "-static", "-O1", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE",
                    str(SOURCE), "-o", str(path)], check=True)
    return str(path)


@pytest.fixture
def words(forbid, command):
    """The words of a run where namespaces are forbidden in some way."""
    def words_of(*args, way="eperm"):
        return [forbid, way, *command("run", *args)]

    return words_of


@pytest.fixture
def run(words, environment, workdir):
    def run_it(*args, way="eperm", env=None, timeout=60):
        return subprocess.run(words(*args, way=way), cwd=workdir, capture_output=True, text=True,
                              env={**environment, **(env or {})}, timeout=timeout,
                              stdin=subprocess.DEVNULL, check=False)

    return run_it


@pytest.fixture
def box(run, workdir):
    """A run in a lesser box that may write to the working directory; gives the result."""
    def run_it(*args, options=(), **more):
        done = run("--weaker", "allow", "--json", "--write", str(workdir), *options, "--", *args,
                   **more)
        return json.loads(done.stdout)

    return run_it


def scratch_of(box_id):
    return glob.glob(f"/tmp/ringfort-{box_id}*")


@pytest.mark.parametrize("way", WAYS)
def test_without_leave_it_is_refused_with_the_cause(as_who, run, way):
    done = run("--", "true", way=way)
    assert done.returncode == 126, done
    assert "does not let a box have namespaces" in done.stderr
    assert "--weaker allow" in done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_with_leave_the_result_says_what_it_is(as_who, box, way):
    result = box("sh", "-c", "echo hello", way=way)
    assert result["status"] == "ok" and result["stdout"] == "hello\n", result
    isolation = result["isolation"]
    assert isolation["got"] == "landlock"
    for promise in ("namespaces of its own", "a private /tmp", "a private /etc", "a private /proc",
                    "hidden names", "limits on disk"):
        assert any(words.startswith(promise) for words in isolation["missing"]), promise
    assert isolation["limits"]["disk"] == isolation["limits"]["inodes"] == "none"
    for fact in ("descriptors", "identity", "capabilities", "no_new_privs", "landlock", "seccomp",
                 "session", "limits"):
        assert isolation["proof"][fact] is True
    assert "namespaces" not in isolation["proof"]
    assert not scratch_of(result["id"])


@pytest.mark.parametrize("way", WAYS)
def test_a_network_through_the_gateway_is_refused_whatever_the_leave(as_who, run, way):
    """Without a network namespace nothing leads to a gateway: the host's network is not given in its place."""
    for leave in ((), ("--weaker", "allow")):
        done = run(*leave, "--net", "api.example", "--", "curl", "-sm", "3", "http://api.example/", way=way)
        assert done.returncode in (125, 126) and done.stdout == "", done
        assert "namespaces" in done.stderr and ("--weaker allow" in done.stderr or "--net none" in done.stderr), done
    done = run("--weaker", "allow", "--net", "api.example", "--", "true", way=way)
    assert "a network through the gateway needs namespaces" in done.stderr, done


def test_where_namespaces_can_be_had_leave_changes_nothing(as_who, run_json):
    result = run_json("--weaker", "allow", "--", "true")
    assert result["isolation"]["got"] == "process"


@pytest.mark.parametrize("mistake", ["missing", "fifo", "profile", "link"])
def test_a_mistake_in_a_policy_does_not_lead_to_a_lesser_box(as_who, run_json, workdir, mistake):
    os.mkfifo(workdir / "fifo")
    (workdir / "profile.json").write_text("{}")
    (workdir / "link").symlink_to("/usr")
    missing = "/root/.ringfort-not-there" if as_who == "root" else "/root/x"
    options = {"missing": ("--read", missing), "fifo": ("--read", "fifo"),
               "profile": ("--seccomp", "profile.json"), "link": ("--read", "link")}
    result = run_json("--weaker", "allow", *options[mistake], "--", "true")
    assert result["status"] == "error"
    assert result["isolation"]["got"] == "none" and not result["isolation"]["missing"], result


PROGRAMS = {
    "python3": "import subprocess, tempfile, shutil, os; tempfile.mkstemp(); open('a', 'w').close(); "
               "shutil.copy2('a', 'b'); os.chmod('b', 0o700); "
               "print(subprocess.check_output(['echo', 'fine']).decode())",
    "node": "require('fs').writeFileSync('n', '1'); "
            "console.log(require('child_process').execSync('echo fine').toString())",
    "bash": "cat <(echo fine); touch t; chmod +x t; cp -p t u; [ -x u ]",
    "perl": "print 'fine'",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_languages_run(program, as_who, box, need):
    need(program)
    result = box(program, "-c" if program in ("python3", "bash") else "-e", PROGRAMS[program])
    assert result["status"] == "ok" and "fine" in result["stdout"], result


def test_git_commits(as_who, box, need):
    need("git")
    result = box("sh", "-ec", "git init -q r; cd r; git config user.email a@b; git config user.name n;"
                 "echo x > f; git add f; git commit -qm fine; git log --format=%s")
    assert result["stdout"] == "fine\n", result


def test_gcc_makes_a_program_that_runs(as_who, box, need):
    need("gcc")
    result = box("sh", "-ec", "echo 'int puts(const char *); int main(void) { puts(\"fine\"); }' > h.c;"
                 "gcc h.c -o h; ./h")
    assert result["stdout"] == "fine\n", result


def test_tar_keeps_modes_and_times(as_who, box, need, workdir):
    need("tar")
    result = box("sh", "-ec", "echo x > f; chmod 751 f; touch -d 2001-02-03 f; tar cf f.tar f; rm f;"
                 "tar xof f.tar; stat -c '%a %Y' f")
    assert result["status"] == "ok", result
    assert result["stdout"] == f"751 {int((workdir / 'f').stat().st_mtime)}\n"
    assert (workdir / "f").stat().st_mtime < 1e9


# What Docker gives to root.
OF_A_CONTAINER = ("-all,+chown,+dac_override,+fsetid,+fowner,+mknod,+net_raw,+setgid,+setuid,+setfcap,"
                  "+setpcap,+net_bind_service,+sys_chroot,+kill,+audit_write")


def test_modes_and_times_are_changed_in_a_container(as_who, words, environment, workdir):
    if as_who != "root":
        pytest.skip("an ordinary user has no capabilities anyway")
    script = "cd; touch -d @7 f; chmod 751 f; ln -s f g; touch -h -d @8 g; stat -c '%a %Y' f; stat -c %Y g"
    done = subprocess.run(["setpriv", "--bounding-set", OF_A_CONTAINER, "--",
                           *words("--weaker", "allow", "--", "sh", "-ec", script, way="docker")],
                          cwd=workdir, env=environment, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60, check=False)
    assert done.stdout == "751 7\n8\n", done


def test_home_and_temporary_files_are_a_folder_that_goes(as_who, box):
    result = box("sh", "-ec", "echo $HOME $TMPDIR; mkdir -p ~/a/b; touch ~/a/b/c; chmod 0 ~/a/b; "
                 "mkdir -m 0 ~/closed; ln -s /etc ~/link; cd ~; i=0; "
                 "while [ $i -lt 80 ]; do mkdir d; cd d; i=$((i + 1)); done")
    assert result["status"] == "ok", result
    home, tmp = result["stdout"].split()
    assert home == f"/tmp/ringfort-{result['id']}/home"
    assert tmp == f"/tmp/ringfort-{result['id']}/tmp"
    assert not scratch_of(result["id"])
    assert os.path.exists("/etc/passwd")


def test_a_deep_tree_that_nobody_may_write_goes_too(as_who, box):
    result = box("sh", "-ec", "cd ~; i=0; while [ $i -lt 60 ]; do mkdir d; cd d; i=$((i + 1)); done; touch f; "
                 "while [ $i -gt 0 ]; do chmod 500 .; cd ..; i=$((i - 1)); done")
    assert result["status"] == "ok", result
    assert not scratch_of(result["id"])


@pytest.mark.parametrize("options, says", [
    (["--read", "/usr/share:/mnt/share"], "own path"),
    (["--unix", "on"], "unix"),
    (["--require", "hard"], "hard"),
])
def test_what_it_cannot_give_is_refused(as_who, box, options, says, call):
    if options[0] not in call("run", "--help").out.decode():
        pytest.skip(f"{options[0]} is spelled otherwise")
    result = box("true", options=options)
    assert result["status"] == "denied", result
    assert says in result["error"]["message"] + (result["error"]["remedy"] or "")


def test_a_read_only_directory_in_a_writable_one_is_refused(as_who, box, workdir):
    inner = workdir / "inner"
    inner.mkdir()
    if as_who == "user":
        os.chown(inner, *(2 * [os.stat(workdir).st_uid]))
    result = box("true", options=["--read", str(inner)])
    assert result["status"] == "denied", result
    assert "read-only in" in result["error"]["message"]


def test_limits_hold(as_who, box):
    began = time.monotonic()
    assert box("sleep", "60", options=["--time", "300ms"])["status"] == "timeout"
    assert time.monotonic() - began < 20
    assert box("python3", "-c", "x = b'x' * (1 << 30)",
               options=["--memory", "100M"])["status"] == "memory"
    assert box("head", "-c", "3000000", "/dev/zero",
               options=["--output", "1M"])["status"] == "output"


HIDING = """
import ctypes, os, time
if os.fork() == 0:
    beside = bytearray(b'x') * (1 << 23)
    time.sleep(30)
    os._exit(0)
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
held = bytearray(b'x') * (300 << 20)
time.sleep(30)
"""


def test_memory_is_counted_of_a_process_that_forbids_to_be_looked_at(as_who, box):
    assert box("python3", "-c", HIDING,
               options=["--memory", "100M", "--time", "20s"])["status"] == "memory"


LAST_OF_MANY = """
import os, signal, time
for _ in range(1300):
    if os.fork() == 0:
        signal.pause()
if os.fork() == 0:
    held = bytearray(b'x') * (1100 << 20)
    time.sleep(1)
    print('held', flush=True)
    os._exit(0)
os.wait()
"""


def test_memory_is_counted_of_the_last_of_many_children(as_who, box):
    result = box("python3", "-c", LAST_OF_MANY,
                 options=["--memory", "1G", "--pids", "2000", "--time", "40s"])
    assert result["limits_hit"] == ["memory"] and result["stdout"] == "", result


def test_what_a_killed_launcher_left_goes_with_the_next_start_without_records_too(
        as_who, words, environment, workdir):
    if as_who == "root":
        pytest.skip("root's boxes have records always")
    env = {**environment, "XDG_RUNTIME_DIR": "/nonexistent"}
    left = pathlib.Path(f"/tmp/ringfort-{os.urandom(8).hex()}")
    (left / "home").mkdir(parents=True)
    for path in (left, left / "home"):
        os.chown(path, *(2 * [os.stat(workdir).st_uid]))
    with subprocess.Popen(words("--weaker", "allow", "--", "sh", "-c", "echo $HOME; sleep 30"), cwd=workdir,
                          env=env, stdout=subprocess.PIPE, text=True) as alive:
        home = alive.stdout.readline().strip()
        time.sleep(10.5)  # a folder that is younger may be one in the making
        done = subprocess.run(words("--weaker", "allow", "--", "true"), cwd=workdir, env=env,
                              capture_output=True, check=False)
        assert done.returncode == 0 and not left.exists(), done
        assert alive.poll() is None and os.path.isdir(home)
        alive.terminate()


def test_no_name_of_the_hosts_sockets_is_taken(as_who, box):
    result = box("python3", "-c", "import socket\nsocket.socketpair()[0].bind('\\0ringfort-test')")
    assert "Operation not permitted" in result["stderr"], result


KIN = ("(setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 1; done' {0} &); "
       "(sleep 1000 {0} 2>/dev/null; sh -c 'kill -STOP $$' {0} &); "
       "i=0; while [ $i -lt 8 ]; do (setsid sh -c 'while :; do sleep 1; done' {0} &); "
       "i=$((i + 1)); done; ")


def test_whatever_it_started_dies_with_it(as_who, box):
    token = f"rf-lesser-{os.urandom(6).hex()}"
    result = box("sh", "-c", KIN.format(token) + "sleep 0.2; echo over")
    assert result["stdout"] == "over\n", result
    assert not processes_with(token)
    assert not scratch_of(result["id"])


def test_a_fork_bomb_dies_with_it(as_who, box):
    token = f"rf-lesser-{os.urandom(6).hex()}"
    bomb = ("import os, sys\n"
            "while True:\n"
            "    try: os.fork()\n"
            "    except OSError: pass\n")
    result = box("python3", "-c", bomb, token, options=["--time", "500ms", "--pids", "40"])
    assert result["status"] in ("timeout", "pids"), result
    assert not processes_with(token)


def test_a_launcher_killed_before_it_heard_of_the_start_leaves_nothing(as_who, words, environment,
                                                                       workdir):
    """What pid 1 reported lies unread in the socket, and the end of it is an error there."""
    for _ in range(6):  # whether it is stopped in time is a matter of luck
        token = f"rf-lesser-{os.urandom(6).hex()}"
        process = subprocess.Popen(words("--weaker", "allow", "--", "sh", "-c",
                                         f"sleep 1000 # {token}"),
                                   cwd=workdir, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert eventually(lambda: any(map(children_of, children_of(process.pid))), step=0)
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.05)
        process.kill()
        process.wait()
        assert eventually(lambda: not processes_with(token)), processes_with(token)


@pytest.mark.parametrize("after_s", [0.01, 0.3])
def test_a_killed_launcher_leaves_nothing(as_who, words, environment, workdir, after_s, run, runtime):
    token = f"rf-lesser-{os.urandom(6).hex()}"
    before = set(glob.glob("/tmp/ringfort-*"))
    process = subprocess.Popen(words("--weaker", "allow", "--write", str(workdir), "--", "sh", "-c",
                                     KIN.format(token) + "sleep 1000"),
                               cwd=workdir, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if after_s > 0.1:
        assert eventually(lambda: len(processes_with(token)) > 3)
    time.sleep(after_s)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert eventually(lambda: not processes_with(token)), processes_with(token)
    # A run too short for a janitor is cleaned up after by the next start.
    run("--weaker", "allow", "--", "true")

    def new():
        return [path for path in set(glob.glob("/tmp/ringfort-*")) - before
                if os.stat(path).st_uid == os.stat(workdir).st_uid]
    assert eventually(lambda: not new()), new()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_without_a_scope_nobody_but_the_boxs_own_is_killed(forbid, ringfort, public):
    """Pid 1 must not take "can't signal my parent" for a scope: that may be the host's pid 1."""
    other = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "--"]
    token = f"rf-lesser-{os.urandom(6).hex()}"
    bystander = subprocess.Popen([*other, "sleep", "100"])
    process = subprocess.Popen(
        [*other, forbid, "eperm", f"{ringfort}-unwalled", "run", "--weaker", "allow", "--", "sh", "-c",
         f": {token}; sleep 1000"], cwd=public, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "RINGFORT_TEST_WITHOUT": "landlock",
             "RINGFORT_TEST_UNPROVEN": "1"})
    try:
        # The launcher, pid 1 and the program.
        assert eventually(lambda: len(processes_with(token)) > 2), "the box did not start"
        time.sleep(0.3)
        process.kill()
        process.wait()
        assert eventually(lambda: not processes_with(token)), processes_with(token)
        time.sleep(0.3)
        assert bystander.poll() is None, "a process of the user's was killed with the box"
    finally:
        process.kill()
        bystander.kill()
        process.wait()
        bystander.wait()


def test_a_child_that_the_caller_had_before_is_left_alone(as_who, words, environment, workdir):
    script = 'sleep 30 >/dev/null & echo $!; exec "$@"'
    done = subprocess.run(["sh", "-c", script, "sh", *words("--weaker", "allow", "--", "true")],
                          cwd=workdir, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    pid = int(done.stdout.split()[0])
    os.kill(pid, signal.SIGKILL)  # raises if it is gone


@pytest.mark.parametrize("way", WAYS)
def test_doctor_says_that_a_lesser_box_can_be_had(as_who, forbid, command, environment, workdir, way):
    done = subprocess.run([forbid, way, *command("doctor", "--json")], cwd=workdir, env=environment,
                          capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert done.returncode == 1 and not report["ok"], report["missing"]
    assert report["lesser_helps"] is True, report["missing"]
    states = {check["id"]: check["state"] for check in report["checks"]}
    assert states["lesser"] in ("present", "partial") and states["box"] == "absent"
