"""The server records everything that it begins, and each event says whose it is."""
import contextlib
import json
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
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(scope="module")
def standing(ringfort, public):
    found = {}
    yield lambda who: found.get(who) or found.setdefault(who, Server(ringfort, who, public / f"record-{who}"))
    for server in found.values():
        server.close()


@pytest.fixture
def server(standing, as_who):
    return standing(as_who)


@pytest.fixture
def own(ringfort, as_who, public):
    started = []

    def start(*options, **more):
        started.append(Server(ringfort, as_who, public / f"rec-{as_who}-{time.monotonic_ns()}", *options, **more))
        return started[-1]

    yield start
    for one in started:
        one.close()


def log(server, *options):
    done = server.run("audit", "show", "--json", *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def watcher(server):
    done = server.run("watch", "--status", "--json")
    return json.loads(done.stdout).get("pid") if done.returncode == 0 else None


def lives(pid):
    """Whether a process is there, and no zombie."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def test_a_run_is_recorded_with_whose_it_was_and_what_its_client_calls_it(server):
    key = server.make_key("--tenant", "acme")
    done = server.post(RUN, {"argv": ["true"]}, key=key, headers={"X-Request-Id": "order-17", "traceparent": TRACE})
    assert done.status == 200, done.body
    told = eventually(lambda: [e for e in log(server, "--box", done.json["id"]) if e["kind"] == "run.ended"])
    told = log(server, "--box", done.json["id"])
    assert [event["kind"] for event in told] == ["run.started", "run.ended"]
    for event in told:
        assert event["tenant"] == "acme" and event["key"] == key.split("_")[1]
        assert event["request"] == "order-17" and event["trace"].split("-")[1] == TRACE.split("-")[1]


def test_a_sandbox_is_recorded_too(server):
    made = server.post("/v1/sandboxes", {}, key=server.make_key("--tenant", "boxes"))
    assert made.status == 201, made.body
    assert log(server, "--box", made.json["id"])[0]["tenant"] == "boxes"


def test_a_policy_can_not_switch_it_off(server):
    done = server.post(RUN, {"argv": ["true"], "policy": {"version": 1, "audit": "off"}})
    assert done.status == 200, done.body
    assert log(server, "--box", done.json["id"])


def test_without_a_watcher_nothing_is_begun_until_another_stands(own):
    server = own()
    before = server.post(RUN, {"argv": ["true"]})
    assert before.status == 200
    pid = watcher(server)
    os.kill(pid, signal.SIGSTOP)
    try:
        refused = server.post(RUN, {"argv": ["true"]})
        assert refused.status == 503, refused.body
        assert "not recorded" in refused.json["error"]["message"], refused.body
    finally:
        os.kill(pid, signal.SIGKILL)
    server.read_until("a watcher stands again")
    again = eventually(lambda: (lambda done: done if done.status == 200 else None)(server.post(RUN, {"argv": ["true"]})))
    assert watcher(server) != pid
    checked = server.run("audit", "verify")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    told = [event.get("box") for event in log(server, "--kind", "run.started")]
    assert before.json["id"] in told and again.json["id"] in told


def test_its_watcher_ends_with_it(own):
    for number in (signal.SIGTERM, signal.SIGKILL):
        server = own()
        pid = watcher(server)
        server.end(number)
        eventually(lambda: not lives(pid))  # pylint: disable=cell-var-from-loop


def test_agents_of_two_tenants_are_two(server):
    keys = [server.make_key("--tenant", name) for name in ("north", "south")]
    ran = [server.post(RUN, {"argv": ["true"], "policy": {"version": 1, "agent": "bot"}}, key=key) for key in keys]
    assert [done.status for done in ran] == [200, 200], ran
    assert [log(server, "--box", done.json["id"])[0]["agent"] for done in ran] == ["north/bot", "south/bot"]
    named = server.post(RUN, {"argv": ["true"], "policy": {"version": 1, "agent": "south/bot"}}, key=keys[0])
    assert named.status == 422


def test_a_tenant_has_its_share_of_agents(server):
    keys = [server.make_key("--tenant", name) for name in ("many", "few")]

    def run(key, agent):
        return server.post(RUN, {"argv": ["true"], "policy": {"version": 1, "agent": agent}}, key=key)

    for number in range(64):
        assert run(keys[0], f"a{number}").status == 200
    refused = run(keys[0], "one-more")
    assert refused.json["status"] == "denied" and "64 agents" in refused.json["error"]["message"], refused.body
    assert run(keys[0], "a7").status == 200  # one that is known
    assert run(keys[1], "one-more").status == 200  # another tenant's
