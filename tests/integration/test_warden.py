"""A warden's life: it stands, serves its own user, and leaves nothing, however it or a client ends."""
import concurrent.futures
import glob
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pytest

from helpers import CONFINED, IN_A_DOMAIN, LINGERING, eventually, left_cgroups, processes_with

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from wardens import IS_ROOT, USER_ID, Warden, become, receive  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

# How many clients at once, and how many runs in a row; RF_WARDEN_FULL=1 asks for the full size.
CLIENTS, RUNS = (200, 300) if os.environ.get("RF_WARDEN_FULL") else (50, 60)


@pytest.fixture
def folder(public):
    path = pathlib.Path(tempfile.mkdtemp(prefix="warden-", dir=public))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def stand(ringfort, as_who, folder):
    """Starts a warden; every one is ended after the test."""
    wardens = []

    def stand_up(*options, **more):
        wardens.append(Warden(ringfort, as_who, folder / f"run{len(wardens)}", *options, **more))
        return wardens[-1]

    yield stand_up
    for warden in wardens:
        warden.close()


@pytest.fixture
def warden(stand):
    return stand()


@pytest.fixture(scope="module")
def standing(ringfort, public):
    """One for each user, for all tests that leave theirs as it was; started when the first asks for it."""
    found = {}
    yield lambda who: found.get(who) or found.setdefault(who, Warden(ringfort, who, public / f"standing-{who}"))
    for warden in found.values():
        warden.close()


@pytest.fixture
def shared(standing, as_who):
    return standing(as_who)


def token():
    return f"7654{time.monotonic_ns()}"


def sleeper(warden, word, *options):
    """A client whose box sleeps; gives it once the box is up."""
    client = warden.start("run", *options, "--", "sh", "-c", f"echo up; sleep {word}")
    assert client.stdout.readline() == b"up\n", client.stderr.read()
    return client


def assert_nothing_is_left(warden, groups, *words):
    for word in words:
        assert eventually(lambda: not processes_with(word), 3), "processes"
    assert eventually(lambda: not warden.records, 4), warden.records
    assert eventually(lambda: not left_cgroups(0) - groups, 4), left_cgroups() - groups


# --- it stands ---

def test_status_tells_whether_one_stands(stand, ringfort, as_who, folder):
    warden = stand()
    done = warden.run("warden", "--status")
    assert done.returncode == 0 and done.stdout.decode().startswith(f"a warden stands: pid {warden.pid}, version ")
    said = json.loads(warden.run("warden", "--status", "--json").stdout)
    assert said["stands"] is True and said["pid"] == warden.pid and said["boxes"] == "full"
    assert warden.end() == 0
    done = warden.run("warden", "--status")
    assert done.returncode == 1 and b"no warden stands" in done.stdout
    done = warden.run("warden", "--status", "--json")
    assert done.returncode == 1 and json.loads(done.stdout) == {"stands": False}


def test_a_second_one_is_refused_and_the_first_goes_on(shared):
    done = shared.run("warden")
    assert done.returncode == 125 and b"there already" in done.stderr and b"SIGTERM" in done.stderr
    assert shared.run("run", "--", "echo", "served").stdout == b"served\n"


def test_wrong_words_are_refused_with_a_remedy(shared):
    for words in (["--ahead", "many"], ["--ahead", "257"], ["--ceiling", "no-such-profile"], ["extra"]):
        done = shared.run("warden", *words)
        assert done.returncode == 125 and done.stderr.count(b"\n") >= 2, done


def test_a_run_can_do_without(shared):
    """Whose parent is the warden was started by it."""
    def parents(*options):
        word = token()
        client = sleeper(shared, word, *options)
        inits = {int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
                 for pid in processes_with(word) if pid != client.pid}
        found = {int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in inits}
        client.kill()
        client.communicate()
        return found

    assert shared.pid in parents()
    assert shared.pid not in parents("--no-warden")


