"""System call profiles: enforced in a live box, refused with their place, and real ones of others."""
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS = ROOT / "tests/integration/seccomp/every-feature.json"
PODMANS = pathlib.Path("/usr/share/containers/seccomp.json")

# Calls the kernel by number and prints the answer: 0 or more, or the errno with a minus.
CALLER = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(nr, *args):
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(nr), *[ctypes.c_ulong(a & (2**64 - 1)) for a in args])
    return -ctypes.get_errno() if got == -1 else got
"""


@pytest.fixture
def profile(workdir):
    def write(content, name="profile.json"):
        path = workdir / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        path.chmod(0o644)
        return path

    return write


@pytest.fixture
def ours(workdir):
    path = workdir / "every-feature.json"
    shutil.copy(OURS, path)
    path.chmod(0o644)
    return path


def rules(*rules, **more):
    return {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": list(rules), **more}


def refuse(*names, **more):
    return {"names": list(names), "action": "SCMP_ACT_ERRNO", **more}


# ------------------------------------------------------------- enforced

@pytest.mark.usefixtures("as_who")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are x86_64's")
def test_every_feature_of_the_format_is_enforced(run_json, ours):
    script = CALLER + """
print(call(83, id(b"/tmp/x") + 32, 0o755))        # mkdir: errno 1234
print(call(74, 1))                                # fsync: ENOSYS by its name
print(call(88, id(b"a") + 32, id(b"/tmp/l") + 32), os.path.lexists("/tmp/l"))  # symlink: faked
print(call(95, 0o22) >= 0)                        # umask: its rule needs a capability
print(call(86, 0, 0))                             # link: its rule is left out for one
print(call(63, id(bytes(512)) + 32))              # uname: rules for other kernels and machines
print(call(99, 0))                                # sysinfo: a rule for this one
print(call(135, 8), call(135, 0xffffffff) >= 0)   # personality: ==
print(call(8, 0, 9223372036854775807, 0), call(8, 0, 2**63 - 808, 0) == -41, call(8, 0, 0, 0))  # lseek: >=, 64 bits
print(call(37, 2), call(37, 3), call(37, 2**32 + 2) >= 0)  # alarm: <
print(call(121, 0), call(121, 1) != -43)          # getpgid: !=
print(call(140, 2, 5000), call(140, 2, 4096) != -44, call(140, 3, 5000) != -44)  # two arguments
print(call(290, 0, 2048), call(290, 0, 2049), call(290, 0, 1) >= 0)  # eventfd2: masked
print(call(32, 100), call(32, 200), call(32, 0) >= 0)  # two comparisons of one argument
"""
    done = run_json("--seccomp", ours, "--", "python3", "-c", script)
    assert done["stdout"].splitlines() == [
        "-1234", "-38", "0 False", "True", "-99", "0", "-98", "-40 True", "-41 True -29",
        "-42 0 True", "-43 True", "-44 True True", "-45 -45 True", "-46 -46 True"]
    assert done["status"] == "ok"
    assert any("1 unknown system call: frobnicate" in w for w in done["warnings"])


@pytest.mark.usefixtures("as_who")
@pytest.mark.parametrize("code", [
    "import fcntl; fcntl.flock(0, 1)",                    # SCMP_ACT_KILL_PROCESS
    "import os; os.truncate('/tmp/x', 1)"])               # SCMP_ACT_TRAP
def test_a_call_that_kills_ends_the_program_with_sigsys(run_json, ours, code):
    done = run_json("--seccomp", ours, "--", "python3", "-c", code)
    assert (done["status"], done["signal"]) == ("failed", int(signal.SIGSYS))


@pytest.mark.usefixtures("as_who")
def test_a_profile_can_not_open_what_the_filter_refuses(run_box, profile):
    path = profile(rules({"names": ["mount", "chmod", "fchmodat", "unshare", "keyctl"],
                          "action": "SCMP_ACT_ALLOW"}))
    script = CALLER + """
