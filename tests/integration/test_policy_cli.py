"""Policies on the command line: files, profiles, flags, and what `policy` says about them."""
import json
import platform
import time

import pytest

pytestmark = pytest.mark.usefixtures("as_who")


@pytest.fixture
def policy(workdir):
    def write(text, name="policy.yaml"):
        path = workdir / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(0o644)
        return path

    return write


SHELL = ("--", "sh", "-c")


# ------------------------------------------------------------- where rules come from

@pytest.mark.parametrize("text, name", [
    ("version: 1\nlimits:\n  open_files: 77\nenv: { set: { A: x } }\n", "p.yaml"),
    ('{"version": 1, "limits": {"open_files": 77}, "env": {"set": {"A": "x"}}}', "p.json"),
    ("\ufefflimits: {open_files: 77}\r\nenv: {set: {A: x}}\r\n", "bom.yaml")])
def test_a_policy_file_may_be_yaml_or_json(run_box, policy, text, name):
    assert run_box("--policy", policy(text, name), *SHELL, "ulimit -n; echo $A") == (0, b"77\nx\n", b"")


def test_an_empty_policy_changes_nothing(run_box, policy):
    assert run_box("--policy", policy(""), "--", "echo", "ran") == (0, b"ran\n", b"")


def test_paths_in_a_policy_count_from_its_folder(run_box, policy, workdir):
    (workdir / "sub").mkdir(mode=0o755)
    (workdir / "sub/data").mkdir(mode=0o755)
    (workdir / "sub/data/f").write_text("found")
    path = policy("files: { read: [./data:/data], current: none }", "sub/p.yaml")
    assert run_box("--policy", path, "--", "cat", "/data/f").out == b"found"
    assert run_box("--policy", "p.yaml", "--", "cat", "/data/f", cwd=workdir / "sub").out == b"found"


def test_no_policy_is_read_from_the_working_directory_unasked(run_box, policy):
    for name in ("policy.yaml", "ringfort.yaml", ".ringfort.yaml", ".ringfort"):
        policy("limits: { open_files: 77 }", name)
    assert run_box(*SHELL, "ulimit -n").out == b"1024\n"


def test_flags_win_over_the_file_and_the_file_over_profiles(run_box, policy):
    path = policy("limits: { open_files: 77, pids: 99 }\nhostname: from-file\n")
    done = run_box("--hostname", "from-flag", "--policy", path, "--profile", "python", *SHELL,
                   "ulimit -n; uname -n; echo $MPLBACKEND")
    assert done.out == b"77\nfrom-flag\nAgg\n"


def test_lists_are_joined_and_variables_replaced(run_box, policy):
    path = policy("env: { pass: [ONE], set: { A: file, B: file } }")
    done = run_box("--policy", path, "--pass", "TWO", "--env", "A=flag", *SHELL, "echo $ONE $TWO $A $B",
                   env={"ONE": "1", "TWO": "2"})
    assert done.out == b"1 2 flag file\n"


@pytest.mark.parametrize("profile", ["default", "python", "strict", "default,python", "python,strict"])
def test_every_profile_runs_a_program(run_box, profile):
    assert run_box("--profile", profile, "--", "python3", "-c", "print(6 * 7)").out == b"42\n"


def test_an_unknown_profile_is_an_error_that_names_the_known(run_box):
    done = run_box("--profile", "pyhton", "--", "true")
    assert done.code == 125 and b"pyhton" in done.err and b"python" in done.err


@pytest.mark.parametrize("flags", [
    ("--memory", "1G"), ("--time", "none"), ("--pids", "33"), ("--net", "host"), ("--loopback", "on"),
    ("--syscalls", "default"), ("--current", "read"), ("--weaker", "allow"), ("--output", "2M"),
    ("--isolation", "auto")])
def test_what_strict_made_final_cannot_be_weakened(run_box, flags):
    done = run_box("--profile", "strict", *flags, "--", "true")
    assert done.code == 125 and b"final" in done.err


def test_what_strict_made_final_can_be_made_stricter(run_box):
    done = run_box("--profile", "strict", "--memory", "128M", "--pids", "8", "--require", "any", *SHELL,
                   "ulimit -n")
    assert done == (0, b"256\n", b"")


def test_strict_shows_nothing_and_makes_no_socket(run_box, workdir):
    (workdir / "file").write_text("x")
    done = run_box("--profile", "strict", "--", "python3", "-c",
                   f"import os, socket\nprint(os.path.exists({str(workdir)!r}))\nsocket.socket()")
    assert done.code == 1 and done.out == b"False\n" and b"Error" in done.err