# --- it ends ---

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=["TERM", "INT", "HUP"])
def test_asked_to_end_it_leaves_nothing(number, warden):
    groups, word = left_cgroups(0), token()
    assert warden.run("run", "--", "true").returncode == 0
    warden.wait_for_ready(bool)
    client = sleeper(warden, word)
    assert warden.end(number) == 0
    _, err = client.communicate(timeout=10)
    assert client.returncode == 125 and b"the warden is gone" in err
    assert_nothing_is_left(warden, groups, word)
    assert [name for name in os.listdir(warden.folder) if name not in ("boxes", "uids")] == []
    assert not processes_with(str(warden.runtime)), "not even the janitor"


def test_killed_it_takes_its_boxes_along(warden, stand):
    groups, word = left_cgroups(0), token()
    assert warden.run("run", "--", "true").returncode == 0
    ready = warden.wait_for_ready(bool)
    clients = [sleeper(warden, word) for _ in range(3)]
    os.kill(warden.pid, signal.SIGKILL)
    for client in clients:
        _, err = client.communicate(timeout=10)
        assert client.returncode == 125 and b"the warden is gone" in err
    assert eventually(lambda: not [pid for pid in ready if os.path.exists(f"/proc/{pid}")], 3)
    assert_nothing_is_left(warden, groups, word)


def test_a_killed_one_is_followed_by_another(warden):
    os.kill(warden.pid, signal.SIGKILL)
    warden.process.wait()
    assert warden.run("run", "--", "echo", "alone").stdout == b"alone\n", "who finds a dead socket does without"
    second = warden.start("warden")
    try:
        assert eventually(lambda: warden.run("warden", "--status").returncode == 0, 10)
        assert warden.run("run", "--", "echo", "again").stdout == b"again\n"
    finally:
        second.terminate()
        second.communicate(timeout=10)


def test_a_killed_clients_box_dies(warden):
    groups, word = left_cgroups(0), token()
    client = sleeper(warden, word)
    client.kill()
    client.communicate()
    assert eventually(lambda: not processes_with(word), 3)
    warden.end()
    assert_nothing_is_left(warden, groups, word)


def test_a_box_that_stands_ready_is_used_once(shared):
    """Runs in a row share nothing that a box has of its own."""
    script = "ls /tmp ~; echo $$; touch /tmp/mine ~/mine; readlink /proc/self/ns/*; cat /proc/sys/kernel/random/boot_id"
    found = []
    for _ in range(4):
        result = json.loads(shared.run("run", "--json", "--", "sh", "-c", script).stdout)
        lines = result["stdout"].split("\n")
        assert "mine" not in lines, lines
        found.append(result["id"])
        shared.wait_for_ready(bool)
    assert len(set(found)) == 4


