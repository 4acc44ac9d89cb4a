"""The life cycle of the server: what outlives whom, and what ends by itself."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from helpers import eventually, processes_with

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

RUN = "/v1/run"
BOXES = "/v1/sandboxes"


@pytest.fixture
def own(ringfort, as_who, public):
    """Servers of a test's own."""
    started = []

    def start(*options, **more):
        started.append(Server(ringfort, as_who, public / f"life-{as_who}-{time.monotonic_ns()}", *options, **more))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture(scope="module")
def standing(ringfort, public):
    found = {}
    yield lambda who: found.get(who) or found.setdefault(who, Server(ringfort, who, public / f"life-{who}"))
    for server in found.values():
        server.close()


@pytest.fixture
def server(standing, as_who):
    return standing(as_who)


def token():
    return f"8766{time.monotonic_ns()}"


def make(server, **fields):
    made = server.post(BOXES, fields)
    assert made.status == 201, made.body
    return made.json["id"]


def is_dead(pid):
    return not pathlib.Path(f"/proc/{pid}").exists()


# --- idle sandboxes ---

def test_an_idle_sandbox_ends_and_says_so(server):
    box = make(server, idle_timeout=1)
    assert server.get(f"{BOXES}/{box}").json["idle_timeout"] == 1
    # Asked for all, since a request for it would be use.
    assert eventually(lambda: box not in [one["id"] for one in server.get(BOXES).json["sandboxes"]], 30)
    assert server.get(f"{BOXES}/{box}").status == 404


def test_a_program_is_use_and_so_is_a_request(server):
    used, idle = make(server, idle_timeout=2), make(server, idle_timeout=2)
    assert server.post(f"{BOXES}/{used}/exec", {"argv": ["sleep", "60"], "background": True}).status == 202
    assert eventually(lambda: idle not in [one["id"] for one in server.get(BOXES).json["sandboxes"]], 30)
    assert server.get(f"{BOXES}/{used}").status == 200
    assert server.delete(f"{BOXES}/{used}").status == 204


@pytest.mark.parametrize("wrong", [0, -1, 86401, "1", 1.5, None])
def test_an_idle_time_is_a_number_of_seconds(server, wrong):
    answer = server.post(BOXES, {"idle_timeout": wrong})
    assert (answer.status, answer.json["error"]["where"]) == (422, "idle_timeout")


# --- what is done once ---

def once(name):
    return {"Idempotency-Key": name}


def test_what_has_a_key_is_done_once_and_answered_again(server):
    name, body = token(), {"command": "cat /proc/sys/kernel/random/uuid"}
    first = server.post(RUN, body, headers=once(name))
    assert first.status == 200 and "Idempotency-Replayed" not in first.headers
    again = server.post(RUN, body, headers=once(name))
    assert (again.status, again.body, again.headers["Idempotency-Replayed"]) == (200, first.body, "true")
    assert server.post(RUN, body, headers=once(token())).body != first.body
    other = server.post(RUN, {"command": "true"}, headers=once(name))
    assert (other.status, other.json["error"]["where"]) == (409, "Idempotency-Key") and "another" in other.json["error"]["message"]
    assert server.post(BOXES, {}, headers=once(name)).status == 409
    # Another tenant's key of the same name is another key.
    assert server.post(RUN, body, headers=once(name), key=server.make_key()).json["stdout"] != first.json["stdout"]


def test_a_sandbox_with_a_key_is_made_once(server):
    name = token()
    first = server.post(BOXES, {"labels": {"a": "b"}}, headers=once(name))
    again = server.post(BOXES, {"labels": {"a": "b"}}, headers=once(name))
    assert first.status == again.status == 201 and first.body == again.body
    assert server.delete(f"{BOXES}/{first.json['id']}").status == 204


def test_what_was_not_begun_takes_no_key(server):
    name = token()
    assert server.post(RUN, {"argv": ["true"], "policy": {"files": 7}}, headers=once(name)).status == 422
    assert server.post(RUN, {"argv": ["true"]}, headers=once(name)).status == 200


@pytest.mark.parametrize("name, headers, status", [
    ("", {}, 400), ("x" * 256, {}, 400), ("a b", {}, 400), ("x" * 255, {}, 200),
    ("ok", {"Accept": "text/event-stream"}, 422)])