# ------------------------------------------------------------- what is wrong, and where

@pytest.mark.parametrize("text, where, words", [
    ("limits:\n  memroy: 64M\n", "2:3", ["memroy", 'did you mean "memory"']),
    ("version: 1\nlimit: {}\n", "2:1", ["limit", 'did you mean "limits"']),
    ("limits: { memory: lots }\n", "1:19", ["lots", "4M", "16T"]),
    ("limits:\n  time: 60\n", "2:9", ["60", "60s"]),
    ("files:\n  read: ./data\n", "2:9", ["files.read"]),
    ("version: 2\n", "1:10", ["version"]),
    ("a: &x 1\n", "1:", []),
    ("limits: { pids: 5, pids: 6 }\n", "1:20", ["pids"]),
    ("limits: { pids: 5 }\n--- \nlimits: {}\n", "2:1", []),
    ("limits: [\n", "1:9", ["mapping"]),
    ("limits: {\n", "2:1", []),
    ("network: { allow: [https://example.org] }\n", "1:20", ["network.allow", "without https://"]),
    ("network: { allow: [0x7f.1] }\n", "1:20", ["0x7f.1", "10.0.0.0/8"]),
    ("network: { deny: ['get a.example'] }\n", "1:19", ["get", 'did you mean "GET"']),
    ("credentials: { a: { from: ghp_secret, hosts: [a.example] } }\n", "1:27", ["env:NAME", "never stands in a policy"]),
    ("credentials: { a: { from: 'env:A' } }\n", "1:", ["hosts", "sent nowhere"]),
    ("commands: [python3, bin/sh]\n", "1:21", ["bin/sh", "absolute"]),
    ("commands: python3\n", "1:11", ["list"]),
    ("isolation: vm\n", "1:12", ["vm"]),
    ("files: { read: ['../up'] }\n", "1:17", [".."]),
    ("env: { set: { '1A': x } }\n", "1:15", ["1A"]),
])
def test_every_error_names_its_place_and_says_what_is_right(run_box, call, policy, text, where, words):
    path = policy(text)
    done = run_box("--policy", path, "--", "true")
    assert (done.code, done.out) == (125, b"")
    assert f"{path}:{where}".encode() in done.err, done.err
    for word in words:
        assert word.encode() in done.err
    checked = call("policy", "check", path)
    assert checked.code == 1 and checked.err == done.err


def test_json_tells_the_place_of_an_error_too(run_json, policy):
    error = run_json("--policy", policy("limits:\n  memroy: 1G\n"), "--", "true")["error"]
    assert error["where"] == {"line": 2, "column": 3}
    assert "memory" in error["remedy"] and "policy.yaml" in error["message"]


@pytest.mark.parametrize("text", [
    "files: { read: [./a], write: [./a] }",
    "files: { read: ['./a:/x', './b:/x'] }",
    "files: { read: ['./a:/usr/lib'] }",
    "files: { read: ['/proc/1'] }"])
def test_contradictory_rules_are_refused(run_box, policy, workdir, text):
    for name in "ab":
        (workdir / name).mkdir(mode=0o755)
    done = run_box("--policy", policy(text), "--", "true")
    assert done.code == 125 and b"files." in done.err


@pytest.mark.parametrize("kind", ["missing", "folder", "unreadable", "fifo", "binary", "nul"])
def test_a_file_that_is_no_policy_is_an_error(run_box, policy, workdir, as_who, kind):
    path = workdir / "p.yaml"
    if kind == "folder":
        path.mkdir()
    elif kind == "unreadable":
        if as_who == "root":
            pytest.skip("root reads everything")
        policy("version: 1", "p.yaml").chmod(0)
    elif kind == "fifo":
        import os
        os.mkfifo(path)
        path.chmod(0o666)
    elif kind == "binary":
        policy(bytes(range(128, 256)) * 10, "p.yaml")
    elif kind == "nul":
        policy(b"version: 1\0\n", "p.yaml")
    began = time.monotonic()
    done = run_box("--policy", path, "--", "true", timeout=5)
    assert done.code == 125 and b"p.yaml" in done.err
    assert time.monotonic() - began < 1


def test_a_policy_may_come_through_a_pipe_whose_writer_takes_its_time(run_box, workdir):
    import os
    import threading
    path = workdir / "pipe"
    os.mkfifo(path)
    path.chmod(0o666)
    writer = os.open(path, os.O_RDWR)

    def write():
        os.write(writer, b"env: { set: { FROM: pipe } }\n")
        os.close(writer)

    threading.Timer(0.5, write).start()
    assert run_box("--policy", path, "--", "sh", "-c", "echo $FROM") == (0, b"pipe\n", b"")