def is_dead(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def test_a_box_that_was_killed_while_it_waited_is_not_given_out(warden):
    for _ in range(3):
        assert warden.run("run", "--", "true").returncode == 0
        ready = warden.wait_for_ready(bool)[0]
        os.kill(ready, signal.SIGKILL)
        assert eventually(lambda: is_dead(ready))  # who is only about to die could still be given out
    assert warden.run("run", "--", "echo", "fine").stdout == b"fine\n"


@pytest.mark.parametrize("options", [[], ["--loopback", "off"], ["--profile", "strict"],
                                     ["--loopback", "off", "--deny", "/nowhere"]], ids=" ".join)
def test_two_boxes_at_once_share_no_namespace(options, shared):
    """Neither from boxes that stood ready nor from such that were built while somebody waited."""
    names = ("mnt", "pid", "ipc", "uts", "user", "net", "cgroup")

    def ids():
        script = f"cd /proc/self/ns; readlink {' '.join(names)}; sleep 0.5"
        clients = [shared.start("run", *options, "--", "sh", "-c", script) for _ in range(5)]
        return [client.communicate(timeout=20)[0].split() for client in clients]

    shared.run("run", *options, "--", "true")
    shared.wait_for_ready(bool)
    for found in zip(names, *ids()):
        assert len(set(found)) == 6, found


def test_no_box_stands_ready_where_none_is_wanted(stand):
    warden = stand("--ahead", "0")
    assert [warden.run("run", "--", "echo", "x").stdout for _ in range(3)] == [b"x\n"] * 3
    time.sleep(0.3)
    assert warden.waiting == []


# --- what a ready box shows is what a fresh one would show ---

@pytest.fixture
def here(public):
    path = pathlib.Path(tempfile.mkdtemp(prefix="here-", dir=public))
    path.chmod(0o755)
    give(path)
    yield path
    subprocess.run(["umount", "-l", path / "later"], stderr=subprocess.DEVNULL, check=False)
    shutil.rmtree(path, ignore_errors=True)


def give(path):
    if IS_ROOT:
        os.chown(path, USER_ID, USER_ID)
    return path


def warm(warden, *args, cwd):
    """Runs it once, and waits for the box that stands ready afterwards."""
    before = set(warden.waiting)
    done = warden.run("run", *args, cwd=cwd)
    warden.wait_for_ready(lambda pids: set(pids) - before)
    return done.stdout


def test_a_file_that_was_replaced_is_seen(shared, here):
    (here / "shown").write_text("old\n")
    words = ["--read", here / "shown", "--workdir", "/", "--", "cat", here / "shown"]
    assert warm(shared, *words, cwd="/") == b"old\n"
    (here / "new").write_text("new\n")
    os.replace(here / "new", here / "shown")
    assert shared.run("run", *words, cwd="/").stdout == b"new\n"
    (here / "shown").unlink()
    assert shared.run("run", *words, cwd="/").returncode == 125, "what is gone can't be shown"


@pytest.mark.parametrize("name", [".env", ".netrc", ".npmrc", "id_rsa"])
def test_a_credential_that_appears_is_hidden(name, shared, here):
    words = ["--", "cat", name]
    assert warm(shared, *words, cwd=here) == b""
    (here / name).write_text("SECRET\n")
    done = shared.run("run", *words, cwd=here)
    alone = shared.run("run", "--no-warden", *words, cwd=here)
    assert done.stdout == alone.stdout and done.returncode == alone.returncode, name
    if name in (".env", ".netrc"):
        assert b"SECRET" not in done.stdout and b"hidden" in done.stderr


def test_a_directory_that_was_replaced_is_seen(shared, here):
    for name in ("one", "two"):
        give(here / name) if (here / name).mkdir() else None
        (here / name / "which").write_text(name)
    words = ["--read", here / "one", "--workdir", "/", "--", "cat", here / "one/which"]
    assert warm(shared, *words, cwd="/") == b"one"
    os.rename(here / "one", here / "gone")
    os.rename(here / "two", here / "one")
    assert shared.run("run", *words, cwd="/").stdout == b"two"


def test_the_current_directory_may_be_another_one(shared, here):
    place = here / "place"
    place.mkdir()
    (place / "which").write_text("first")
    assert warm(shared, "--", "cat", "which", cwd=place) == b"first"
    os.rename(place, here / "moved")
    place.mkdir()
    (place / "which").write_text("second")
    assert shared.run("run", "--", "cat", "which", cwd=place).stdout == b"second"


def test_a_mount_that_appears_is_seen(stand, here, as_who, ringfort, folder):
    if not IS_ROOT:
        pytest.skip("needs root, who mounts")
    warden = stand()
    (here / "later").mkdir()
    (here / "later/which").write_text("below")
    words = ["--read", here, "--workdir", "/", "--", "cat", here / "later/which"]
    assert warm(warden, *words, cwd="/") == b"below"
    where = warden.enter or []
    subprocess.run([*where, "mount", "-t", "tmpfs", "none", here / "later"], check=True)
    subprocess.run([*where, "sh", "-c", f"echo -n mounted > {here}/later/which"], check=True)
    assert warden.run("run", *words, cwd="/").stdout == b"mounted"
    subprocess.run([*where, "umount", here / "later"], check=True)
    assert warden.run("run", *words, cwd="/").stdout == b"below"


def test_a_trees_owner_counts(shared, here, as_who):
    if as_who != "root":
        pytest.skip("needs root, who gives a folder away")
    own = here / "own"
    own.mkdir()
    words = ["--write", own, "--workdir", own, "--", "sh", "-c", "touch $$.$(date +%N); echo made"]
    for owner in (USER_ID, USER_ID + 1):
        os.chown(own, owner, owner)
        assert warm(shared, *words, cwd="/") == b"made\n"
        assert shared.run("run", *words, cwd="/").stdout == b"made\n"
        assert {path.stat().st_uid for path in own.iterdir()} == {owner}
        for path in own.iterdir():
            path.unlink()


# --- what is the client's own ---

def test_a_box_lies_beneath_its_clients_groups(shared, as_who):
    if as_who != "root" or not IS_ROOT:
        pytest.skip("needs root, who makes groups")
    word, made = token(), []
    for line in pathlib.Path("/proc/self/cgroup").read_text().split():
        _, kinds, path = line.split(":", 2)
        base = pathlib.Path("/sys/fs/cgroup" if not kinds else f"/sys/fs/cgroup/{kinds.replace('name=', '')}")
        group = pathlib.Path(f"{base}{path}") / f"rf-test-{word}"
        try:
            group.mkdir()
            made.append(group)
        except OSError:
            pass
    if not made:
        pytest.skip("no cgroup can be made here")
    try:
        join = "; ".join(f"echo $$ > {group}/cgroup.procs 2>/dev/null" for group in made)
        client = shared.start("run", "--", "sh", "-c", f"echo up; sleep {word}", wrap=["sh", "-c", f'{join}; exec "$@"', "sh"])
        assert client.stdout.readline() == b"up\n"
        assert eventually(lambda: processes_with(f"sleep\0{word}"), 3), "it said so, and goes to sleep next"
        asleep = processes_with(f"sleep\0{word}")
        groups = pathlib.Path(f"/proc/{asleep[0]}/cgroup").read_text()
        beneath = [line for line in groups.split("\n") if f"rf-test-{word}/" in line]
        assert beneath, groups
        client.kill()
        client.communicate()
        assert eventually(lambda: not processes_with(word), 3)
    finally:
        for group in made:
            eventually(lambda: not glob.glob(f"{group}/ringfort*"), 3)
            for _ in range(50):
                try:
                    group.rmdir()
                    break
                except OSError:
                    time.sleep(0.05)


# --- no run goes beyond the ceiling ---

def test_a_request_beyond_the_ceiling_is_bounded(stand, here, as_who):
    (here / "secret").write_text("x")
    (here / "ceiling.yaml").write_text("limits: {time: 500ms, output: 100}\nnetwork: {link: none}\n")
    bounded = stand("--ceiling", here / "ceiling.yaml")
    result = json.loads(bounded.run("run", "--json", "--time", "60s", "--", "sleep", "30", cwd=here).stdout)
    assert result["status"] == "timeout" and result["usage"]["wall_ms"] < 5000, result
    done = bounded.run("run", "--net", "host", "--", "ls", "/sys/class/net", cwd=here)
    alone = bounded.run("run", "--no-warden", "--net", "host", "--", "sh", "-c", "cat /proc/net/dev | wc -l", cwd=here)
    limited = bounded.run("run", "--net", "host", "--", "sh", "-c", "cat /proc/net/dev | wc -l", cwd=here)
    assert limited.returncode != 0 or int(limited.stdout) <= 3, (limited, alone, done)


# --- who may ask ---

# Descriptors in messages that nobody reads: the kernel counts them by user, in whatever namespaces, against each sender's own limit.
ON_THEIR_WAY = """
import array, os, socket, time
kept, null = [], os.open("/dev/null", 0)
try:
    while True:
        pair = socket.socketpair()
        kept.append(pair)
        for _ in range(200):
            pair[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null] * 200))])
except OSError:
    print("full", flush=True)
    time.sleep(60)
"""


def test_descriptors_that_a_box_has_on_their_way_keep_no_others_from_passing_theirs(stand):
    few = ["prlimit", "--nofile=1024:4096", "--"]
    warden = stand(before=few)
    hostile = warden.start("run", "--no-warden", "--open-files", "1200", "--", "python3", "-c", ON_THEIR_WAY)
    try:
        assert hostile.stdout.readline() == b"full\n"
        for words in ([], ["-t"], ["--no-warden", "-t"]):
            done = warden.run("run", *words, "--", "echo", "here", wrap=few)
            assert done.returncode == 0 and b"here" in done.stdout, (words, done)
    finally:
        hostile.kill()
        hostile.wait()


def test_another_user_cannot_connect(shared):
    if not IS_ROOT:
        pytest.skip("needs root, who becomes others")
    code = f"""
import os, socket
sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
try:
    sock.connect(("/run/ringfort" if {bool(shared.enter)} else "{shared.folder}") + "/warden.sock")
    print("connected")
except OSError as error:
    print(error.errno)
"""
    stranger = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "--"]
    done = subprocess.run([*shared.enter, *stranger, "/usr/bin/python3", "-c", code], capture_output=True, check=False)
    assert done.stdout.strip() in (b"13", b"1"), done


