"""The watcher: every run is recorded, nothing acknowledged is lost, and who must be recorded does not run without."""
import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from helpers import CONFINED, IN_A_DOMAIN, LINGERING, eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from watchers import IS_ROOT  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

# How often a watcher is killed under load; RF_WATCH_KILLS=500 for the whole of it.
KILLS = int(os.environ.get("RF_WATCH_KILLS", "15"))


# --- what is recorded ---

def test_a_run_is_recorded_from_its_start_to_its_end(post):
    post.stand()
    assert post.run("run", "--agent", "builder", "--", "sh", "-c", "exit 3").returncode == 3
    started, ended = post.events("--kind", "run")
    assert started["kind"] == "run.started" and ended["kind"] == "run.ended"
    assert started["box"] == ended["box"] and len(started["box"]) == 16
    assert started["agent"] == ended["agent"] == "builder"
    assert started["program"] == "sh"
    assert len(started["policy"]) == len(started["plan"]) == 64
    assert (ended["verdict"], ended["exit_code"]) == ("failed", 3)
    assert ended["wall_us"] > 0 and ended["isolation"] == "process"
    assert started["user"] == (0 if post.is_room else 12345 if IS_ROOT else os.geteuid())
    assert post.verify()["good"]


def test_the_hashes_say_which_policy_it_was(post):
    post.stand()
    for words in ([], [], ["--memory", "64M"]):
        assert post.run("run", *words, "--", "true").returncode == 0
    one, same, other = post.events("--kind", "run.started")
    assert (one["policy"], one["plan"]) == (same["policy"], same["plan"])
    assert one["policy"] != other["policy"] and one["plan"] != other["plan"]


def test_nothing_that_a_program_is_given_or_says_is_stored(post):
    post.stand()
    done = post.run("run", "--env", "KEY=vvsecretvv", "--", "sh", "-c", "echo aasecretaa $KEY; exit 1")
    assert done.returncode == 1
    post.end()
    stored = b"".join(path.read_bytes() for path in post.log.iterdir() if path.is_file())
    assert b"run" not in stored[:0] and b"secret" not in stored and b"echo" not in stored


def test_a_warden_records_its_runs(post):
    post.stand()
    warden = post.start("warden")
    try:
        assert eventually(lambda: post.run("warden", "--status").returncode == 0, 20)
        assert post.run("run", "--agent", "far", "--audit", "required", "--", "true").returncode == 0
        assert eventually(lambda: len(post.events("--agent", "far")) == 2)
        started, ended = post.events("--agent", "far")
        assert started["pid"] == warden.pid and ended["verdict"] == "ok"
        # The watcher goes, and another one comes: the warden finds it.
        post.end()
        assert post.run("run", "--audit", "required", "--", "true").returncode == 126
        assert post.run("run", "--", "true").returncode == 0
        post.stand()
        assert post.run("run", "--agent", "again", "--audit", "required", "--", "true").returncode == 0
        assert eventually(lambda: len(post.events("--agent", "again")) == 2)
    finally:
        warden.terminate()
        warden.communicate(timeout=20)


def test_off_is_not_recorded_and_auto_needs_no_watcher(post):
    assert post.run("run", "--", "true").returncode == 0
    post.stand()
    assert post.run("run", "--audit", "off", "--", "true").returncode == 0
    assert post.events("--kind", "run") == []


def test_a_run_that_could_not_be_started_has_an_end(post):
    post.stand()
    done = post.run("run", "--require", "hard", "--", "true")
    more = post.run("run", "--", "/no/such/program")
    assert more.returncode == 127 and "not recorded" not in done.stderr + more.stderr
    events = post.events("--kind", "run")
    assert [one["kind"] for one in events] == ["run.started", "run.ended"] * 2
    assert events[0]["box"] == events[1]["box"] and events[3]["verdict"] != "ok"
    assert (events[1]["verdict"] == "ok") == (done.returncode == 0)


def test_a_run_whose_launcher_is_killed_has_an_end_all_the_same(post):
    post.stand()
    run = post.start("run", "--", "sleep", "60")
    assert eventually(lambda: post.events("--kind", "run.started"))
    run.kill()
    run.communicate(timeout=20)
    assert eventually(lambda: post.events("--kind", "run.ended"))
    assert post.events("--kind", "run.ended")[0]["verdict"] == "lost"


