"""`ringfort policy why`: what it answers is what happens.

One test asks about many paths, programs, calls and addresses under many policies, then tries each
of them in a box of the same policy, and compares.  The trial is a small Python program inside.
"""
import json
import os
import random
import socket
import subprocess

import pytest

from conftest import IS_ROOT, USER_ID

# Tries every question in the box and prints what came of it: "yes" or "no".
TRIAL = r"""
import ctypes, errno, json, os, socket, sys

libc = ctypes.CDLL(None, use_errno=True)

def opens(path, flags):
    os.close(os.open(path, flags | os.O_NONBLOCK))

def read(path):
    if os.path.isdir(path):
        os.listdir(path)
    else:
        with open(path, "rb") as file:
            return file.read(64).decode("latin-1")

def write(path):
    if os.path.isdir(path):
        new = os.path.join(path, ".ringfort-trial")
        os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        os.unlink(new)
    elif os.path.exists(path):
        opens(path, os.O_WRONLY)
    else:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
        os.unlink(os.path.realpath(path))

def run(program):
    pid = os.fork()
    if pid == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        try:
            os.execvp(program, [program, "--version"])
        except OSError as e:
            os._exit(201 if e.errno != errno.ENOEXEC else 0)
    status = os.waitpid(pid, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 201:
        raise OSError(errno.EACCES, "exec")

def connect(where):
    host, port = where.rsplit(":", 1)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(2)
        s.connect((host.strip("[]"), int(port)))

def env(name):
    os.environ[name]

answers = []
for verb, what in json.load(sys.stdin):
    try:
        said = {"read": read, "write": write, "exec": run, "connect": connect, "env": env}[verb](what)
        answers.append(["yes", said])
    except (OSError, KeyError) as e:
        answers.append(["no", repr(e)])
print(json.dumps(answers))
"""


@pytest.fixture
def tree(workdir, who):
    """A directory with something of everything that a path can be."""
    files = {
        "plain": 0o644, "secret": 0o600, "closed": 0o000, "script": 0o755, "readonly": 0o444,
        "dir/inner": 0o644, "dir/run.sh": 0o755, "locked/inner": 0o644, "ro/inner": 0o644,
        "data/deep/er": 0o644, ".env": 0o644, "dir/.env": 0o644, ".aws/credentials": 0o644,
        "data/key.pem": 0o644,
    }
    for name, mode in files.items():
        path = workdir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\nexit 0\n")
        path.chmod(mode)
    links = {
        "to-plain": "plain", "to-shadow": "/etc/shadow", "to-passwd": "/etc/passwd",
        "to-dir": "dir", "up": "..", "loop": "loop", "dangling": "nothing", "to-tmp": "/tmp",
        "to-usr": "/usr/bin/env", "dir/back": "../plain", "chain": "to-dir/back",
        "out": "../../etc/hostname", "to-env": ".env", "to-key": "data/key.pem", "to-proc": "/proc/self/status",
    }
    for name, target in links.items():
        (workdir / name).symlink_to(target)
    if IS_ROOT and who == "user":
        for folder, folders, names in os.walk(workdir):
            for name in [*folders, *names]:
                os.lchown(os.path.join(folder, name), USER_ID, USER_ID)
    if IS_ROOT:  # things of others within the tree
        (workdir / "theirs").write_text("x")
        os.chown(workdir / "theirs", 4242, 4242)
        (workdir / "theirs").chmod(0o640)
        (workdir / "theirs-too").write_text("x")
        os.chown(workdir / "theirs-too", 4242, 4242)
        (workdir / "theirs-too").chmod(0o666)
    (workdir / "locked").chmod(0o000)
    (workdir / "ro").chmod(0o555)
    yield workdir
    (workdir / "locked").chmod(0o755)