def test_root_is_refused_by_another_users_warden(shared, as_who):
    if as_who != "user" or not IS_ROOT:
        pytest.skip("needs root, and a user's warden")
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.settimeout(10)
    sock.connect(str(shared.folder / "warden.sock"))
    kind = receive(sock)
    assert kind is None or kind[0] == 9
    sock.close()


@pytest.mark.parametrize("wrap", CONFINED.values(), ids=CONFINED)
def test_a_confined_client_does_not_get_out_by_asking(wrap, shared):
    code = """
        sock = connect()
        run = None
        try:
            run = Run(sock, errand("echo", "out"))
            answer = receive(sock)
        except OSError as error:
            answer = (9, 0, str(error).encode())
        print(answer and answer[0], run and run.read())
    """
    try:
        said = shared.python(code, wrap=wrap)
    except AssertionError as error:
        if "unshare" in str(error) or "Permission denied" in str(error):
            said = "9 None"
        else:
            raise
    assert said.split()[0] in ("9", "None") and "out" not in said, said


@pytest.mark.parametrize("maker, kind", [("like", 6), ("confined", 9), ("dead", 9)])
def test_a_socket_joins_by_who_made_it_and_not_by_who_brought_it(maker, kind, shared):
    said = shared.python("""
        import ctypes
        ours, childs = socket.socketpair()
        child = os.fork()
        if child == 0:
            if sys.argv[2] == "confined":
                assert ctypes.CDLL(None).prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
            pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            socket.send_fds(childs, [b"x"], [pair[0].fileno(), pair[1].fileno()])
            if sys.argv[2] != "dead":
                childs.recv(1)
            os._exit(0)
        _, fds, _, _ = socket.recv_fds(ours, 1, 2)
        if sys.argv[2] == "dead":
            os.waitpid(child, 0)
        sock = connect()
        send(sock, message(JOIN), fds[:1])
        send(sock, message(HELLO))
        print(receive(sock)[0])
        if sys.argv[2] != "dead":
            ours.send(b"x")
            os.waitpid(child, 0)
    """, maker)
    assert said == f"{kind}\n"