def test_who_dies_before_his_end_is_acknowledged_has_one_end(post):
    """The watcher writes what a dead launcher said last, can't answer, and must not take the run for lost."""
    watcher = post.stand()
    post.python(f"""
        import signal
        sock = connect()
        assert tell(sock, event(RUN_STARTED, BOX="00000000000000aa", USER=0, PROGRAM="x"))[0] == KEPT
        os.kill({watcher.pid}, signal.SIGSTOP)
        sock.send(message(TELL, batch(event(RUN_ENDED, BOX="00000000000000aa", VERDICT="ok")), 2))
    """)
    os.kill(watcher.pid, signal.SIGCONT)
    assert eventually(lambda: post.events("--kind", "run.ended"))
    post.end()
    assert [one["verdict"] for one in post.events("--kind", "run.ended")] == ["ok"]


def test_an_end_that_is_told_again_is_written_once_also_by_the_next_watcher(post):
    ask = """
        sock = connect()
        for _ in range(2):
            assert tell(sock, event(RUN_ENDED, BOX="00000000000000ab", VERDICT="ok"))[0] == KEPT
    """
    post.stand()
    post.python("""
        sock = connect()
        assert tell(sock, event(RUN_STARTED, BOX="00000000000000ab", USER=0, PROGRAM="x"))[0] == KEPT
    """ + ask)
    post.end(signal.SIGKILL)
    post.stand()
    post.python(ask)
    assert [one["verdict"] for one in post.events("--kind", "run.ended")] == ["ok"]


# --- required ---

def test_who_must_be_recorded_does_not_run_without_a_watcher(post):
    done = post.run("run", "--audit", "required", "--", "sh", "-c", "echo ran")
    assert (done.returncode, done.stdout) == (126, "")
    assert "no watcher stands" in done.stderr and "ringfort watch" in done.stderr
    result = json.loads(post.run("run", "--audit", "required", "--json", "--", "true").stdout)
    assert result["status"] == "denied" and "no watcher" in result["error"]["message"]
    post.stand()
    assert post.run("run", "--audit", "required", "--", "true").returncode == 0
    post.end(signal.SIGKILL)
    assert post.run("run", "--audit", "required", "--", "true").returncode == 126
    assert post.run("run", "--audit", "auto", "--", "true").returncode == 0


def test_a_full_disk_means_no_new_runs_and_room_means_runs(post):
    if not IS_ROOT:
        pytest.skip("needs root, to make a small disk")
    with post.small_disk("256k") as disk:
        post.stand()
        assert post.run("run", "--audit", "required", "--", "true").returncode == 0
        filler = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
        with contextlib.suppress(OSError):
            while os.write(filler, bytes(4096)):
                pass
        os.close(filler)
        refused = 0
        for _ in range(40):  # the file's last page may have room for some more
            done = post.run("run", "--audit", "required", "--", "sh", "-c", "echo ran")
            refused += done.returncode == 126
            assert done.returncode in (0, 126) and (done.stdout == "") == (done.returncode == 126)
            if refused == 2:
                break
        assert refused == 2 and "No space left" in done.stderr and "make room" in done.stderr
        assert post.run("run", "--", "true").returncode == 0
        assert json.loads(post.run("watch", "--status", "--json").stdout)["keeps"] is False
        assert post.verify()["good"]
        (disk / "filler").unlink()
        assert post.run("run", "--audit", "required", "--", "true").returncode == 0
        assert json.loads(post.run("watch", "--status", "--json").stdout)["keeps"] is True
        assert post.verify()["good"]


def test_a_disk_that_can_not_be_written_means_no_watcher(post):
    if not IS_ROOT:
        pytest.skip("needs root, to make a disk")
    with post.small_disk("256k") as disk:
        post.stand()
        post.end()
        where = "/var/lib" if post.is_room else disk
        subprocess.run([*(post.before if post.is_room else []), "mount", "-o", "remount,ro", where], check=True)
        done = post.run("watch")
        assert done.returncode == 125 and "Read-only" in done.stderr
        assert post.run("run", "--audit", "required", "--", "true").returncode == 126


def test_a_watcher_that_does_not_answer_is_none(post):
    watcher = post.stand()
    watcher.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    done = post.run("run", "--audit", "required", "--", "true")
    watcher.send_signal(signal.SIGCONT)
    assert done.returncode == 126 and "does not answer" in done.stderr
    assert time.monotonic() - began < 10


