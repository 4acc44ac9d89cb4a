"""`ringfort doctor`: what it says of this machine, and of one that lacks something.

A machine that lacks something is made of this one: by a filter that answers one system call with an
error, by a user namespace that allows no further one, by a mount namespace with a masked /proc.
The host itself is never changed.
"""
import ctypes
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess

import pytest

from helpers import USER_ID

IS_ROOT = os.geteuid() == 0
DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs/doctor.md"
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

# Programs outside depend on these names: one may be added, none may go or change.
IDS = """
    kernel clone3 close_range openat2
    userns mntns pidns netns capture ipcns utsns cgroupns timens userns_nested
    mount_api tmpfs proc devpts idmap overlay
    landlock seccomp no_new_privs keyring userns_limit
    cgroup cgroup_memory cgroup_pids cgroup_cpu cgroup_cputime cgroup_swap clone_into_cgroup
    cgroup_kill proc_children
    init gateway run_dir uid_range audit watcher box
    lesser core_pattern unprivileged_bpf kptr_restrict dmesg_restrict yama
""".split()

# The same on every architecture.
CALLS = {"landlock_create_ruleset": 444, "clone3": 435, "close_range": 436, "openat2": 437}
ENOSYS, EOPNOTSUPP = 38, 95


@pytest.fixture
def doctor(command, workdir):
    """`ringfort doctor --json`, after the words of another command and without a system call;
    gives the exit code and the report, with its checks also by id."""
    def ask(*before, without=None, user=None):
        done = subprocess.run([*before, *command("doctor", "--json", user=user)], cwd=workdir,
                              env={"PATH": PATH}, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=60, check=False,
                              preexec_fn=(lambda: deny(*without)) if without else None)
        assert done.stdout, done.stderr.decode()
        report = json.loads(done.stdout)
        report["by_id"] = {check["id"]: check for check in report["checks"]}
        return done.returncode, report

    return ask


def deny(call, errno):
    """From here on and for all descendants, answers one system call with `errno`."""
    code = b"".join(struct.pack("HBBI", *line) for line in [
        (0x20, 0, 0, 0),                # load the number
        (0x15, 0, 1, CALLS[call]),      # is it this one?
        (0x06, 0, 0, 0x50000 | errno),  # fail with errno
        (0x06, 0, 0, 0x7fff0000)])      # else allow
    held = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(held))
    libc = ctypes.CDLL(None)
    # no_new_privs only where it must be: as root it is not needed.
    if os.geteuid() != 0 and libc.prctl(38, 1, 0, 0, 0) != 0:
        os._exit(99)
    if libc.prctl(22, 2, ctypes.c_char_p(program)) != 0:
        os._exit(99)


def is_walled(report):
    """Whether all that is required is there, by the single answers."""
    return not any(check["need"] == "required" and check["state"] == "absent"
                   for check in report["checks"])


# --- this machine ---

def test_json_has_every_id_once_and_in_order(as_who, doctor):
    _, report = doctor()
    assert [check["id"] for check in report["checks"]] == IDS
    assert report["as"] == as_who
    assert report["uid"] == (0 if as_who == "root" else USER_ID if IS_ROOT else os.geteuid())


def test_answers_are_words_of_a_fixed_set(as_who, doctor):
    _, report = doctor()
    for check in report["checks"]:
        assert check["state"] in ("present", "partial", "absent", "unneeded"), check
        assert check["need"] in ("required", "wanted", "hint"), check
        assert check["title"] and check["meaning"], check
        assert (check["remedy"] is not None) == (check["state"] in ("partial", "absent")), check
    assert set(report["limits"].values()) <= {"hard", "sampled", "rlimit", "none"}


def test_exit_code_and_verdict_follow_the_answers(as_who, doctor):
    code, report = doctor()
    assert report["ok"] == is_walled(report) == (report["missing"] == [])
    assert code == (0 if report["ok"] else 1)


def test_doctor_and_run_agree(as_who, doctor, run_json):
    """What doctor promises is what the next box gets."""
    _, report = doctor()
    result = run_json("--current", "none", "--", "true")
    assert (result["status"] == "ok") == report["ok"]
    if report["ok"]:
        assert result["isolation"]["limits"] == report["limits"]


def test_table_names_everything_and_ends_with_a_verdict(as_who, call, doctor):
    code, report = doctor()
    done = call("doctor")
    text = done.out.decode()
    assert (done.code, done.err) == (code, b"")
    for check in report["checks"]:
        mark = {"present": "ok", "partial": "part", "absent": "no", "unneeded": "-"}[check["state"]]
        assert re.search(rf"(?m)^  {mark:6}{re.escape(check['title'])}(  |$)", text), check
    who = "root" if as_who == "root" else "this user"
    last = text.rstrip("\n").split("\n")[-1]
    assert last.startswith("This machine can") and f"as {who}" in last
    assert "Limits: " in text


def test_no_colour_in_a_pipe(as_who, call):
    assert b"\033" not in call("doctor").out


@pytest.mark.parametrize("env, is_coloured", [({"TERM": "xterm"}, True),
                                              ({"TERM": "xterm", "NO_COLOR": "1"}, False),
                                              ({"TERM": "dumb"}, False)])