def test_a_warden_says_that_it_is_not_for_who_is_in_a_domain(shared):
    done = shared.run("warden", "--status", wrap=["/usr/bin/python3", "-c", IN_A_DOMAIN])
    assert done.returncode != 0 and b"not for this process" in done.stderr, done


@pytest.mark.parametrize("what", ["/proc/self/mem", "/proc/{}/auxv", "/dev/null"])
def test_only_a_look_at_the_warden_itself_is_a_proof(what, shared, as_who):
    if as_who != "root":
        pytest.skip("only root's clients prove it")
    said = shared.python("""
        sock = connect()
        pid = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        with open(sys.argv[2].format(pid), "rb") as file:
            send(sock, message(PROVE), [file.fileno()])
        print(receive(sock)[0])
    """, what)
    assert said == "9\n"


def test_a_client_unlike_the_warden_makes_its_box_itself(shared):
    done = shared.run("run", "--", "echo", "made", wrap=["setpriv", "--no-new-privs", "--"])
    assert done.stdout == b"made\n", done


# --- clients that do not behave ---

ODD = {
    "too short": "send(sock, b'abc')",
    "empty": "send(sock, b'')",
    "no body of that length": "send(sock, message(RUN, b'x', length=500))",
    "another version": "send(sock, message(HELLO, version=4))",
    "a type that there is not": "send(sock, message(77))",
    "a type of the warden's": "send(sock, message(ENDED, b'x'))",
    "a run without streams": "send(sock, message(RUN, errand('true')))",
    "a run of nothing": "Run(sock, b'x' * 100)",
    "a run without words": "Run(sock, errand())",
    "descriptors that nobody wants": "send(sock, message(HELLO), [0, 1, 2])",
    "many descriptors": "send(sock, message(HELLO), [0] * 60)",
    "a signal that there is not": "send(sock, message(SIGNAL, struct.pack('=I', 99)))",
    "an end for no limit": "send(sock, message(END, struct.pack('=I', 99)))",
    "a join without a socket": "send(sock, message(JOIN), [0])",
    "a long body in no memfd": "send(sock, message(RUN, b'', length=1000000), [0, 1, 2, 0])",
    "streams that are files": "send(sock, message(RUN, errand('true')), [os.open('/dev/null', os.O_RDWR)] * 3)",
    "a policy that is none": "Run(sock, errand('true', policy='limits: [what'))",
    "a nice below all": "Run(sock, errand('true', nice=-100))",
    "a relative folder": "Run(sock, errand('true', cwd='here'))",
    "a word that never ends": "send(sock, message(RUN, errand('true')[:-30]), [0, 1, 2])",
    "a kept box with streams": "send(sock, message(KEEP, errand('true')), [0, 1, 2])",
    "a program for no box": "send(sock, message(EXEC, string('none') + strings(['true']) + strings([]) + bytes(24)))",
    "a program that is malformed": "send(sock, message(EXEC, b'x' * 50), [0, 1, 2])",
    "a box that is not kept": "send(sock, message(FREEZE, b'none'.ljust(40, bytes(1))))",
    "terms that are none": "send(sock, message(BOUND, b'x' * 30), [0])",
    "terms for no socket": "send(sock, message(BOUND, string('k') + string('t') + string('') + struct.pack('=I', 1)), [0])",
    "a ceiling that is none": "bind(sock, ceiling='limits: [what')",
    "an end of others' connections": "send(sock, message(95, b'k1'))",
    "an id without an end": "send(sock, message(CLOSE, b'x' * 40))",
}