@pytest.mark.parametrize("text", [
    "# " + "x" * 10_000_000, "a: " + "x" * 10_000_000, "[" * 10_000, "{a: " * 10_000,
    "\n".join(" " * i + "a:" for i in range(1300)), "- " * 10_000, "a: '" + "\\\\" * 500_000,
    "env: { pass: [" + ", ".join(f"A{i}" for i in range(100_000)) + "] }",
    "env:\n  set:\n" + "".join(f"    A{i}: x\n" for i in range(60_000)),
    "files: { read: [" + ", ".join(f"/a{i}" for i in range(2000)) + "] }",
], ids=["comment", "scalar", "lists", "maps", "blocks", "dashes", "escapes", "names", "variables", "places"])
def test_a_monstrous_policy_is_refused_fast(run_box, policy, text):
    path = policy(text)
    began = time.monotonic()
    done = run_box("--policy", path, "--", "true")
    assert done.code == 125 and done.err.startswith(b"ringfort: ")
    assert len(done.err) < 2000
    assert time.monotonic() - began < 1


def test_two_policy_files_are_refused_with_the_remedy(run_box, policy):
    path = policy("version: 1")
    done = run_box("--policy", path, "--policy", path, "--", "true")
    assert done.code == 125 and b"twice" in done.err


# ------------------------------------------------------------- policy check

def test_check_says_ok_and_ends_with_0(call, policy):
    path = policy("version: 1\nlimits: { memory: 64M }\n")
    assert call("policy", "check", path) == (0, f"{path}: ok\n".encode(), b"")


# Behind what looks like a comment, a key; or a text that looks like another one.
@pytest.mark.parametrize("hidden, code", [("\u2028", "U+2028"), ("\u2029", "U+2029"), ("\x85", "U+0085"), ("\r", "carriage return"),
                                          ("\u202e", "U+202E"), ("\x1b[2K", "U+001B")])
def test_nothing_in_a_policy_is_hidden_from_who_reviews_it(call, run_box, policy, hidden, code):
    path = policy(f"version: 1\n# reviewed{hidden}hostname: hidden\n")
    done = call("policy", "check", path)
    assert done.code == 1 and f"{path}:2:11: ".encode() in done.err and code.encode() in done.err
    done = run_box("--policy", path, "--", "uname", "-n")
    assert done.code == 125 and b"hidden" not in done.out


def test_what_is_not_seen_is_written_as_an_escape_and_read_again(call, policy):
    path = policy('env: { set: { A: "\\u2028\\u202e\\r\\u200b" } }')
    for options in ([], ["--json"]):
        shown = call("policy", "show", "--policy", path, *options)
        assert shown.code == 0 and shown.out.isascii() and b"u2028" in shown.out, shown
    written = policy(call("policy", "show", "--policy", path).out, "written.yaml")
    assert call("policy", "show", "--policy", written).out == written.read_bytes()


def test_check_reads_every_file_and_fails_if_one_does(call, policy):
    good, bad = policy("version: 1", "good.yaml"), policy("verion: 1", "bad.yaml")
    done = call("policy", "check", bad, good, "nowhere.yaml")
    assert done.code == 1 and b"good.yaml: ok" in done.out
    assert b"bad.yaml:1:1" in done.err and b"nowhere.yaml" in done.err


def test_check_accepts_every_example_of_the_documentation(call, policy):
    import pathlib
    import re
    doc = pathlib.Path(__file__).resolve().parents[2] / "docs/policy.md"
    blocks = re.findall(r"```yaml\n(.*?)```", doc.read_text(), re.S)
    assert blocks
    for number, block in enumerate(blocks):
        assert call("policy", "check", policy(block, f"doc{number}.yaml")).code == 0


def test_check_without_a_file_teaches(call):
    done = call("policy", "check")
    assert done.code == 125 and b"usage" in done.err


# ------------------------------------------------------------- policy explain

def explain(call, *args):
    done = call("policy", "explain", "--json", *args)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_every_path_that_explain_lists_is_there_with_its_rights(call, run_json, workdir):
    (workdir / "in").mkdir(mode=0o755)
    (workdir / "out").mkdir(mode=0o755)
    import os
    os.chown(workdir / "out", workdir.stat().st_uid, workdir.stat().st_gid)
    options = ("--read", "./in:/data", "--write", "./out:/out")
    files = [f for f in explain(call, *options)["files"] if f["kind"] not in ("glob", "mask")]
    result = run_json(*options, "--", "python3", "-c", """
import json, os, sys
print(json.dumps({p: [os.path.lexists(p), os.path.isdir(p) and os.access(p, os.W_OK)]
                  for p in sys.argv[1:]}))""", *(f["path"] for f in files))
    found = json.loads(result["stdout"])
    for file in files:
        there, writable = found[file["path"]]
        assert there or file["optional"], file
        if there and file["kind"] in ("host", "system", "scratch"):
            assert writable == ("w" in file["rights"]), file
    rights = {f["path"]: f["rights"] for f in files}
    assert (rights["/data"], rights["/out"], rights[str(workdir)]) == ("r-x", "rwx", "r-x")


