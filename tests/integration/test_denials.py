"""`denials`: what the kernel refused a box, as root and where it audits.

Auditing belongs to the machine: it is switched on for as long as a test needs it, by one test at a
time, and then set as it was.  Reading the log changes nothing.
"""
import contextlib
import fcntl
import json
import os
import socket
import struct
import subprocess
import time

import pytest

NETLINK_AUDIT = 9
AUDIT_GET, AUDIT_SET = 1000, 1001
STATUS_ENABLED = 1
READLOG = 1
HEAD = struct.Struct("=IHHII")


def ask(kind, body=b"", flags=1):
    """One question to the kernel's audit; gives the answer's type and body."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_AUDIT) as line:
        line.settimeout(2)
        line.sendto(HEAD.pack(HEAD.size + len(body), kind, flags, 1, 0) + body, (0, 0))
        answer = line.recv(9000)
    return HEAD.unpack(answer[:HEAD.size])[1], answer[HEAD.size:]


def enabled():
    kind, body = ask(AUDIT_GET)
    if kind != AUDIT_GET:
        raise OSError(-struct.unpack("=i", body[:4])[0], "asking")
    return struct.unpack("=II", body[:8])[1]


def switch(value):
    kind, body = ask(AUDIT_SET, struct.pack("=II", STATUS_ENABLED, value) + bytes(32), flags=5)
    code = struct.unpack("=i", body[:4])[0] if kind == 2 else 0
    if code:
        raise OSError(-code, "switching")


def why_not():
    """Why the log can't be read here, or None."""
    if os.geteuid() != 0:
        return "only root can read the audit log"
    try:
        enabled()
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_AUDIT) as line:
            line.bind((0, 1 << (READLOG - 1)))
    except (OSError, struct.error) as error:
        return f"the audit log can't be read here: {error}"
    return None


@contextlib.contextmanager
def auditing(value):
    """Auditing is on, or off, within; one at a time, since the switch is the machine's."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with open(__file__, encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = enabled()
        try:
            if (before != 0) != (value != 0):
                try:
                    switch(value)
                except OSError as error:
                    pytest.skip(f"auditing can't be switched here: {error}")
            yield
        finally:
            if enabled() != before:
                switch(before)


@pytest.fixture
def audited():
    with auditing(1):
        yield


@pytest.fixture
def unaudited():
    with auditing(0):
        yield


@pytest.fixture
def box(ringfort, workdir):
    """Runs a box as root and gives its result."""
    def run(*args):
        done = subprocess.run([ringfort, "run", "--json", *args], cwd=workdir, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        return json.loads(done.stdout)
    return run


def rows(result):
    return {(row["kind"], row["what"]): row for row in result["denials"]}


PYTHON = ("python3", "-c")
MOUNT = "import ctypes; ctypes.CDLL(None, use_errno=True).mount(b'a', b'/tmp', b'tmpfs', 0, None)"


def test_a_refused_call_is_listed_once_with_its_remedy(box, audited):
    result = box("--", *PYTHON, MOUNT + ";" + MOUNT)
    assert result["denials_seen"] is True, result
    assert rows(result) == {("syscall", "mount"): {
        "kind": "syscall", "what": "mount", "rule": "seccomp",
        "remedy": "ringfort policy why syscall mount"}}


def test_a_well_behaved_program_is_refused_nothing(box, audited):
    result = box("--", *PYTHON, "import subprocess; subprocess.run(['ls', '/'], check=True)")
    assert (result["status"], result["denials_seen"], result["denials"]) == ("ok", True, []), result


def test_what_programs_ask_for_in_passing_is_not_listed(box, audited):
    """io_uring is absent as on an older kernel; core limits are answered as if they were set."""
    result = box("--", *PYTHON, "import ctypes, resource\n"
                 "ctypes.CDLL(None).syscall(425, 8, 0)\n"
                 "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n")
    assert (result["status"], result["denials"]) == ("ok", []), result


def test_an_abstract_socket_of_the_host_is_named(box, audited):
    """Landlock's own refusal; the name comes in hexadecimal, with the NUL that it begins with."""
    name = f"rf denials {os.getpid()}"
    with socket.socket(socket.AF_UNIX) as outside:
        outside.bind("\0" + name)
        outside.listen()
        result = box("--net", "host", "--unix", "on", "--", *PYTHON,
                     f"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')")
    assert result["denials_seen"] is True, result
    row = rows(result)["network", "@" + name]
    assert row["rule"] == "landlock: scope.abstract_unix_socket" and row["remedy"] is None


def test_a_killed_box_still_tells(box, audited):
    result = box("--time", "2s", "--", *PYTHON, MOUNT + "; import time; time.sleep(60)")
    assert result["status"] == "timeout"
    assert ("syscall", "mount") in rows(result), result


def test_another_box_s_denials_are_its_own(box, ringfort, workdir, audited):
    """Both run at the same time; each lists what it was refused and nothing of the other's."""
    unshare = "import ctypes; ctypes.CDLL(None).unshare(0x20000)"
    loop = "import time\nfor _ in range(20):\n    {}\n    time.sleep(0.02)\n"
    with subprocess.Popen([ringfort, "run", "--json", "--", *PYTHON, loop.format(unshare)],
                          cwd=workdir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as other:
        result = box("--", *PYTHON, loop.format(MOUNT))
        others = json.loads(other.communicate(timeout=60)[0])
    assert set(rows(result)) == {("syscall", "mount")}, result
    assert set(rows(others)) == {("syscall", "unshare")}, others
    assert result["denials_seen"] and others["denials_seen"]


def test_a_flood_ends_with_the_box_and_says_that_it_was_one(box, audited):
    before = time.monotonic()
    result = box("--time", "1s", "--", *PYTHON, "import ctypes\nmount = ctypes.CDLL(None).mount\n"
                 "while True: mount(b'a', b'b', b'c', 0, None)")
    assert result["status"] == "timeout" and time.monotonic() - before < 20
    assert set(rows(result)) == {("syscall", "mount")}
    assert result["denials_seen"] or any("denials" in text for text in result["warnings"]), result


def test_with_stats_people_are_told_and_else_they_are_not(ringfort, workdir, audited):
    def said(*options):
        return subprocess.run([ringfort, "run", *options, "--", *PYTHON, MOUNT], cwd=workdir,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              timeout=60).stderr
    assert b"syscall mount (seccomp)" in said("--stats")
    assert b"mount" not in said()


def test_nobody_switches_auditing(box, unaudited):
    result = box("--", *PYTHON, MOUNT)
    assert enabled() == 0
    assert (result["denials"], result["denials_seen"]) == ([], False), result


def test_an_ordinary_user_does_not_see_denials(run_json, as_who):
    if as_who == "root":
        pytest.skip("root's boxes are looked at above")
    result = run_json("--", *PYTHON, MOUNT)
    assert (result["denials"], result["denials_seen"]) == ([], False), result


def test_doctor_tells_whether_denials_are_seen(ringfort):
    for context, states in ((auditing(0), {"absent"}), (auditing(1), {"present", "partial"})):
        with context:
            done = subprocess.run([ringfort, "doctor", "--json"], capture_output=True, check=False,
                                  timeout=60)
            row, = [row for row in json.loads(done.stdout)["checks"] if row["id"] == "audit"]
            assert row["state"] in states, row
            assert row["state"] != "absent" or row["remedy"] == "auditctl -e 1"