@pytest.mark.parametrize("how", ODD.values(), ids=ODD)
def test_what_is_no_request_is_refused_and_others_are_served(how, shared):
    said = shared.python(f"""
        sock = connect()
        try:
            {how}
            answer = receive(sock)
        except OSError as error:
            answer = None
        print("nothing" if answer is None else answer[0])
    """).strip()
    assert said in ("nothing", "8", "9"), said
    assert shared.run("run", "--", "echo", "well").stdout == b"well\n"


def test_random_bytes_hurt_nobody(shared):
    shared.python("""
        import random
        chance = random.Random(int(time.time()))
        print("seed", chance.getstate()[1][0])
        for i in range(300):
            sock = connect()
            body = bytearray(errand("true"))
            for _ in range(chance.randrange(1, 5)):
                body[chance.randrange(len(body))] = chance.randrange(256)
            try:
                Run(sock, bytes(body)).close()
            except OSError:
                pass
            sock.close()
    """)
    assert shared.run("run", "--", "echo", "well").stdout == b"well\n"


def test_who_says_nothing_or_does_not_read_keeps_nobody_waiting(shared):
    said = shared.python("""
        silent = [connect() for _ in range(50)]
        deaf = connect()
        deaf.setblocking(False)
        sent = 0
        try:
            for _ in range(100000):
                send(deaf, message(HELLO))
                sent += 1
        except OSError:
            pass
        busy = connect()
        run = Run(busy, errand("yes"))     # whose output nobody reads
        kind, _, _ = receive(busy)
        other = connect()
        began = time.monotonic()
        done = Run(other, errand("echo", "served"))
        print(kind, done.read(), time.monotonic() - began < 5, sent > 10)
    """)
    assert said.strip() == "7 b'served\\n' True True", said
    assert eventually(lambda: not [pid for pid in processes_with("yes") if comm(pid) == "yes"], 3)