print(call({mount}, 0, 0, 0, 0, 0), call({unshare}, 0x10000000), call({keyctl}, 0))
try: os.chmod("/tmp", 0o4777)
except OSError as e: print(e.errno)
""".format(**({"mount": 165, "unshare": 272, "keyctl": 250} if platform.machine() == "x86_64"
              else {"mount": 40, "unshare": 97, "keyctl": 219}))
    for syscalls in ("default", "floor"):
        done = run_box("--syscalls", syscalls, "--seccomp", path, "--", "python3", "-c", script)
        assert done.out == b"-1 -1 -38\n1\n", (syscalls, done)


@pytest.mark.usefixtures("as_who")
def test_the_floor_leaves_to_the_profile_what_the_default_refuses(run_box, profile):
    ptrace = 101 if platform.machine() == "x86_64" else 117
    script = CALLER + f"print(call({ptrace}, 0, 0, 0, 0))"  # PTRACE_TRACEME
    opens, shuts = profile(rules(), "opens.json"), profile(rules(refuse("ptrace")), "shuts.json")

    def out(*options):
        return run_box(*options, "--", "python3", "-c", script).out

    assert out("--seccomp", opens) == b"-1\n"
    assert out("--seccomp", opens, "--syscalls", "floor") == b"0\n"
    assert out("--seccomp", shuts, "--syscalls", "floor") == b"-1\n"
    assert out("--seccomp", shuts, "--seccomp", opens, "--syscalls", "floor") == b"-1\n"
    done = run_box("--syscalls", "floor", "--", "true")
    assert done.code == 125 and b"there is none" in done.err and b"seccomp" in done.err


@pytest.mark.usefixtures("as_who")
def test_profiles_of_all_sources_apply_and_paths_count_from_the_policy(run_box, profile, workdir):
    (workdir / "sub").mkdir(mode=0o755)
    profile(rules(refuse("mkdir", "mkdirat", errnoRet=71)), "sub/mkdir.json")
    flags = profile(rules(refuse("rmdir", "unlinkat", errnoRet=72)), "rmdir.json")
    policy = workdir / "sub/p.yaml"
    policy.write_text("seccomp: mkdir.json\nfinal: [seccomp]\n")
    script = """
import os
for act in (os.mkdir, os.rmdir):
    try: act("/tmp/x")
    except OSError as e: print(e.errno)