def test_the_root_holds_nothing_that_explain_does_not_list(call, run_json):
    paths = [f["path"] for f in explain(call)["files"]]
    inside = run_json("--", "ls", "-A", "/")["stdout"].split()
    for name in inside:
        assert name == ".ringfort" or any(p == f"/{name}" or p.startswith(f"/{name}/") for p in paths), name


def test_masked_files_show_nothing(call, run_json):
    masked = [f["path"] for f in explain(call)["files"] if f["kind"] == "mask"]
    assert "/proc/kcore" in masked
    result = run_json("--", "sh", "-c", "for f; do if [ -d $f ]; then ls -A $f; else cat $f; fi; done "
                      "2>/dev/null", "sh", *masked)
    assert result["stdout"] == ""


def test_environment_and_identity_are_as_explained(call, run_json):
    options = ("--env", "A=b c", "--pass", "LANG", "--hostname", "fort", "--workdir", "/usr")
    plan = explain(call, *options)
    result = run_json(*options, "--", "sh", "-c", "env -0 | tr '\\0' '\\n'; id -u; id -g; uname -n; pwd")
    *env, uid, gid, host, place = result["stdout"].splitlines()
    assert sorted(env) == sorted(plan["env"])
    identity = plan["identity"]
    assert [uid, gid, host, place] == [str(identity["uid"]), str(identity["gid"]), identity["hostname"],
                                       identity["workdir"]]


def test_limits_are_as_explained(call, run_json):
    plan = explain(call, "--open-files", "99", "--file-size", "1M", "--time", "none")["limits"]
    assert plan["open_files"]["value"] == 99 and plan["time"]["value"] is None
    result = run_json("--open-files", "99", "--file-size", "1M", "--", "python3", "-c",
                      "import resource as r; print(r.getrlimit(r.RLIMIT_NOFILE)[1], r.getrlimit(r.RLIMIT_FSIZE)[1])")
    assert result["stdout"].split() == ["99", str(plan["file_size"]["value"])]


def test_refused_calls_are_refused_as_explained(call, run_json):
    if platform.machine() != "x86_64":
        pytest.skip("the numbers below are x86_64's")
    verdicts = {c["name"]: c["verdict"] for c in explain(call)["syscalls"]["calls"]}
    numbers = {"mount": 165, "ptrace": 101, "bpf": 321, "keyctl": 250, "io_uring_setup": 425,
               "unshare": 272, "init_module": 175, "reboot": 169, "userfaultfd": 323}
    result = run_json("--", "python3", "-c", """
import ctypes, json
libc = ctypes.CDLL(None, use_errno=True)
def ask(n): libc.syscall(n, 0, 0, 0, 0, 0, 0); return ctypes.get_errno()
print(json.dumps({k: ask(n) for k, n in %r.items()}))""" % numbers)
    got = json.loads(result["stdout"])
    for name, errno in got.items():
        if "EPERM" in verdicts[name]:
            assert errno == 1, name
        elif "ENOSYS" in verdicts[name]:
            assert errno == 38, name


def test_text_and_json_say_the_same(call):
    options = ("--profile", "strict", "--memory", "64M")
    plan = explain(call, *options)
    text = call("policy", "explain", *options).out.decode()
    for file in plan["files"]:
        assert f"  {file['path']} " in text and file["why"] in text
    for name, limit in ((n, v) for n, v in plan["limits"].items() if n != "require"):
        assert any(line.split()[:2] == [name, limit["text"]] for line in text.splitlines() if line.strip()), name
    for one in plan["syscalls"]["calls"]:
        assert one["name"] in text
    assert "filter: strict" in text and plan["network"] == {"link": "none", "loopback": False, "unix": False}


def test_explain_makes_nothing_and_needs_no_program(call, workdir):
    assert call("policy", "explain", "--write", "./not-there").code == 0
    assert list(workdir.iterdir()) == []


def test_explain_reports_errors_as_run_does(call, run_box, policy):
    path = policy("limits: { memory: lots }")
    assert call("policy", "explain", "--policy", path) == run_box("--policy", path, "--", "true")
