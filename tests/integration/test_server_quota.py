"""How much a key, and a machine, may have at once: what is over it waits, or is told when to come again."""
import concurrent.futures
import os
import pathlib
import signal
import sys
import time

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

RUN = "/v1/run"
BOXES = "/v1/sandboxes"


@pytest.fixture(scope="module")
def standing(ringfort, public):
    found = {}
    yield lambda who, *options: found.get((who, options)) or found.setdefault(
        (who, options), Server(ringfort, who, public / f"quota-{who}-{len(found)}", *options))
    for server in found.values():
        server.close()


@pytest.fixture
def server(standing, as_who):
    return standing(as_who)


# What of a key's boxes together is bounded, what each of two that fit has, and what never fits.
SUMS = {
    "memory": ("300M", "150M", "400M"),
    "cpu": ("80%", "40%", "100%"),
    "disk": ("200M", "100M", "300M"),
}


@pytest.mark.parametrize("name", SUMS)
def test_what_the_boxes_of_a_key_have_together_is_bounded(server, name):
    most, half, more = SUMS[name]
    key = server.make_key(f"--{name}={most}")
    made = [server.post(BOXES, {"limits": {name: half}}, key=key) for _ in range(3)]
    assert [one.status for one in made] == [201, 201, 429], made[2].body
    assert int(made[2].headers["Retry-After"]) >= 1 and name in made[2].json["error"]["message"]
    never = server.post(BOXES, {"limits": {name: more}}, key=key)
    assert never.status == 403 and name in never.json["error"]["message"], never.body
    # Another key has its own, and what ended is free again.
    assert server.post(RUN, {"argv": ["true"], "limits": {name: half}}).status == 200
    assert server.delete(f"{BOXES}/{made[0].json['id']}", key=key).status == 204
    assert server.post(RUN, {"argv": ["true"], "limits": {name: half}}, key=key).status == 200


def test_a_run_waits_until_there_is_room_and_not_for_ever(server):
    key = server.make_key("--memory=400M")
    body = {"limits": {"memory": "300M"}}
    box = server.post(BOXES, body, key=key).json["id"]
    refused = server.post(RUN, {"argv": ["true"], **body}, key=key)
    assert refused.status == 429 and int(refused.headers["Retry-After"]) >= 1
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waits = pool.submit(server.post, RUN, {"argv": ["echo", "on"], **body}, key=key)
        time.sleep(0.5)  # either way round it is answered: this one is to wait
        assert server.delete(f"{BOXES}/{box}", key=key).status == 204
        assert waits.result(60).json["stdout"] == "on\n"


def test_what_a_key_has_is_counted_across_a_front_and_a_server_that_died(standing, as_who, ringfort, public):
    server = standing(as_who, "--grace=20")
    key = server.make_key("--boxes=2")
    assert [server.post(BOXES, {}, key=key).status for _ in range(3)] == [201, 201, 429]
    old = server.children()["ringfort-front"][0]
    os.kill(old, signal.SIGKILL)
    assert eventually(lambda: server.children().get("ringfort-front", [old])[0] != old, 20)
    assert server.post(BOXES, {}, key=key).status == 429
    server.end(signal.SIGKILL)
    server.start()
    assert server.post(BOXES, {}, key=key).status == 429
    for one in server.get(BOXES, key=key).json["sandboxes"]:
        assert server.delete(f"{BOXES}/{one['id']}", key=key).status == 204
    assert server.post(BOXES, {}, key=key).status == 201


@pytest.mark.parametrize("option", ["--memory-margin=500G", "--memory-reserve=500G"])
def test_a_machine_without_memory_begins_no_box(standing, as_who, option):
    server = standing(as_who, option)
    made = server.post(BOXES, {})
    assert made.status == 429 and int(made.headers["Retry-After"]) >= 1, made.body
    assert "memory" in made.json["error"]["message"]
    with concurrent.futures.ThreadPoolExecutor() as pool:  # they wait together
        answers = [pool.submit(server.post, RUN, {"argv": ["true"]}) for _ in range(4)]
        assert {one.result(60).status for one in answers} == {429}
    assert server.get("/v1/health").status == 200


@pytest.mark.parametrize("option", ["--memory=1", "--memory=none", "--cpu=x", "--disk=-1", "--memory="])
def test_a_sum_is_said_as_a_limit_is(server, option):
    done = server.run("key", "create", option)
    assert done.returncode != 0 and option.split("=")[0] in done.stderr, done.stderr


@pytest.mark.parametrize("needs, status", [({"isolation": "vm"}, 501), ({"network": True}, (403, 422, 501)),
                                           ({"isolation": "process"}, 200), ({"gpu": True}, 422)])
def test_what_is_needed_and_can_not_be_given_is_refused_at_once(server, needs, status):
    answer = server.post(RUN, {"argv": ["true"], "needs": needs})
    assert answer.status == status or answer.status in (status if isinstance(status, tuple) else ()), answer.body
    if answer.status != 200:
        assert "needs" in answer.json["error"]["where"] and answer.json["error"]["message"]