"""
    done = run_box("--policy", policy, "--seccomp", flags, "--", "python3", "-c", script)
    assert done.out == b"71\n72\n", done


# ------------------------------------------------------------- refused

@pytest.mark.usefixtures("as_who")
@pytest.mark.parametrize("content, says, hint", [
    ('{\n "defaultAktion": "SCMP_ACT_ALLOW"}', b":2:2: \"defaultAktion\": unknown key", b"defaultAction"),
    ('{"defaultAction": "SCMP_ACT_ALLOW",}', b":1:36: not JSON", b""),
    ('{"defaultAction": "SCMP_ACT_NOTIFY"}', b"no process", b"SCMP_ACT_ERRNO"),
    (rules(refuse("mkdirr")), b"is no system call", b"mkdir"),
    (rules(refuse("wait4", "kill")), b"the box's own pid 1 needs kill wait4", b"docs/seccomp.md"),
    (rules(*[refuse("flock", args=[{"index": 0, "value": i, "op": "SCMP_CMP_EQ"}])
             for i in range(10000)]), b"more than 4096 instructions", b"fewer"),
])
def test_a_wrong_profile_starts_nothing_and_says_where_and_what_to_do(run_box, run_json, profile,
                                                                      content, says, hint):
    path = profile(content)
    done = run_box("--seccomp", path, "--", "echo", "ran")
    assert (done.code, done.out) == (125, b"")
    assert says in done.err and hint in done.err
    result = run_json("--seccomp", path, "--", "echo", "ran")
    assert result["status"] == "error" and result["error"]["message"]


@pytest.mark.usefixtures("as_who")
def test_what_is_no_readable_file_is_refused(run_box, workdir):
    os.mkfifo(workdir / "fifo")
    for name in ("absent.json", ".", "fifo", "/dev/zero"):
        done = run_box("--seccomp", workdir / name, "--", "echo", "ran")
        assert done.code == 125 and done.out == b"" and b"seccomp: " in done.err, name


def test_another_users_secret_profile_is_not_read(run_box, profile, who):
    path = profile(rules())
    if os.geteuid() != 0:
        pytest.skip("only root can make a file that somebody else can't read")
    os.chown(path, 0, 0)
    path.chmod(0o600)
    done = run_box("--seccomp", path, "--", "echo", "ran", user="user")
    assert done.code == 125 and b"Permission denied" in done.err


# ------------------------------------------------------------- said

@pytest.mark.usefixtures("as_who")
def test_check_explain_and_why_speak_of_profiles(call, ours, profile, workdir):
    assert call("policy", "check", ours).out.endswith(b"every-feature.json: ok\n")
    assert b"frobnicate" in call("policy", "check", ours).out
    bad = profile('{"defaultAction": "SCMP_ACT_ALOW"}', "bad.json")
    assert call("policy", "check", bad).code == 1
    (workdir / "p.yaml").write_text("seccomp: [bad.json]\n")
    done = call("policy", "check", workdir / "p.yaml")
    assert done.code == 1 and b"bad.json:1:19" in done.err
    plan = json.loads(call("policy", "explain", "--json", "--seccomp", ours).out)["syscalls"]
    verdicts = {row["name"]: row["verdict"] for row in plan["calls"]}
    assert plan["profiles"] == [str(ours)]
    assert verdicts["mkdirat"] == "refused by a profile (errno 1234)"
    assert verdicts["personality"] == "a profile looks at the arguments"
    assert verdicts["flock"] == "refused by a profile (kills the process)"
    assert verdicts["mount"] == "refused (EPERM)" and verdicts["read"] == "allowed"
    assert verdicts["frobnicate"] == "no system call, passed over"
    assert b"errno 1234" in call("policy", "why", "--seccomp", ours, "syscall", "mkdirat").out


# ------------------------------------------------------------- what pid 1 needs

def needed():
    text = (ROOT / "src/init/needs.h").read_text()
    names = set(re.findall(r"CALL(?:_WITH)?\((\w+)[,)]", text))
    return names - {"CALL", "name"} | {"dup2" if platform.machine() == "x86_64" else "dup3"}


def parts():
    """What every box needs: all but the lists of the lesser one, of the terminal, of one built ahead and of a stray one."""
    text = (ROOT / "src/init/needs.h").read_text()
    lists = re.findall(r"#define RF_NEEDS_(?:LESSER|TERMINAL|AHEAD|STRAY).*?\n\n", text, re.DOTALL)
    alone = set(re.findall(r"CALL(?:_WITH)?\((\w+)[,)]", "".join(lists))) | {"open"}
    return needed() - alone - ({"dup3"} if platform.machine() == "x86_64" else {"dup2"})


# By which pid 1 of a kept box reaches a port inside for who asks; refused, ports can't be reached, and the box lives.
DISPENSABLE = {"socket", "connect"}


def test_the_list_of_pid_1s_calls_is_the_one_of_its_source():
    used = set()
    for path in (ROOT / "src/init").glob("*.[ch]"):
        used |= set(re.findall(r"__NR_(\w+)", path.read_text()))
    assert used - DISPENSABLE <= needed(), used - needed()


def test_the_documentation_lists_what_pid_1_needs():
    text = (ROOT / "docs/seccomp.md").read_text()
    listed = json.loads(re.search(r"```json\n(\[.*?\])\n```", text, re.DOTALL)[1])
    assert listed == sorted(listed)
    assert set(listed) - {"dup2", "dup3"} == parts() - {"dup2", "dup3"}


@pytest.mark.usefixtures("as_who")
def test_a_box_lives_with_the_calls_of_the_list_and_no_other(run_json, profile, workdir, need):
    need("gcc")
    source, program = workdir / "leave.c", workdir / "leave"
    source.write_text("""