def comm(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


@pytest.mark.parametrize("wrap", [[], ["setpriv", "--no-new-privs", "--"]], ids=["served", "refused"])
def test_a_socket_that_lingers_keeps_nobody_waiting(wrap, shared):
    """To close it takes the warden as long as whoever passed it likes, unless it sees to it first."""
    said = shared.python(LINGERING + "print(answer_after(*(message(kind) for kind in (JOIN, PROVE, 77, HELLO, HELLO))))",
                         wrap=wrap)
    assert float(said) < 4
    assert shared.run("run", "--", "echo", "served").stdout == b"served\n"


def test_one_connection_has_one_run_at_a_time(shared):
    said = shared.python("""
        sock = connect()
        first = Run(sock, errand("sleep", "0.5"), number=1)
        assert receive(sock)[:2] == (STARTED, 1)
        second = Run(sock, errand("true"), number=2)
        print(receive(sock)[:2], receive(sock)[:2])
        third = Run(sock, errand("echo", "third"), number=3)
        print(third.read(), receive(sock)[:2], receive(sock)[:2])
    """)
    assert said == "(9, 2) (8, 1)\nb'third\\n' (7, 3) (8, 3)\n", said


def test_many_clients_at_once_are_all_served(stand):
    warden = stand(before=["sh", "-c", 'ulimit -Sn 1024; exec "$@"', "sh"])
    groups = left_cgroups(0)
    clients = [warden.start("run", "--", "sh", "-c", f"echo {i}; sleep 1") for i in range(CLIENTS)]
    for i, client in enumerate(clients):
        out, err = client.communicate(timeout=100)
        assert client.returncode == 0 and out == b"%d\n" % i, (i, client.returncode, err)
    warden.end()
    assert_nothing_is_left(warden, groups)


def test_descriptors_and_memory_do_not_grow(warden):
    def held():
        warden.wait_for_ready(lambda pids: len(pids) == 1)
        resident = int(pathlib.Path(f"/proc/{warden.pid}/statm").read_text().split()[1]) * 4096
        return len(os.listdir(f"/proc/{warden.pid}/fd")), resident

    def run(i):
        return warden.run("run", "--", *(["true"] if i % 3 else ["no-such-program"])).returncode

    [run(i) for i in range(20)]
    fds, resident = held()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        codes = set(pool.map(run, range(RUNS)))
    assert codes == {0, 127}
    assert eventually(lambda: held()[0] <= fds, 5), (fds, held())
    assert held()[1] < resident + 2**20


# --- the private life ---

@pytest.fixture
def private(ringfort, as_who, folder):
    """`ringfort-warden --private` with one end of a pair as descriptor 3; gives the other end, and the process.  The
    pair is made by whoever runs, in whose name the other end is."""
    code = """
import os, socket, subprocess, sys, time
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if os.fork() == 0:
    os.setsid()
    os.dup2(theirs.fileno(), 3)
    os.execv(sys.argv[1], [sys.argv[1], "--private"])
theirs.close()
""" + pathlib.Path(sys.modules["wardens"].__file__).read_text()

    def run(more, **options):
        warden = str(pathlib.Path(ringfort).parent / "ringfort-warden")
        return subprocess.Popen([*become(as_who), "/usr/bin/python3", "-c", code + more, warden], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
                                env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(folder)}, **options)

    return run