@contextlib.contextmanager
def a_warden(post):
    """A warden stands there, too; and is gone afterwards."""
    warden = post.start("warden")
    try:
        assert eventually(lambda: post.run("warden", "--status").returncode == 0, 20)
        yield warden
    finally:
        warden.terminate()
        warden.communicate(timeout=20)


def all_ended(post):
    """Whether every run that was told of has one end."""
    started = sorted(one["box"] for one in post.events("--kind", "run.started"))
    return started == sorted(one["box"] for one in post.events("--kind", "run.ended"))


def test_a_watcher_that_hangs_stalls_nobody_but_who_must_be_recorded(post):
    watcher = post.stand()
    with a_warden(post):
        assert post.run("run", "--audit", "required", "--agent", "a", "--", "true").returncode == 0
        long = post.start("run", "--audit", "required", "--", "sh", "-c", "sleep 3; echo undisturbed")
        assert eventually(lambda: len(post.events("--kind", "run.started")) == 2)
        watcher.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        refused = [post.start("run", "--audit", "required", *words, "--", "echo", "ran")
                   for words in ([], ["--agent", "a"], ["--agent", "b"])]
        slowest, calm = 0, 0
        while time.monotonic() < began + 1.5 or calm < 4:
            now = time.monotonic()
            assert post.run("run", "--audit", "off", "--", "true").returncode == 0
            slowest, calm = max(slowest, time.monotonic() - now), calm + 1
        assert slowest < 1.9, (calm, slowest)  # a warden that waited with them would take two seconds
        for run in refused:
            out, err = run.communicate(timeout=20)
            assert (run.returncode, out) == (126, b"") and b"does not answer" in err, (run.returncode, err)
        assert time.monotonic() - began < 15
        assert post.run("run", "--", "true").returncode == 0  # auto: it is recorded later
        out, _ = long.communicate(timeout=20)
        assert (long.returncode, out) == (0, b"undisturbed\n")
        watcher.send_signal(signal.SIGCONT)
        assert eventually(lambda: post.run("run", "--audit", "required", "--agent", "a", "--", "true").returncode == 0)
        assert eventually(lambda: all_ended(post)), post.events("--kind", "run")
    verdicts = [one["verdict"] for one in post.events("--kind", "run.ended")]
    assert verdicts.count("ok") == 4 and verdicts.count("lost") == 1, verdicts
    late = [one for one in post.events("--kind", "run.refused") if "late" in one["reason"]]
    assert sorted(one["agent"] for one in late) == ["a", "b"]
    assert post.verify()["good"]


def crowd(post):
    """As many connections as a watcher that takes none has room for."""
    where = os.open(f"/proc/self/fd/{post.root}/run/ringfort" if post.is_room else post.top / "run/ringfort", os.O_PATH)
    held = []
    try:
        while True:
            held.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK))
            held[-1].connect(f"/proc/self/fd/{where}/watch.sock")
    except BlockingIOError:
        return held
    finally:
        os.close(where)


def test_who_is_not_recorded_waits_for_no_crowd_at_a_hung_watcher(post):
    watcher = post.stand()
    watcher.send_signal(signal.SIGSTOP)
    held = crowd(post)
    began = time.monotonic()
    assert post.run("run", "--audit", "off", "--", "true").returncode == 0
    took = time.monotonic() - began
    refused = post.run("run", "--audit", "required", "--", "true")
    watcher.send_signal(signal.SIGCONT)
    for sock in held:
        sock.close()
    assert len(held) > 10 and took < 1.5, (len(held), took)
    assert refused.returncode == 126 and "does not answer" in refused.stderr


def test_who_goes_away_while_his_run_waits_for_a_hung_watcher_leaves_nothing(post):
    watcher = post.stand()
    with a_warden(post):
        watcher.send_signal(signal.SIGSTOP)
        run = post.start("run", "--audit", "required", "--", "sleep", "60")
        time.sleep(0.5)
        run.kill()
        run.communicate(timeout=20)
        watcher.send_signal(signal.SIGCONT)
        assert eventually(lambda: post.run("run", "--audit", "required", "--", "true").returncode == 0)
        assert eventually(lambda: all_ended(post)), post.events("--kind", "run")


