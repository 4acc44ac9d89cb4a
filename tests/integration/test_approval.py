"""`ringfort approval`: who started a server decides about writes that wait, of all tenants, without the front."""
import base64
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "gateway"))
from helpers import eventually  # noqa: E402
from test_server_approvals import ALLOW, BOXES, Place, lines, write  # noqa: E402
from test_tls_gateway import SECRET, server as origin  # noqa: E402,F401 pylint: disable=unused-import
from wardens import IS_ROOT, become  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")


@pytest.fixture(scope="module")
def places(ringfort, public, origin):  # noqa: F811
    made = {}
    yield lambda who: made.get(who) or made.setdefault(who, Place(ringfort, who, public / f"operator-{who}", origin))
    for place in made.values():
        place.server.close()


@pytest.fixture
def place(places, as_who):
    return places(as_who)


@pytest.fixture
def box(place):
    made = place.begin(writes="hold")
    yield made
    place.server.delete(f"{BOXES}/{made}", key=place.key)


def say(place, *words, code=0):
    done = place.server.run("approval", *words)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def test_what_waits_is_listed_shown_and_sent(place, box):
    path = f"/body?token=inquery&n={time.monotonic_ns()}"
    which = write(place, box, "-H", "X-Key: mine", path=path)
    row = next(line for line in say(place, "ls").splitlines() if which in line)
    assert "one" in row and box in row and "POST https://api.test:" in row and "inquery" not in row
    one = next(one for one in json.loads(say(place, "ls", "--json")) if one["id"] == which)
    assert one["tenant"] == "one" and one["sandbox"] == box and one["state"] == "waiting"
    shown = say(place, "show", which)
    assert f"POST {path} HTTP/1.1\n" in shown and "x-key: mine\n" in shown.lower() and "\n  | hello\n" in shown and SECRET not in shown
    assert lines(place, path) == []
    assert json.loads(say(place, "allow", "--json", "--reason", "looked at it", which)) == [
        {"id": which, "state": "approved", "status": 200, "refused": None}]
    assert eventually(lambda: lines(place, path), 10)  # its log is written behind the answer
    assert [(one["method"], one["auth"], one["body"]) for one in lines(place, path)] == [("POST", f"Bearer {SECRET}", "hello")]
    assert which not in say(place, "ls")
    # It is in the tenant's record, and it is known who it was.
    assert [event["decision"] for event in place.told(which)] == ["asked", "allow"] and place.told(which)[1]["by"] == "operator"
    decided = json.loads(say(place, "show", "--json", which))
    assert (decided["state"], decided["by"], decided["reason"], decided["tenant"]) == ("approved", "operator", "looked at it", "one")
    assert "it was approved" in say(place, "allow", which, code=1) and "it was approved" in say(place, "deny", which, code=1)


def test_what_is_denied_is_never_sent_and_more_than_one_can_be_named(place, box):
    path = f"/body?n={time.monotonic_ns()}"
    first, second = write(place, box, path=path), write(place, box, path=path)
    assert say(place, "deny", "--reason", "no", first, second).split() == [first, "denied", second, "denied"]
    assert lines(place, path) == [] and [event["decision"] for event in place.told(first)] == ["asked", "deny"]


def test_they_are_of_all_tenants_or_of_one(place, box):
    other = place.server.post(BOXES, {"policy": place.policy(*ALLOW, writes="hold")}, key=place.other).json["id"]
    status, body = place.curl(other, "-d", "x", key=place.other)
    assert status == 202, body
    theirs, ours = json.loads(body)["held"]["id"], write(place, box)
    assert {ours, theirs} <= {one["id"] for one in json.loads(say(place, "ls", "--json"))}
    assert {one["tenant"] for one in json.loads(say(place, "ls", "--json", "--tenant", "two"))} == {"two"}
    assert ours not in say(place, "ls", "--tenant", "two") and theirs in say(place, "ls", "--tenant", "two")
    say(place, "deny", ours, theirs)
    place.server.delete(f"{BOXES}/{other}", key=place.other)


