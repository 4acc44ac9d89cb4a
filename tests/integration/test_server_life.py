"""The life cycle of the server: what outlives whom, and what ends by itself."""
import concurrent.futures
import os
import pathlib
import signal
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