def test_the_end_of_a_run_that_no_watcher_heard_is_told_to_the_next_one(post):
    post.stand()
    with a_warden(post):
        run = post.start("run", "--audit", "required", "--", "sh", "-c", "sleep 1; exit 3")
        assert eventually(lambda: post.events("--kind", "run.started"))
        post.end(signal.SIGKILL)
        run.communicate(timeout=20)
        assert run.returncode == 3
        post.stand()
        assert eventually(lambda: post.events("--kind", "run.ended"), 10)
        ended, = post.events("--kind", "run.ended")
        assert (ended["verdict"], ended["exit_code"]) == ("failed", 3)


def test_a_client_that_may_be_in_a_sandbox_is_not_heard(post):
    post.stand()
    done = post.run("run", "--audit", "required", "--", "true", wrap=["setpriv", "--no-new-privs", "--"])
    assert done.returncode == 126 and "no_new_privs" in done.stderr
    assert post.events("--kind", "run") == []


ASKED = """
    try:
        with connect() as sock:
            kinds = []
            for data in (message(TELL, batch(event(DENIAL, RING="api", WHAT="forged"))),
                         message(ASK, b"breaker\\0ls\\0text\\0")):
                sock.send(data)
                answer = receive(sock)
                kinds.append(answer[0] if answer else None)
        print(*kinds)
    except OSError as error:
        print(error)
"""


@pytest.mark.parametrize("wrap", CONFINED.values(), ids=CONFINED)
def test_a_confined_client_neither_tells_nor_asks_anything(wrap, post):
    post.stand()
    assert post.python(ASKED).split() == ["13", "14"]  # as the same client is heard outside
    try:
        said = post.python(ASKED, wrap=wrap)
    except AssertionError as error:
        if "unshare" not in str(error) and "Permission denied" not in str(error):
            raise
        said = ""
    assert "13" not in said.split() and "14" not in said.split(), said
    assert len(post.events("--kind", "denial")) == 1


def test_a_confined_launcher_is_not_recorded_and_says_so(post, as_who):
    if as_who != "root":
        pytest.skip("an ordinary user's domain is seen by its no_new_privs")
    post.stand()
    wrap = ["/usr/bin/python3", "-c", IN_A_DOMAIN]
    done = post.run("breaker", "reset", "builder", wrap=wrap)
    assert done.returncode != 0 and "can't look at the watcher" in done.stderr
    done = post.run("watch", "--status", wrap=wrap)
    assert done.returncode != 0 and "can't look at the watcher" in done.stderr


@pytest.mark.parametrize("what", ["/proc/self/mem", "/proc/{}/auxv", "/dev/null", None])
def test_only_a_look_at_the_watcher_itself_is_a_proof(what, post, as_who):
    if as_who != "root":
        pytest.skip("only root's clients prove it")
    post.stand()
    said = post.python("""
        prove = lambda sock: None
        sock = connect()
        pid = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        if sys.argv[2] != "None":
            with open(sys.argv[2].format(pid), "rb") as file:
                socket.send_fds(sock, [message(PROVE)], [file.fileno()])
            print(receive(sock)[0])
        print(tell(sock, event(DENIAL, RING="api", WHAT="x"))[0])
    """, what)
    assert said.split() == ["15"] * (1 if what is None else 2)
    assert post.events("--kind", "denial") == []


@pytest.mark.parametrize("wrap", [[], ["setpriv", "--no-new-privs", "--"]], ids=["heard", "not heard"])
def test_a_socket_that_lingers_keeps_nobody_waiting(wrap, post):
    """It lies unread in the connection when that is closed."""
    post.stand()
    said = post.python(LINGERING + "print(answer_after(*[message(99)] * 3))", wrap=wrap)
    assert float(said) < 4
    assert post.run("run", "--audit", "required", "--", "true").returncode == 0


# --- ends and beginnings ---

def test_of_two_watchers_one_stands(post):
    post.stand()
    second = post.run("watch")
    assert second.returncode == 125 and "there already" in second.stderr
    assert post.run("run", "--audit", "required", "--", "true").returncode == 0


def test_a_watcher_that_was_killed_is_followed_by_one_that_goes_on(post):
    post.stand()
    assert post.run("run", "--audit", "required", "--", "true").returncode == 0
    run = post.start("run", "--", "sleep", "2")
    assert eventually(lambda: len(post.events("--kind", "run.started")) == 2)
    post.end(signal.SIGKILL)
    post.stand()
    assert run.wait(20) == 0  # and its end is told to the other one
    run.communicate()
    assert [one["verdict"] for one in post.events("--kind", "run.ended")] == ["ok", "ok"]
    assert post.end() == 0
    found = post.verify()
    assert found["good"] and found["closed"]
    assert len(post.events("--kind", "chain.started")) == 1