def test_what_a_box_wrote_steers_no_terminal(place, box):
    which = write(place, box, text="c\x1b]0;title\x07d\u202e", path="/body")
    shown = say(place, "show", which)
    assert "\x1b" not in shown and "\x07" not in shown and "\u202e" not in shown and "\\x1b]0;title" in shown
    assert "\x1b" not in say(place, "ls") + say(place, "show", "--json", which)
    say(place, "deny", which)


def test_what_a_box_wrote_is_not_taken_for_what_we_say(place, box):
    """All that is said of it stands before it, and each of its lines has a mark."""
    false = "  body      8 bytes, SHA-256 " + "0" * 64
    which = write(place, box, text=f"harmless\n\n{false}\n\n\nevil=1")
    shown = say(place, "show", which).split("\n")
    assert sum(line.startswith("  body ") for line in shown) == 1 and f"  | {false}" in shown and "  | evil=1" in shown
    ours = next(i for i, line in enumerate(shown) if line.startswith("  body "))
    marked = [i for i, line in enumerate(shown) if line.startswith("  | ")]
    assert ours < marked[0] and "\\x0a" not in "".join(shown)
    assert marked == list(range(marked[0], len(shown) - 1)) and shown[-1] == "", "nothing of ours is behind it"
    say(place, "deny", which)


def test_what_is_not_shown_as_it_is_sent_is_marked(place, box):
    which = write(place, box, path="/" + "a" * 3000)
    row = next(line for line in say(place, "ls").splitlines() if which in line)
    assert "a… " in row and "a" * 3000 in say(place, "show", which)
    say(place, "deny", which)
    done = place.server.post(f"{BOXES}/{box}/exec", {"command": f"""
        printf 'X-Odd: a\\377b' >odd; curl -sS -m 20 -H @odd -d x '{place.url("api.test", "/body")}'"""}, key=place.key, timeout=60)
    which = json.loads(done.json["stdout"])["held"]["id"]
    assert "not all of the head is text" in say(place, "show", which)
    assert b"a\xffb" in base64.b64decode(json.loads(say(place, "show", "--json", which))["head_base64"])
    say(place, "deny", which)


WRONG = {"none is named": (["show"], 125, "which one"), "two are shown": (["show", "a", "b"], 125, "one at a time"), "ls has none": (["ls", "a"], 125, "no argument"),
         "it is not there": (["allow", "0123456789abcdef"], 1, "ringfort approval ls"), "a name that none has": (["deny", "x" * 300], 1, "no approval"),
         "a long reason": (["deny", "--reason", "x" * 201, "a"], 125, "--reason")}


@pytest.mark.parametrize("what", WRONG)
def test_what_can_not_be_done_is_told(place, what):
    words, code, said = WRONG[what]
    assert said in say(place, *words, code=code)


def test_a_clerk_that_was_killed_is_another_one_soon(place):
    clerk, = place.server.children()["ringfort-clerk"]
    os.kill(clerk, signal.SIGKILL)
    end = time.monotonic() + 20
    while (done := place.server.run("approval", "ls")).returncode and time.monotonic() < end:
        time.sleep(0.1)
    assert done.returncode == 0, done.stderr


# Connects to the socket that is named first and says nothing; as many times as is said; and waits.
SILENT = """
import socket, sys, time
held = []
for _ in range(int(sys.argv[2])):
    held.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM if "api" in sys.argv[1] else socket.SOCK_SEQPACKET))
    held[-1].connect(sys.argv[1])
print("there", flush=True)
sys.stdin.read()
"""

# The same from a root that is a file system of its own, which answers no question about its files.
WITHOUT_ANSWER = """
import ctypes, os, socket, struct, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
folder, where, name = sys.argv[1:]
device = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
if libc.mount(b"none", where.encode(), b"fuse", 0, options) < 0:
    sys.exit(os.strerror(ctypes.get_errno()))

def answer():
    while True:
        asked = os.read(device, 1 << 20)
        _, what, number = struct.unpack_from("=IIQ", asked)
        if what == 26:  # FUSE_INIT
            body = struct.pack("=IIII", 7, 31, 0, 0) + bytes(48)
            os.write(device, struct.pack("=IiQ", 16 + len(body), 0, number) + body)
        elif what == 34:  # FUSE_ACCESS: there is none
            os.write(device, struct.pack("=IiQ", 16, -38, number))

threading.Thread(target=answer, daemon=True).start()
os.chdir(folder)
os.chroot(where)
line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET if name == "operator.sock" else socket.SOCK_STREAM)
line.connect(name)
print("there", flush=True)
sys.stdin.read()
os._exit(0)
"""