def test_a_key_is_some_visible_characters_and_no_stream(server, name, headers, status):
    answer = server.post(RUN, {"argv": ["true"]}, headers={**once(name), **headers})
    assert answer.status == status, answer.body
    if status != 200:
        assert answer.json["error"]["where"] == "Idempotency-Key"


def test_while_it_is_under_way_another_one_waits_for_nothing(server):
    name, mark = token(), token()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        body = {"command": f": {mark}; sleep 3", "timeout": 60}
        first = pool.submit(server.post, RUN, body, headers=once(name))
        assert eventually(lambda: processes_with(mark), 20)
        busy = server.post(RUN, body, headers=once(name))
        assert (busy.status, busy.json["error"]["code"]) == (409, "under_way")
        assert first.result(60).status == 200


def test_who_goes_away_can_ask_again_and_has_the_answer(server):
    name, mark = token(), token()
    body = {"command": f": {mark}; sleep 2; cat /proc/sys/kernel/random/uuid", "timeout": 60}
    with contextlib.closing(server.connect()) as line:
        line.request("POST", RUN, json.dumps(body), {**once(name), "Authorization": f"Bearer {server.key}",
                                                     "Content-Type": "application/json"})
        assert eventually(lambda: processes_with(mark), 20)
    answers = []
    assert eventually(lambda: answers.append(server.post(RUN, body, headers=once(name))) or answers[-1].status != 409, 30)
    assert answers[-1].status == 200 and answers[-1].headers["Idempotency-Replayed"] == "true", answers[-1].body
    assert server.post(RUN, body, headers=once(name)).body == answers[-1].body


def test_an_answer_is_given_again_by_another_front_and_another_server(own):
    server, name, body = own(), token(), {"command": "cat /proc/sys/kernel/random/uuid"}
    first = server.post(RUN, body, headers=once(name))
    old = server.children()["ringfort-front"][0]
    os.kill(old, signal.SIGKILL)
    assert eventually(lambda: server.children().get("ringfort-front", [old])[0] != old, 20)
    assert server.post(RUN, body, headers=once(name)).body == first.body
    server.end(signal.SIGKILL)
    server.start()
    assert server.post(RUN, body, headers=once(name)).body == first.body


@pytest.mark.parametrize("victim", ["front", "server", "warden"])
def test_what_was_cut_off_is_not_done_again(own, victim):
    server, name, mark = own("--grace=2"), token(), token()
    body = {"command": f": {mark}; sleep 60", "timeout": 120}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        first = pool.submit(server.post, RUN, body, headers=once(name))
        assert eventually(lambda: processes_with(mark), 20)
        children = server.children()
        os.kill(server.pid if victim == "server" else children[f"ringfort-{victim}"][0], signal.SIGKILL)
        with contextlib.suppress(Exception):
            first.result(60)
    if victim == "server":
        server.process.wait(20)
        server.start()
    again = None

    def ask():
        nonlocal again
        with contextlib.suppress(OSError, http.client.HTTPException):
            again = server.post(RUN, body, headers=once(name))
        return again and again.status != 503  # of a moment in which there is no warden
    assert eventually(ask, 20)
    assert again.status == 409 and "nobody knows" in again.json["error"]["message"], again.body
    assert eventually(lambda: not processes_with(mark), 30), "it runs again"


def test_a_sandbox_whose_answer_was_lost_is_found_by_its_key(own):
    """The front is killed where the answer is on its way: the register says that it was made, and for whom."""
    server, name = own(), token()
    made = server.post(BOXES, {"labels": {"a": "b"}}, headers=once(name)).json["id"]
    database = "/var/lib/ringfort/server.db" if server.space >= 0 else f"{server.runtime}/state/ringfort/server.db"
    code = f"import sqlite3; db = sqlite3.connect({database!r}); " \
           f"print(db.execute('UPDATE once SET state = 2 WHERE name = ?', ({name!r},)).rowcount); db.commit()"
    done = subprocess.run([*server.before, "/usr/bin/python3", "-c", code], env=server.env, capture_output=True, text=True,
                          check=False)
    assert done.stdout == "1\n", done.stderr
    again = server.post(BOXES, {"labels": {"a": "b"}}, headers=once(name))
    assert (again.status, again.json["id"], again.headers["Idempotency-Replayed"]) == (201, made, "true")