def names(tree):
    inside = ["plain", "secret", "closed", "script", "readonly", "dir", "dir/inner", "dir/run.sh",
              "dir/nothing", "locked", "locked/inner", "ro", "ro/inner", "ro/new", "new",
              "new/deeper", "plain/below", "to-plain", "to-shadow", "to-passwd", "to-dir",
              "to-dir/inner", "to-dir/../plain", "up", "loop", "dangling", "to-tmp", "to-tmp/x",
              "to-usr", "dir/back", "chain", "out", "to-proc", "data", "data/deep", "data/deep/er",
              "data/deep/new", "theirs", "theirs-too", ".", "..", "./plain", "dir//inner",
              "dir/./inner", ".env", "dir/.env", ".aws",
              ".aws/credentials", "data/key.pem", "to-env", "to-key", "plain/..", "plain/.", "dir/..", "new/..", "/tmp/a/b"]
    outside = ["/etc/shadow", "/etc/passwd", "/etc", "/etc/nothing", "/etc/ssh", "/root", "/home",
               "/home/box", "/home/box/x", "/tmp", "/tmp/x", "/var/tmp/y", "/run", "/run/z",
               "/usr", "/usr/bin/env", "/usr/bin/nothing", "/bin/sh", "/lib", "/", "/nothing",
               "/dev/null", "/dev/zero", "/dev/kmsg", "/dev/sda", "/dev", "/proc/kcore", "/sys",
               "/sys/kernel", "/var/log", "/mnt", "/mnt/data", "/mnt/data/deep/er", "/boot",
               "/etc/hostname", "/etc/resolv.conf", str(tree.parent)]
    return inside + outside


POLICIES = [
    (),
    ("--write", "."),
    ("--current", "none"),
    ("--read", "./data:/mnt/data"),
    ("--write", ".", "--read", "./data"),
    ("--write", "./dir", "--write", "./ro"),
    ("--read", "./dir/inner"),
    ("--profile", "strict"),
    ("--net", "host"),
    ("--loopback", "off"),
    ("--env", "GIVEN=1", "--pass", "PASSED"),
    ("--deny", "**/*.pem", "--deny", "./dir"),
    ("--deny", "./to-key", "--write", "."),
    ("--credentials", "show", "--deny", "**/.env"),
    ("--read", ".env", "--read", ".aws/credentials"),
    ("--command", "python3"),
    ("--command", "python3,git,sh", "--write", "."),
]

PROGRAMS = ["sh", "git", "env", "python3", "nothing", "./script", "dir/run.sh", "./plain", "./secret",
            "/bin/sh", "/usr/bin/env", "/etc/passwd", "to-usr", "./to-usr", "/tmp", "dir",
            "locked/inner", "../x", "/usr/lib", "./loop"]


def questions(tree):
    listed = [(verb, name) for name in names(tree) for verb in ("read", "write")]
    listed += [("exec", name) for name in PROGRAMS]
    listed += [("connect", where) for where in ("192.0.2.1:80", "127.0.0.1:1", "[::1]:1")]
    listed += [("env", name) for name in ("HOME", "GIVEN", "PASSED", "SECRET", "PATH")]
    return listed


def ask(call, policy, verb, what, **options):
    done = call("policy", "why", *policy, "--json", verb, what, **options)
    answer = json.loads(done.out)
    assert done.code == {"yes": 0, "no": 1, "depends": 2}[answer["verdict"]], done
    assert answer["rule"] and answer["reason"]
    return answer


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: " ".join(policy) or "default")
def test_what_it_answers_is_what_happens(call, run_box, as_who, tree, policy):
    env = {"SECRET": "s", "PASSED": "p"}
    asked = questions(tree)
    # The trial's own folder has to be where relative names lead.
    if "none" in policy or "strict" in policy:
        asked = [(verb, what) for verb, what in asked if what.startswith("/") or verb == "env"]
    limits = ("--pids", "32", "--time", "25s")
    tried = run_box(*policy, *limits, "--", "python3", "-c", TRIAL, env=env,
                    stdin=json.dumps(asked).encode())
    assert tried.code == 0, tried
    wrong = []
    for (verb, what), (happened, story) in zip(asked, json.loads(tried.out)):
        answer = ask(call, policy, verb, what, env=env)
        if verb == "connect" and answer["verdict"] == "yes":
            continue  # whether anyone answers there is not the policy's business
        if answer["verdict"] == "depends" or answer["verdict"] == happened:
            continue
        if verb == "read" and answer["verdict"] == "no" and story in ("", None):
            continue  # hidden things read as empty
        wrong.append((verb, what, answer["verdict"], answer["reason"], happened, story))
    assert not wrong, "\n".join(map(str, wrong))