@contextlib.contextmanager
def beside(place, program, *words, wrap=()):
    """A program beside a server, as the same user, that has said that it is there."""
    with subprocess.Popen([*place.server.before, *wrap, sys.executable, "-c", program, *map(str, words)], env=place.server.env, cwd="/", stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout.readline() == "there\n"
            yield other
        finally:
            other.kill()


def folder_of(place):
    return "/run/ringfort" if place.who == "root" else f"{place.server.runtime}/ringfort"


def test_who_comes_and_says_nothing_keeps_nobody_out(place):
    with beside(place, SILENT, f"{folder_of(place)}/operator.sock", 200):
        for _ in range(3):
            assert place.server.run("approval", "ls").returncode == 0


def test_a_server_without_descriptors_does_not_spin(place):
    pid = place.server.pid

    def limit(most):
        subprocess.run([*become(place.who), "prlimit", f"--pid={pid}", f"--nofile={most}:"], check=True)

    def used():
        return sum(map(int, pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))

    def is_refused():
        """Again, if a descriptor of somebody who was leaving came free meanwhile."""
        taken = set(map(int, os.listdir(f"/proc/{pid}/fd")))
        limit(next(n for n in range(4096) if n not in taken))
        done = place.server.run("approval", "ls")
        return done.returncode == 125 and "descriptors" in done.stderr

    try:
        assert eventually(is_refused)
        with beside(place, SILENT, f"{folder_of(place)}/api.sock", 2):
            before = used()
            time.sleep(1.5)
            assert used() - before < 50, "hundredths of a second, in one and a half"
    finally:
        limit(1024)
    assert place.server.run("approval", "ls").returncode == 0


@pytest.mark.parametrize("name", ["operator.sock", "api.sock"])
def test_who_has_a_root_that_does_not_answer_is_not_waited_for(place, name, tmp_path):
    if place.who != "root" or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("needs root, whose /dev/fuse it is")
    with beside(place, WITHOUT_ANSWER, folder_of(place), tmp_path, name, wrap=["unshare", "--user", "--map-root-user", "--mount"]):
        assert place.server.run("approval", "ls").returncode == 0
        assert place.server.get("/v1/health").status == 200


def test_who_is_confined_gets_nothing(place, as_who):
    """As on the socket that speaks HTTP; and there is no key that would help."""
    confined = {"no_new_privs": ["setpriv", "--no-new-privs"],
                "network": ["unshare", "--net"] if as_who == "root" else ["unshare", "--user", "--map-current-user", "--net"]}
    for name, wrap in confined.items():
        done = subprocess.run([*place.server.before, *wrap, place.server.ringfort, "approval", "ls"], env=place.server.env, cwd="/",
                              capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 125 and done.stdout == "" and done.stderr, (name, done)
    assert place.server.run("approval", "ls").returncode == 0


def test_another_user_gets_nothing(place, as_who):
    if not IS_ROOT or as_who == "root":
        pytest.skip("only root can be two users, and its server's sockets are out of sight")
    done = subprocess.run([*become("root"), place.server.ringfort, "approval", "ls"], env=place.server.env, cwd="/",
                          capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode != 0 and done.stdout == "", done


def test_without_a_server_that_is_said(place):
    env = {**place.server.env, "XDG_RUNTIME_DIR": "/nonexistent"}
    before = place.server.before if place.who == "user" else ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /run && exec \"$@\"", "sh"]
    done = subprocess.run([*before, place.server.ringfort, "approval", "ls"], env=env, cwd="/", capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1 and "no server of this user's runs" in done.stderr and "ringfort serve" in done.stderr