def test_a_log_that_was_damaged_is_kept_aside_and_an_alarm_raised(post):
    post.stand()
    assert post.run("run", "--", "true").returncode == 0
    head = post.end() or post.verify()["head"]
    log = post.log / "000000000001.log"
    data = bytearray(log.read_bytes())
    data[400] ^= 1
    log.write_bytes(data)
    assert not post.verify()["good"]
    post.stand()
    assert post.verify()["good"] and head
    alarm, = post.events("--kind", "alarm")
    assert alarm["alarm"] == "chain_broken" and alarm["severity"] == "critical"
    aside, = post.log.glob("broken-*/000000000001.log")
    assert aside.read_bytes() == bytes(data)
    assert "head_seq" in post.events("--kind", "chain.started")[0]


def test_a_store_that_others_can_see_is_not_used(post):
    post.stand()
    post.end()
    (post.log).chmod(0o755)
    done = post.run("watch")
    assert done.returncode == 125 and "0700" in done.stderr
    post.log.chmod(0o700)
    (post.log / "key").chmod(0o644)
    done = post.run("watch")
    assert done.returncode == 125 and "key" in done.stderr


def test_what_it_takes_of_the_machine_is_little(post):
    watcher = post.stand()
    for _ in range(5):
        assert post.run("run", "--", "true").returncode == 0
    status = pathlib.Path(f"/proc/{watcher.pid}/status").read_text()
    assert int(status.split("VmRSS:")[1].split()[0]) < 10 * 1024


def own_rights():
    return int(pathlib.Path("/proc/self/status").read_text().split("CapEff:")[1].split()[0], 16)


def groups_in(pid):
    """The groups of a process that could limit or stop it, by hierarchy."""
    lines = (line.split(":", 2) for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines())
    return {kind: path for _, kind, path in lines if kind in ("", "memory", "pids", "cpu", "cpu,cpuacct", "freezer")}