def test_depends_is_the_exception(call, as_who, tree):
    """An answer that says nothing would agree with everything."""
    answers = [ask(call, (), verb, what)["verdict"] for verb, what in questions(tree)]
    assert answers.count("depends") < len(answers) / 6
    assert answers.count("yes") > len(answers) / 5 and answers.count("no") > len(answers) / 5


def test_the_change_it_offers_changes_the_answer(call, as_who, tree):
    """What it says would help is given, and the same question is answered with yes."""
    tried = 0
    for verb, what in questions(tree):
        answer = ask(call, (), verb, what)
        if answer["verdict"] != "no" or not answer["flag"] or verb == "env":
            continue
        option, value = answer["flag"].split(" ", 1)
        moved = value.split(":")[-1] if ":" in value and verb in ("read", "write") else what
        again = call("policy", "why", option, value, "--json", verb, moved)
        if again.code == 125:
            # What the host does not have, or no box may see, can't be shown either; it says so.
            assert b"ringfort: " in again.err, (verb, what, answer)
            continue
        tried += 1
        after = json.loads(again.out)
        missing = "on the host" in after["reason"] or "is not there" in after["reason"]
        assert after["verdict"] != "no" or missing or after["rule"] == "mode", (what, answer, after)
    assert tried > 5


# ------------------------------------------------------------- system calls

CALLS = ["bpf", "mount", "ptrace", "io_uring_setup", "keyctl", "unshare", "read", "getpid", "mkdir",
         "reboot", "sync", "clone3", "openat2", "shmget", "inotify_init1", "userfaultfd", "setns",
         "memfd_create", "semget", "mlockall", "pivot_root", "syslog", "uname", "sched_yield"]

CALL_TRIAL = r"""
import ctypes, json, sys
libc = ctypes.CDLL(None, use_errno=True)
out = {}
for name, nr in json.load(sys.stdin).items():
    ctypes.set_errno(0)
    r = libc.syscall(nr, -1, 0, 0, 0, 0, 0)
    out[name] = ctypes.get_errno() if r < 0 else 0
print(json.dumps(out))
"""


def numbers():
    text = subprocess.run(["cpp", "-dM", "-include", "asm/unistd.h", "/dev/null"],
                          capture_output=True, text=True, check=True).stdout
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3 and words[1].startswith("__NR_") and words[2].isdigit():
            found[words[1][5:]] = int(words[2])
    return found


@pytest.mark.parametrize("policy", [(), ("--profile", "strict")], ids=["default", "strict"])
def test_system_calls_meet_the_fate_that_was_told(call, run_box, as_who, need, policy):
    need("cpp")
    table = {name: nr for name, nr in numbers().items() if name in CALLS}
    assert len(table) > 15
    tried = run_box(*policy, "--", "python3", "-c", CALL_TRIAL, stdin=json.dumps(table).encode())
    assert tried.code == 0, tried
    fates = json.loads(tried.out)
    for name in table:
        answer = ask(call, policy, "syscall", name)
        if answer["verdict"] == "no" and "success" not in answer["reason"]:
            expected = 38 if "ENOSYS" in answer["reason"] else 1
            assert fates[name] == expected, (name, answer, fates[name])
        elif answer["verdict"] == "yes":
            assert fates[name] != 38, (name, answer, fates[name])


def test_a_profile_of_system_calls_has_its_say(call, run_box, as_who, need, workdir):
    need("cpp")
    profile = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
        {"names": ["mincore", "semget"], "action": "SCMP_ACT_ERRNO", "errnoRet": 99},
        {"names": ["uname"], "action": "SCMP_ACT_ERRNO", "errnoRet": 99,
         "args": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}]}]}
    (workdir / "profile.json").write_text(json.dumps(profile))
    policy = ("--seccomp", "profile.json")
    denied = ask(call, policy, "syscall", "mincore")
    assert denied["verdict"] == "no" and denied["rule"] == "seccomp"
    assert ask(call, policy, "syscall", "uname")["verdict"] == "depends"
    assert ask(call, policy, "syscall", "sched_yield")["verdict"] == "yes"
    table = {name: nr for name, nr in numbers().items() if name in ("mincore", "sched_yield")}
    tried = run_box(*policy, "--", "python3", "-c", CALL_TRIAL, stdin=json.dumps(table).encode())
    assert json.loads(tried.out) == {"mincore": 99, "sched_yield": 0}, tried