# --- a sandbox that is gone ---

def test_who_asks_for_a_sandbox_that_has_ended_is_told_why(own):
    server = own()
    deleted, idle, timed = make(server), make(server, idle_timeout=1), make(server, timeout=1)
    server.delete(f"{BOXES}/{deleted}")
    assert eventually(lambda: not server.get(BOXES).json["sandboxes"], 30)
    other = server.make_key()
    for box, words in ((deleted, "deleted"), (idle, "idle_timeout"), (timed, "timeout")):
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/pause")):
            answer = server.ask(method, f"{BOXES}/{box}{path}")
            assert answer.status == 404 and words in answer.json["error"]["message"], answer.body
        answer = server.post(f"{BOXES}/{box}/exec", {"argv": ["true"]})
        assert answer.status == 404 and words in answer.json["error"]["message"], answer.body
        hidden = server.get(f"{BOXES}/{box}", key=other)
        assert hidden.status == 404 and words not in hidden.json["error"]["message"], hidden.body
    lost = make(server)
    os.kill(server.children()["ringfort-warden"][0], signal.SIGKILL)
    server.read_until("another is started")
    assert eventually(lambda: "warden has ended" in server.get(f"{BOXES}/{lost}").json["error"]["message"], 20)


# --- a server that is killed ---

def test_sandboxes_outlive_a_server_that_is_killed_and_the_next_one_has_them(own):
    server, mark = own(), token()
    box = make(server, labels={"mark": mark}, idle_timeout=600)
    started = server.post(f"{BOXES}/{box}/exec", {"argv": ["sleep", mark], "background": True})
    assert started.status == 202
    assert server.put(f"{BOXES}/{box}/files?path=/tmp/kept", b"kept").status in (200, 201, 204)
    warden, front = server.children()["ringfort-warden"], server.children()["ringfort-front"]
    other = server.make_key()
    server.end(signal.SIGKILL)
    assert eventually(lambda: all(map(is_dead, front)), 20), "the front outlives its server"
    assert not is_dead(warden[0]) and processes_with(mark)
    server.start()
    assert "goes on with the sandboxes" in server.said
    assert server.children()["ringfort-warden"] == warden
    found = server.get(f"{BOXES}/{box}")
    assert found.status == 200 and found.json["labels"] == {"mark": mark} and found.json["idle_timeout"] == 600
    assert server.get(f"{BOXES}/{box}/files?path=/tmp/kept").body == b"kept"
    assert server.post(f"{BOXES}/{box}/exec", {"argv": ["echo", "on"]}).json["stdout"] == "on\n"
    assert server.get(f"{BOXES}/{box}", key=other).status == 404
    assert server.delete(f"{BOXES}/{box}").status == 204
    assert eventually(lambda: not processes_with(mark), 20)


def test_without_another_server_all_boxes_end_when_the_grace_is_over(own):
    server, mark = own("--grace=1"), token()
    box = make(server)
    assert server.post(f"{BOXES}/{box}/exec", {"argv": ["sleep", mark], "background": True}).status == 202
    warden = server.children()["ringfort-warden"]
    server.end(signal.SIGKILL)
    assert eventually(lambda: all(map(is_dead, warden)) and not processes_with(mark), 40)
    server.start()
    assert "goes on" not in server.said
    assert server.get(f"{BOXES}/{box}").status == 404


def test_who_asks_it_to_end_ends_its_sandboxes_unless_they_are_to_be_kept(own):
    server, mark = own(), token()
    make(server)
    warden = server.children()["ringfort-warden"]
    assert server.end() == 0 and eventually(lambda: all(map(is_dead, warden)), 20)
    server.start()
    box = make(server, labels={"mark": mark})
    warden = server.children()["ringfort-warden"]
    assert server.end(signal.SIGUSR1) == 0
    assert not is_dead(warden[0])
    server.start()
    assert server.get(f"{BOXES}/{box}").json["labels"] == {"mark": mark}


def test_a_server_that_keeps_sandboxes_leaves_them_when_it_ends(own):
    server = own("--keep-sandboxes", "--grace=20")
    box = make(server)
    assert server.end() == 0
    server.start()
    assert server.get(f"{BOXES}/{box}").status == 200
    warden = server.children()["ringfort-warden"]
    server.delete(f"{BOXES}/{box}")
    server.options.remove("--keep-sandboxes")
    server.end(signal.SIGKILL)
    server.start()
    assert server.end() == 0 and eventually(lambda: all(map(is_dead, warden)), 20)