void _start(void)
{
#ifdef __x86_64__
	__asm__ volatile("syscall" : : "a"(231), "D"(42) : "rcx", "r11", "memory");
#else
	register long nr __asm__("x8") = 94, code __asm__("x0") = 42;
	__asm__ volatile("svc 0" : : "r"(nr), "r"(code) : "memory");
#endif
}
""")
    subprocess.run(["gcc", "-static", "-nostdlib", "-fno-stack-protector", "-o", program, source],
                   check=True)
    program.chmod(0o755)
    path = profile({"defaultAction": "SCMP_ACT_KILL_PROCESS", "syscalls": [
        {"names": sorted(parts()), "action": "SCMP_ACT_ALLOW"}]})
    done = run_json("--seccomp", path, "--", program)
    assert (done["status"], done["exit_code"]) == ("failed", 42), done["error"]


# ------------------------------------------------------------- profiles of others

@pytest.fixture(scope="session")
def dockers(public):
    """Docker's default profile, from the module that Docker itself is built with."""
    if not shutil.which("go"):
        pytest.skip("no go on this machine")
    cache, path = public / "go", public / "docker.json"
    done = subprocess.run(
        ["timeout", "60", "go", "mod", "download", "-json", "github.com/moby/profiles/seccomp@v0.2.3"],
        cwd=public, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
        env={**os.environ, "GOPATH": str(cache), "GOMODCACHE": str(cache / "mod"), "GOFLAGS": "-modcacherw",
             "GOCACHE": str(cache / "cache"), "GO111MODULE": "on"})
    if done.returncode:
        pytest.skip("the Go module proxy can't be reached")
    shutil.copy(pathlib.Path(json.loads(done.stdout)["Dir"]) / "default.json", path)
    path.chmod(0o644)
    return path


@pytest.fixture(params=["docker", "podman"])
def theirs(request, public):
    if request.param == "docker":
        return request.getfixturevalue("dockers")
    if not PODMANS.exists():
        pytest.skip(f"{PODMANS} is not here")
    return PODMANS


@pytest.mark.usefixtures("as_who")
@pytest.mark.parametrize("syscalls", ["default", "strict", "floor"])
def test_python_and_node_run_under_the_profiles_of_others(run_json, theirs, syscalls, need):
    need("node")
    options = ("--seccomp", theirs, "--syscalls", syscalls, "--memory", "1G")
    python = ("import subprocess, threading; t = threading.Thread(target=print, args=(6 * 7,));"
              "t.start(); t.join(); print(subprocess.run(['echo', 'hi'], capture_output=True).stdout)")
    done = run_json(*options, "--", "python3", "-c", python)
    assert (done["status"], done["stdout"], done["warnings"]) == ("ok", "42\nb'hi\\n'\n", []), done
    done = run_json(*options, "--", "node", "-e", "setTimeout(() => console.log(6 * 7), 1)")
    assert (done["status"], done["stdout"]) == ("ok", "42\n"), done


@pytest.mark.usefixtures("as_who")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are x86_64's")
def test_dockers_default_is_enforced(run_box, dockers):
    script = CALLER + """
print(call(239, 0, 0, 0, 0, 0))                        # get_mempolicy: needs CAP_SYS_NICE there
print(call(272, 0))                                    # unshare: needs CAP_SYS_ADMIN there
print(call(135, 0), call(135, 0x20008), call(135, 1))  # personality: some
print(call(41, 40, 1, 0))                              # socket: not AF_VSOCK
print(call(310, 1, 0, 0, 0, 0) != -1)                  # process_vm_readv: since kernel 4.8
"""
    def out(*options):
        return run_box(*options, "--", "python3", "-c", script).out.split(b"\n")[:-1]

    assert out("--seccomp", dockers) == [b"-38", b"-1", b"0 -1 -1", b"-1", b"False"]
    assert out("--seccomp", dockers, "--syscalls", "floor") == [b"-1", b"-1", b"0 -1 -1", b"-1", b"True"]
    assert out()[:2] == [b"-38", b"0"]


def test_the_whole_of_dockers_default_is_known(call, dockers):
    done = call("policy", "check", dockers)
    assert done.code == 0 and done.out == f"{dockers}: ok\n".encode()