def test_roots_watcher_goes_last_stands_alone_and_has_few_rights(post, as_who):
    if as_who != "root" or not own_rights() >> 19 & 1:  # CAP_SYS_PTRACE
        pytest.skip("needs root, and what its clients prove themselves with")
    watcher = post.stand()
    assert post.run("run", "--audit", "required", "--", "true").returncode == 0
    proc = pathlib.Path(f"/proc/{watcher.pid}")
    rights = {name: int(proc.joinpath("status").read_text().split(f"{name}:")[1].split()[0], 16)
              for name in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")}
    needed = 1 << 2 | 1 << 5 | 1 << 19  # CAP_DAC_READ_SEARCH, CAP_KILL, CAP_SYS_PTRACE
    assert rights["CapPrm"] == rights["CapEff"] == rights["CapBnd"] == needed and rights["CapInh"] == 0
    if own_rights() >> 24 & 1:  # CAP_SYS_RESOURCE
        assert proc.joinpath("oom_score_adj").read_text().strip() == "-900"
    own, ours = groups_in(watcher.pid), groups_in(os.getpid())
    is_v1 = pathlib.Path("/sys/fs/cgroup/memory").is_dir()
    for kind in ("memory", "pids", "freezer") if is_v1 else ("",):
        assert kind not in own or own[kind] == ours[kind].rstrip("/") + "/ringfort.watch", own
    doctor = json.loads(post.run("doctor", "--json").stdout)
    check, = (one for one in doctor["checks"] if one["id"] == "watcher")
    lacks = "" if own_rights() >> 24 & 1 else "; not: killed last for memory"
    assert check["detail"] == f"pid {watcher.pid}{lacks}", check
    assert check["state"] == ("partial" if lacks else "present")


def test_doctor_tells_how_the_watcher_stands_and_what_it_lacks(post, as_who):
    def check():
        return next(one for one in json.loads(post.run("doctor", "--json").stdout)["checks"] if one["id"] == "watcher")
    assert check()["state"] == "unneeded" and "none stands" in check()["detail"]
    post.stand()
    if as_who == "user":
        assert check()["state"] == "partial" and "killed last for memory" in check()["detail"]
    post.end(signal.SIGKILL)
    assert check()["state"] == "unneeded"


# --- strangers' bytes ---

def test_what_is_no_message_ends_a_connection_and_nothing_else(post):
    post.stand()
    said = post.python("""
        import random
        random.seed(5)
        good = event(DENIAL, RING="api", WHAT="x")
        odd = [b"", b"x", message(TELL, length=5), message(TELL, b"", version=9), message(99, b"x"),
               message(TELL, b"x"), message(1), message(KEPT, b"12345678"),
               message(TELL, struct.pack("=I", 0)), message(TELL, struct.pack("=I", 4000) + b"x"),
               message(TELL, batch(b"junk")), message(TELL, batch(event(CHAIN_STARTED, BOX="b"))),
               message(TELL, batch(event(RUN_ENDED, BOX="b"))), message(TELL, batch(good, b"junk")),
               message(ASK, b"no end"), message(ASK, b"nobody knows\\0"), message(ASK, b"\\0" * 100)]
        odd += [message(TELL, batch(bytes(random.randrange(256) for _ in range(random.randrange(1, 99)))))
                for _ in range(50)]
        for data in odd:
            with connect() as sock:
                sock.send(data) if data else sock.shutdown(socket.SHUT_WR)
                answer = receive(sock)
                assert answer is None or answer[0] == LOST, (data, answer)
        with connect() as sock:
            assert tell(sock, good)[0] == KEPT
        print("done")
    """)
    assert said == "done\n"
    assert len(post.events("--kind", "denial")) == 1  # and nothing of a message that was bad in part
    assert post.verify()["good"]


def test_a_flood_of_one_client_neither_stalls_another_nor_loses_an_event(post):
    post.stand()
    flood = """
        one = event(DENIAL, RING="api", WHAT="flood")
        count = 0
        with connect() as sock:
            until = time.monotonic() + 3
            while time.monotonic() < until:
                kept = tell(sock, *[one] * 100)
                assert kept[0] == KEPT, kept
                count += 100
        print(count)
    """
    said = []
    thread = threading.Thread(target=lambda: said.append(int(post.python(flood))))
    thread.start()
    time.sleep(0.5)
    slowest = 0
    for _ in range(10):
        began = time.monotonic()
        assert post.run("run", "--audit", "required", "--agent", "calm", "--", "true").returncode == 0
        slowest = max(slowest, time.monotonic() - began)
    thread.join()
    assert slowest < 3
    assert len(post.events("--agent", "calm")) == 20
    assert len(post.events("--kind", "denial")) == said[0] > 1000
    assert post.verify()["good"]


def test_kill_9_at_random_points_loses_nothing_that_was_acknowledged(post):
    random.seed(11)
    told = """
        one = lambda n: event(DENIAL, RING="api", WHAT=f"number {n}")
        base, count = int(sys.argv[2]), 0
        try:
            with connect() as sock:
                while True:
                    answer = tell(sock, *[one(base + count + i) for i in range(7)])
                    if not answer or answer[0] != KEPT:
                        break
                    count += 7
        except OSError:
            pass
        print(count)
    """
    acknowledged = set()
    for turn in range(KILLS):
        post.stand("--segment", "64K")
        said = []
        thread = threading.Thread(target=lambda: said.append(int(post.python(told, turn * 10000000))))
        thread.start()
        time.sleep(0.12 + random.random() * 0.15)
        post.end(signal.SIGKILL)
        thread.join()
        acknowledged |= {turn * 10000000 + i for i in range(said[0])}
        assert post.verify()["good"], post.verify()
    post.stand()
    kept = {int(one["what"].split()[1]) for one in post.events("--kind", "denial")}
    assert acknowledged and acknowledged <= kept, sorted(acknowledged - kept)[:5]
    assert len(kept - acknowledged) <= 7 * KILLS
    assert post.verify()["good"]


def test_a_watcher_that_is_started_with_something_else_says_so(post):
    post.stand("--keep-days", "90")
    post.end()
    post.stand("--keep-days", "90")
    assert post.events("--kind", "config.change") == []
    post.end()
    post.stand("--keep", "1G")
    told = {one["setting"]: (one.get("from"), one.get("to")) for one in post.events("--kind", "config.change")}
    assert told == {"keep": ("0", str(1 << 30)), "keep_seconds": (str(90 * 86400), "0")}