def test_colour_on_a_terminal_unless_refused(ringfort, env, is_coloured):
    ours, theirs = os.openpty()
    with subprocess.Popen([ringfort, "doctor"], stdin=subprocess.DEVNULL, stdout=theirs,
                          env=env) as process:
        os.close(theirs)
        seen = b""
        try:
            while block := os.read(ours, 65536):
                seen += block
        except OSError:  # how a terminal's other end says that it is over
            pass
        process.wait(30)
    os.close(ours)
    assert (b"\033[" in seen) == is_coloured
    assert b"This machine can" in seen


def test_help_teaches(call):
    done = call("doctor", "--help")
    assert done.code == 0
    for word in (b"usage: ringfort doctor", b"--json", b"exit codes", b"examples"):
        assert word in done.out


@pytest.mark.parametrize("argument", ["--jsn", "now"])
def test_wrong_arguments_are_refused_with_a_hint(call, argument):
    done = call("doctor", argument)
    assert done.code == 125 and done.out == b""
    assert argument.encode() in done.err and b"--json" in done.err


def test_documentation_names_every_id():
    text = DOCUMENT.read_text()
    assert [name for name in IDS if f"`{name}`" not in text] == []


# --- a machine that lacks something ---

@pytest.mark.parametrize("call_name, check", [("landlock_create_ruleset", "landlock"),
                                              ("clone3", "clone3"),
                                              ("close_range", "close_range")])
def test_a_required_call_taken_away_is_absent_with_a_remedy(as_who, doctor, call_name, check):
    code, report = doctor(without=(call_name, ENOSYS))
    found = report["by_id"][check]
    assert (found["state"], found["need"]) == ("absent", "required")
    assert "seccomp=unconfined" in found["remedy"]  # the filter was seen
    assert check in report["missing"] and not report["ok"]
    assert code == 1


def test_landlock_switched_off_at_boot_names_the_boot_option(as_who, doctor):
    _, report = doctor(without=("landlock_create_ruleset", EOPNOTSUPP))
    assert "lsm=" in report["by_id"]["landlock"]["remedy"]


def test_what_is_only_wanted_does_not_spoil_the_verdict(as_who, doctor):
    before, _ = doctor()
    code, report = doctor(without=("openat2", ENOSYS))
    assert report["by_id"]["openat2"]["state"] == "absent"
    assert "openat2" not in report["missing"] and code == before


def test_no_user_namespaces_left_names_the_sysctl(doctor, need):
    need("unshare")
    shell = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"'
    if subprocess.run(["unshare", "-Ur", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespace to nest in")
    code, report = doctor("unshare", "-Ur", "sh", "-c", shell, "sh")
    found = report["by_id"]["userns"]
    assert code == 1 and found["state"] == "absent"
    assert "user.max_user_namespaces" in found["remedy"]
    # What stands on it is not reported as seen.
    assert report["by_id"]["box"]["state"] == "absent"
    assert "not tried" in report["by_id"]["mntns"]["detail"]


@pytest.mark.skipif(not IS_ROOT, reason="masks parts of /proc in a mount namespace")
def test_a_masked_proc_as_in_docker_names_the_option(doctor):
    shell = 'mount --bind /dev/null /proc/interrupts && exec "$@"'
    code, report = doctor("unshare", "-m", "--propagation", "private", "sh", "-c", shell, "sh",
                          user="user")
    found = report["by_id"]
    assert code == 1
    assert found["proc"]["state"] == found["box"]["state"] == "absent"
    assert "systempaths=unconfined" in found["proc"]["remedy"]


@pytest.mark.skipif(not IS_ROOT, reason="drops a capability of root's")
def test_root_without_power_is_told_so(doctor):
    code, report = doctor("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all")
    assert code == 1 and report["by_id"]["mntns"]["state"] == "absent"
    assert "CAP_SYS_ADMIN" in report["by_id"]["mntns"]["remedy"]


def test_a_program_without_its_init_says_where_it_belongs(ringfort, workdir):
    lonely = workdir / "ringfort"
    shutil.copy(ringfort, lonely)
    done = subprocess.run([lonely, "doctor", "--json"], capture_output=True, timeout=60, check=False)
    found = {check["id"]: check for check in json.loads(done.stdout)["checks"]}
    if found["init"]["state"] == "present":
        pytest.skip("an installed ringfort-init was found")
    assert done.returncode == 1 and found["box"]["state"] == "absent"
    assert "ringfort-init" in found["init"]["remedy"]


# --- nothing stays ---

def leftovers(ringfort):
    """Groups, processes and mounts that a doctor of this test could have left."""
    groups = [path for path, _, _ in os.walk("/sys/fs/cgroup")
              if os.path.basename(path).startswith("ringfort-doctor-")]
    processes = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe") == ringfort:
                processes.append(pid)
        except OSError:
            pass
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        return groups, processes, len(mounts.readlines())


def test_nothing_is_left_behind(as_who, ringfort, workdir, call):
    _, _, mounts = leftovers(ringfort)
    assert call("doctor").code in (0, 1)
    assert leftovers(ringfort) == ([], [], mounts)
    assert list(workdir.iterdir()) == []


@pytest.mark.skipif(not IS_ROOT, reason="gives the test a /run of its own")
def test_no_record_is_left_in_run(ringfort):
    shell = 'mount -t tmpfs none /run && "$1" doctor >/dev/null; ls -A /run'
    done = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", shell, "sh",
                           ringfort], capture_output=True, timeout=60, check=True)
    assert done.stdout == b""