# ------------------------------------------------------------- words

def test_the_text_names_verdict_reason_rule_and_change(call):
    done = call("policy", "why", "read", "/etc/shadow")
    text = done.out.decode()
    assert done.code == 1
    assert text.startswith("no: /etc/shadow can't be read\n")
    assert "rule:   default" in text
    assert "--read /etc/shadow:/mnt/shadow" in text and "files: { read: [" in text


def test_it_tells_where_the_rule_stands(call, workdir):
    (workdir / "p.yaml").write_text("version: 1\nfiles:\n  read:\n    - /srv\n    - /opt\n"
                                    "network:\n  link: none\n")
    named = ("--policy", workdir / "p.yaml")
    assert ask(call, named, "read", "/opt")["origin"].endswith("p.yaml:5")
    assert ask(call, named, "connect", "a:1")["origin"].endswith("p.yaml:7")
    assert ask(call, ("--net", "none"), "connect", "a:1")["origin"] == "the command line"
    assert ask(call, (), "connect", "a:1")["origin"] is None
    strict = ask(call, ("--profile", "strict"), "connect", "a:1")
    assert strict["origin"].startswith("profile strict, line ")
    assert strict["final"] and strict["flag"] is None


def test_the_line_that_it_offers_is_a_policy(call, workdir):
    for verb, what in (("read", "/srv/x"), ("connect", "a:1"), ("connect", "/run/x")):
        line = ask(call, (), verb, what)["line"]
        (workdir / "p.yaml").write_text(line + "\n")
        assert call("policy", "check", "p.yaml").code == 0, line


def test_it_knows_what_is_neither_http_nor_tls(call):
    def of(*flags, what="db.example:5433"):
        return ask(call, flags, "net", f"TCP {what}")

    answer = of("--net", "db.example:5433")
    assert answer["verdict"] == "no" and answer["flag"] == "--net 'TCP db.example:5433'"
    assert answer["line"] == 'network: { allow: ["TCP db.example:5433"] }'
    assert of("--net", "TCP db.example:5433")["verdict"] == "yes"
    assert of("--net", "TCP *:*", "--net-deny", "db.example")["verdict"] == "no"
    assert of("--net", "db.example:*", what="db.example:5432")["verdict"] == "yes"
    assert of("--net", "10.0.0.0/8:*", what="10.0.0.1:80")["verdict"] == "yes"
    looked = of("--net", "TCP db.example:5433", "--net", "GET db.example:5433/x")
    assert looked["verdict"] == "no" and "looked into" in looked["reason"] and not looked["flag"]
    assert of("--net", "db.example", what="db.example:443")["flag"] == "--net 'TCP db.example:443'"


@pytest.mark.parametrize("args", [
    ("net", "TCP", "a"), ("net", "TCP", "a:b"), (), ("read",), ("read", "a", "b"), ("read", ""), ("fly", "x"), ("syscall", "nothing_like_it"),
    ("connect", ":"), ("connect", "a:b"), ("connect", "a:"), ("connect", "a:123456"),
    ("read", "/" + "x" * 5000), ("--nonsense", "read", "x"),
])
def test_a_wrong_question_is_an_error_with_a_hint(call, args):
    done = call("policy", "why", *args)
    assert done.code == 125 and done.out == b"" and done.err.startswith(b"ringfort: "), done


def test_names_of_others_come_out_tidy_in_json(call, workdir):
    done = call("policy", "why", "--json", "read", "a\x1b]52;c;x\x07b")
    assert b"\x1b" not in done.out and json.loads(done.out)["verdict"] == "no"