def test_a_private_warden_serves_its_owner_and_ends_with_it(private):
    groups = left_cgroups(0)
    owner = private("""
send(ours, message(HELLO))
print(receive(ours)[0])
for i in range(3):
    run = Run(ours, errand("echo", str(i)))
    print(run.read(), receive(ours)[0], receive(ours)[0])
ours.close()
print(os.waitstatus_to_exitcode(os.wait()[1]))
""")
    out, err = owner.communicate(timeout=30)
    assert out.decode().split("\n")[:5] == ["6", "b'0\\n' 7 8", "b'1\\n' 7 8", "b'2\\n' 7 8", "0"], (out, err)
    assert eventually(lambda: not left_cgroups(0) - groups, 3)


def test_a_private_wardens_owner_is_killed_and_all_is_gone(private):
    groups, word = left_cgroups(0), token()
    owner = private(f"""
run = Run(ours, errand("sh", "-c", "echo up; sleep {word}"))
print(os.read(run.stdout, 10), flush=True)
time.sleep(60)
""")
    assert b"up" in owner.stdout.readline()
    owner.kill()
    owner.communicate()
    assert eventually(lambda: not [pid for pid in processes_with(word) if comm(pid) != "python3"], 3)
    assert eventually(lambda: not left_cgroups(0) - groups, 4)


def test_a_private_warden_ends_whenever_its_owner_goes(private, folder):
    """Also when it finds out because there is nobody to tell that a run is over."""
    for _ in range(5):
        owner = private("""
run = Run(ours, errand("echo", "out"))
print(run.read(), flush=True)
os.kill(os.getpid(), 9)
""")
        assert owner.communicate(timeout=30)[0] == b"b'out\\n'\n"

    def left():
        found = []
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                found += [path] if str(folder).encode() in pathlib.Path(path).read_bytes() else []
            except OSError:
                pass
        return found

    assert eventually(lambda: not left(), 5), left()


def test_a_private_warden_takes_further_connections(private):
    owner = private("""
mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
send(ours, message(JOIN), [its.fileno()])
its.close()
one, two = Run(ours, errand("sh", "-c", "sleep 0.3; echo one")), Run(mine, errand("echo", "two"))
print(two.read(), one.read())
""")
    out, err = owner.communicate(timeout=30)
    assert out == b"b'two\\n' b'one\\n'\n", (out, err)


def test_without_descriptors_who_asks_is_told(stand):
    warden = stand(before=["sh", "-c", 'ulimit -n 64; exec "$@"', "sh"])
    clients = [warden.start("run", "--", "sleep", "1") for _ in range(40)]
    ends = []
    for client in clients:
        _, err = client.communicate(timeout=30)
        assert client.returncode == 0 or b"\n" in err, (client.returncode, err)
        ends.append(client.returncode)
    assert 0 in ends and set(ends) <= {0, 125}
    ticks = cpu_ticks(warden.pid)
    time.sleep(0.5)
    assert cpu_ticks(warden.pid) - ticks < 25, "and it rests afterwards"
    assert warden.run("run", "--", "echo", "again").stdout == b"again\n"


def cpu_ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