# --- a warden that is killed ---

def test_a_warden_that_dies_takes_its_boxes_along_and_another_serves(own):
    server, mark = own(), token()
    box = make(server)
    assert server.post(f"{BOXES}/{box}/exec", {"argv": ["sleep", mark], "background": True}).status == 202
    assert server.local('print(ask("GET", "/v1/sandboxes")[0])').stdout == "200\n"
    warden, front = server.children()["ringfort-warden"], server.children()["ringfort-front"]
    os.kill(warden[0], signal.SIGKILL)
    server.read_until("another is started")
    assert eventually(lambda: server.get(BOXES).status == 200, 20)
    assert eventually(lambda: not processes_with(mark), 20), "its programs live on"
    assert server.get(f"{BOXES}/{box}").status == 404
    assert server.post(RUN, {"argv": ["echo", "on"]}).json["stdout"] == "on\n"
    assert server.local('print(ask("POST", "/v1/run", {"argv": ["true"]})[0])').stdout == "200\n"
    assert server.children()["ringfort-front"] == front


def test_who_waits_for_a_run_when_the_warden_dies_is_told(own):
    server, mark = own(), token()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waits = pool.submit(server.post, RUN, {"argv": ["sleep", mark], "timeout": 120})
        assert eventually(lambda: processes_with(mark), 20)
        os.kill(server.children()["ringfort-warden"][0], signal.SIGKILL)
        answer = waits.result(60)
    assert answer.status in (500, 503) and "warden" in answer.json["error"]["message"], answer.body


def test_nothing_is_left_of_any_of_it(own):
    server = own("--grace=1")
    make(server)
    server.end(signal.SIGKILL)
    server.start()
    make(server)
    warden = server.children()["ringfort-warden"]
    assert server.end() == 0
    assert eventually(lambda: all(map(is_dead, warden)), 20)
    if server.space < 0:
        assert eventually(lambda: not list((server.runtime / "ringfort").glob("serve-warden*")), 20)


def database(server, *statements):
    """What the last of these gives, of the server's register."""
    path = "/var/lib/ringfort/server.db" if server.space >= 0 else f"{server.runtime}/state/ringfort/server.db"
    code = f"import sqlite3, json; db = sqlite3.connect({path!r}, timeout=10)\n" \
           f"for one in {list(statements)!r}: rows = db.execute(one).fetchall()\ndb.commit(); print(json.dumps(rows))"
    done = subprocess.run([*server.before, "/usr/bin/python3", "-c", code], env=server.env, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


ROWS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) INSERT INTO sandbox " \
       "SELECT '{name}-' || i, '{tenant}', 'key', NULL, 1, NULL, {ended}, 'deleted', 0 FROM n"


def test_what_the_register_need_not_know_goes_while_the_server_runs(own):
    """Old ends by time; of one tenant's many, the oldest.  What lives, and what is younger, stays."""
    server = own()
    key = server.make_key("--tenant=busy")
    box = server.post(BOXES, {}, key=key).json["id"]
    database(server, ROWS.format(count=100, name="old", tenant="other", ended="unixepoch() - 86500"),
             ROWS.format(count=100, name="young", tenant="other", ended="unixepoch() - 80000"),
             ROWS.format(count=6000, name="many", tenant="busy", ended="unixepoch() - 10000 + i"))

    def count(name):
        return database(server, f"SELECT count(*) FROM sandbox WHERE id LIKE '{name}-%'")[0][0]
    assert eventually(lambda: count("old") == 0, 25, 0.5), "they wait for a restart"
    assert count("young") == 100 and count("many") == 6000
    assert server.delete(f"{BOXES}/{box}", key=key).status == 204
    assert eventually(lambda: count("many") < 4096, 10, 0.2)
    left = "SELECT count(*), min(cast(substr(id, 6) AS INTEGER)) FROM sandbox WHERE id LIKE 'many-%'"
    assert database(server, left) == [[4095, 1906]], "the oldest have gone"
    assert "deleted" in server.get(f"{BOXES}/{box}", key=key).json["error"]["message"], "the youngest is known"
