"""The server records everything that it begins, and each event says whose it is."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

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


def test_each_program_in_a_sandbox_is_recorded_and_how_it_ended(server):
    key = server.make_key("--tenant", "programs")
    box = server.post("/v1/sandboxes", {}, key=key).json["id"]
    for argv in (["true"], ["/bin/sh", "-c", "exit 3; echo not-to-be-told"], ["no-such-program"]):
        server.post(f"/v1/sandboxes/{box}/exec", {"argv": argv}, key=key)
    told = eventually(lambda: (lambda events: events if sum(e["kind"] == "exec.ended" for e in events) == 3 else None)(
        log(server, "--box", box)))
    assert [(event["kind"], event["program"]) for event in told if event["kind"].startswith("exec.")] == [
        (kind, program) for program in ("true", "sh", "no-such-program") for kind in ("exec.started", "exec.ended")]
    ends = [event for event in told if event["kind"] == "exec.ended"]
    assert [(end["verdict"], end.get("exit_code")) for end in ends] == [("ok", 0), ("failed", 3), ("error", None)], ends
    assert len({end["exec"] for end in ends}) == 3 and all(event["tenant"] == "programs" for event in told)
    assert "not-to-be-told" not in json.dumps(told)


def test_without_a_watcher_no_program_is_begun_in_a_sandbox_that_is_there(own):
    server = own()
    box = server.post("/v1/sandboxes", {}).json["id"]
    answers = []

    def ask():
        answers.append(server.post(f"/v1/sandboxes/{box}/exec", {"argv": ["true"]}))
        return answers[-1]

    assert ask().status == 200
    pid = watcher(server)
    os.kill(server.pid, signal.SIGSTOP)  # so that it starts no other meanwhile; the front knows the key by now
    try:
        os.kill(pid, signal.SIGKILL)
        # A last thread of it may be at the disk: what is begun meanwhile is told to the next one.
        refused = eventually(lambda: (lambda done: done if done.status != 200 else None)(ask()))
        assert refused.status == 503 and "not recorded" in refused.json["error"]["message"], refused.body
    finally:
        os.kill(server.pid, signal.SIGCONT)
    eventually(lambda: ask().status == 200)

    def told(kind):
        return {event["exec"] for event in log(server, "--kind", kind)}

    begun = sum(answer.status == 200 for answer in answers)
    eventually(lambda: len(told("exec.started")) >= begun)
    # One that was told to the watcher that died, and refused then, has an end all the same: no number is missing.
    eventually(lambda: (lambda numbers: numbers == set(range(1, max(numbers) + 1)))(told("exec.started") | told("exec.ended")))


def test_a_program_in_a_sandbox_begins_when_it_is_written_and_not_before(own):
    server = own()
    box = server.post("/v1/sandboxes", {}).json["id"]
    path = f"/v1/sandboxes/{box}/exec"
    assert server.post(path, {"argv": ["touch", "/tmp/first"]}).status == 200
    pid = watcher(server)
    os.kill(pid, signal.SIGSTOP)
    try:
        refused = server.post(path, {"argv": ["touch", "/tmp/second"]})
        assert refused.status == 503 and "not recorded" in refused.json["error"]["message"], refused.body
    finally:
        os.kill(pid, signal.SIGCONT)
    seen = eventually(lambda: (lambda done: done if done.status == 200 else None)(
        server.post(path, {"argv": ["sh", "-c", "ls /tmp/*"]})))
    assert seen.json["stdout"] == "/tmp/first\n"
    told = [(event["kind"], event.get("verdict")) for event in log(server, "--box", box) if event.get("exec") == 2]
    assert told in ([], [("exec.started", None), ("exec.ended", "error")]), told  # what was told late has an end, too


def test_a_policy_can_not_switch_it_off(server):
    body = {"argv": ["true"], "policy": {"version": 1, "audit": "off"}}
    refused = server.post(RUN, body)
    assert (refused.status, refused.json["error"]["where"]) == (403, "policy.audit"), refused.body
    done = server.post(RUN, {**body, "beyond": "drop"})
    assert done.status == 200 and done.json["beyond_ceiling"] == ["audit: off"], done.body
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


# --- what a tenant sees of it ---

AUDIT = "/v1/audit"


def events(server, query="", key=None):
    told = server.get(f"{AUDIT}{query}", key=key)
    assert told.status == 200, told.body
    return told.json


def test_a_tenant_sees_its_own_events_and_no_others(server):
    keys = [server.make_key("--tenant", name) for name in ("seer", "seen")]
    boxes = [server.post(RUN, {"argv": ["true"]}, key=key).json["id"] for key in keys]
    eventually(lambda: len(events(server, key=keys[0])["events"]) == 2)
    told = events(server, key=keys[0])
    assert {event["box"] for event in told["events"]} == {boxes[0]}
    assert {event["tenant"] for event in told["events"]} == {"seer"}
    assert not [event for event in told["events"] if "pid" in event or "user" in event]
    assert events(server, f"?box={boxes[1]}", key=keys[0])["events"] == []


def test_events_are_picked_and_paged(server):
    key = server.make_key("--tenant", "pages")
    for command in ("true", "false", "true"):
        server.post(RUN, {"argv": [command]}, key=key)
    eventually(lambda: len(events(server, "?kind=run.ended", key=key)["events"]) == 3)
    assert len(events(server, "?kind=run&verdict=failed", key=key)["events"]) == 1
    assert len(events(server, "?since=1h&kind=run.started", key=key)["events"]) == 3
    assert events(server, "?until=1h", key=key)["events"] == []
    found, cursor = [], None
    while True:
        page = events(server, "?limit=2" + (f"&cursor={cursor}" if cursor else ""), key=key)
        found += [event["seq"] for event in page["events"]]
        cursor = page["next_cursor"]
        if not cursor:
            break
    assert len(found) == 6 and found == sorted(set(found))
    # From where it ended it goes on, when there is more.
    server.post(RUN, {"argv": ["true"]}, key=key)
    eventually(lambda: len(events(server, f"?cursor={page['cursor']}", key=key)["events"]) == 2)


@pytest.mark.parametrize("query, status", [
    ("?since=yesterday", 422), ("?kind=nothing", 422), ("?limit=0", 422), ("?limit=1001", 422), ("?cursor=x", 422),
    ("?cursor=1", 422), ("?cursor=99999-5", 200), ("?since=1h&since=2h", 400), ("?tenant=other", 400),
    ("?box=" + "x" * 200, 400)])
def test_what_is_no_question_of_the_log_is_refused(server, query, status):
    assert server.get(AUDIT + query).status == status


def test_breakers_are_seen_opened_and_closed_by_their_own_tenant(server):
    admin = server.make_key("--tenant", "broken", "--scope", "admin,run,read")
    plain = server.make_key("--tenant", "broken", "--scope", "run,read")
    other = server.make_key("--tenant", "whole", "--scope", "admin,run,read")

    def run(key):
        return server.post(RUN, {"argv": ["true"], "policy": {"version": 1, "agent": "bot.1"}}, key=key).json["status"]

    assert run(plain) == "ok" and run(other) == "ok"
    assert server.post("/v1/breakers/bot.1/trip", {"reason": "enough"}, key=plain).status == 403
    opened = server.post("/v1/breakers/bot.1/trip", {"reason": "enough"}, key=admin)
    assert opened.status == 200 and opened.json == {"name": "bot.1", "state": "open"}
    assert run(plain) == "denied" and run(other) == "ok"
    listed = server.get("/v1/breakers", key=plain).json["breakers"]
    assert [(row["name"], row["state"]) for row in listed] == [("bot.1", "open")] and "enough" in listed[0]["reason"]
    assert server.post("/v1/breakers/bot.2/reset", key=other).status == 404
    assert server.post("/v1/breakers/bot.1/reset", key=admin).json["state"] == "closed"
    assert run(plain) == "ok"
    changed = events(server, "?kind=breaker.change", key=plain)["events"]
    assert [event["to"] for event in changed] == ["open", "closed"]
    for body in ({"seconds": 0}, {"reason": "x" * 101}, {"why": "?"}, []):
        assert server.post("/v1/breakers/bot.1/trip", body, key=admin).status == 422


# --- figures ---

def test_figures_are_those_of_the_front_and_of_the_watcher_and_promtool_takes_them(server):
    server.post(RUN, {"argv": ["true"]})
    text = server.get("/metrics").body.decode()
    assert "ringfort_server_runs_total" in text and "\nringfort_runs_total{" in text, text
    assert "ringfort_server_watched 1" in text
    if shutil.which("promtool"):
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True,
                                 timeout=60, check=False)
        assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.skipif(not shutil.which("prometheus"), reason="no prometheus here")
def test_prometheus_scrapes_them(server, tmp_path):
    server.post(RUN, {"argv": ["true"]})
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "key").write_text(server.key)
    (tmp_path / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n- job_name: ringfort\n"
        f"  authorization: {{credentials_file: {tmp_path}/key}}\n"
        f"  static_configs: [{{targets: ['127.0.0.1:{server.port}']}}]\n")
    with subprocess.Popen(["prometheus", f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
                           f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          start_new_session=True) as process:
        try:
            def value(name):
                with contextlib.suppress(OSError, ValueError, KeyError), urllib.request.urlopen(
                        f"http://127.0.0.1:{port}/api/v1/query?query={name}", timeout=5) as answer:
                    return json.load(answer)["data"]["result"]
                return None

            assert eventually(lambda: value("ringfort_server_runs_total"), 30)
            assert eventually(lambda: value("ringfort_runs_total"), 30)
            assert value("ringfort_server_watched")[0]["value"][1] == "1"
        finally:
            process.kill()


# --- who follows ---

class Follower:
    """GET /v1/audit as a stream, read block by block."""

    def __init__(self, server, query="", key=None, last=None):
        self.line = server.connect(30)
        fields = {"Accept": "text/event-stream", "Authorization": f"Bearer {key or server.key}"}
        if last:
            fields["Last-Event-ID"] = last
        self.line.request("GET", f"/v1/audit{query}", headers=fields)
        self.answer = self.line.getresponse()
        self.last = None

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.answer.close()
        self.line.close()

    def next(self):
        """The next event, (name, data), or None at the end; comments are passed over."""
        found = {}
        while line := self.answer.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if name in ("id", "event", "data"):
                found[name] = value
            elif not name and "data" in found:
                self.last = found["id"] if "id" in found else self.last
                return found["event"], json.loads(found["data"])
        return None


def test_events_are_followed_as_they_are_written_by_their_own_tenant(server):
    key, other = server.make_key("--tenant", "tail"), server.make_key("--tenant", "tail-not")
    assert server.post(RUN, {"argv": ["true"]}, key=key).status == 200
    eventually(lambda: len(events(server, key=key)["events"]) == 2)
    with Follower(server, key=key) as follower:
        assert follower.answer.status == 200 and follower.answer.headers["Content-Type"] == "text/event-stream"
        name, first = follower.next()
        assert name == "following" and first["cursor"] == follower.last
        assert server.post(RUN, {"argv": ["true"]}, key=other).status == 200
        done = server.post(RUN, {"argv": ["true"]}, key=key)
        began = time.monotonic()
        got = [follower.next() for _ in range(2)]
        assert [(name, event["kind"]) for name, event in got] == [("audit", "run.started"), ("audit", "run.ended")]
        assert {event["box"] for _, event in got} == {done.json["id"]} and time.monotonic() - began < 5
        assert "user" not in got[0][1] and "pid" not in got[0][1]
    page = server.get(f"/v1/audit?cursor={first['cursor']}", key=key).json
    assert page["events"] == [event for _, event in got]


BEYOND = "18446744073709551615"


@pytest.mark.parametrize("is_followed", [False, True])
def test_a_cursor_from_beyond_the_end_blinds_nobody(own, is_followed):
    """Neither other tenants, whose followers begin where the log is known to end, nor who came with it."""
    server = own()
    key, other = server.make_key("--tenant", "liar", "--scope", "read"), server.make_key("--tenant", "victim")
    assert server.post(RUN, {"argv": ["true"]}, key=other).status == 200
    eventually(lambda: len(events(server, key=other)["events"]) == 2)
    last = events(server, key=other)["events"][-1]["seq"]
    if is_followed:
        with Follower(server, key=key, last=f"1-{BEYOND}") as follower:
            assert follower.next()[0] == "following"
    else:
        page = events(server, f"?cursor=1-{BEYOND}", key=key)
        assert page["events"] == [] and last <= int(page["cursor"].partition("-")[2]) < last + 100
    with Follower(server, key=other) as follower:
        name, first = follower.next()
        assert name == "following" and int(first["cursor"].partition("-")[2]) < last + 100
        box = server.post(RUN, {"argv": ["true"]}, key=other).json["id"]
        assert [follower.next()[1]["box"] for _ in range(2)] == [box, box]
    page = events(server, f"?cursor=1-{BEYOND}", key=other)
    box = server.post(RUN, {"argv": ["true"]}, key=other).json["id"]
    assert eventually(lambda: [one["box"] for one in events(server, f"?cursor={page['cursor']}", key=other)["events"]] == [box, box])


def test_who_was_cut_off_goes_on_behind_the_last_that_it_saw(server):
    key = server.make_key("--tenant", "resume")
    ids = [server.post(RUN, {"argv": ["true"]}, key=key).json["id"] for _ in range(2)]
    with Follower(server, "?since=1d&kind=run.ended", key=key) as follower:
        assert follower.next()[0] == "following"
        assert follower.next()[1]["box"] == ids[0]
        last = follower.last
    ids.append(server.post(RUN, {"argv": ["true"]}, key=key).json["id"])
    with Follower(server, "?since=1d&kind=run.ended", key=key, last=last) as follower:
        assert follower.next()[0] == "following"
        assert [follower.next()[1]["box"] for _ in range(2)] == ids[1:]


def test_a_stream_has_the_same_filters_and_what_is_wrong_is_told_before_it_begins(server):
    key = server.make_key("--tenant", "sieve")
    done = [server.post(RUN, {"command": command}, key=key).json["id"] for command in ("true", "exit 3", "true")]
    with Follower(server, f"?since=1d&box={done[1]}&verdict=failed", key=key) as follower:
        follower.next()
        assert follower.next()[1]["box"] == done[1]
    for query, last in (("?until=1h", None), ("?cursor=x", None), ("?kind=nothing", None), ("", "x-y"), ("", "9" * 300)):
        with Follower(server, query, key=key, last=last) as follower:
            assert follower.answer.status == 422, (query, last)


def test_many_pages_are_followed_in_order_and_none_twice(server):
    key = server.make_key("--tenant", "many", "--boxes", "8")
    for _ in range(60):
        assert server.post(RUN, {"argv": ["true"]}, key=key).status == 200
    with Follower(server, "?since=1d", key=key) as follower:
        follower.next()
        seqs = [follower.next()[1]["seq"] for _ in range(120)]
        assert seqs == sorted(set(seqs))


def test_a_stream_ends_when_its_key_is_removed(server):
    key = server.make_key("--tenant", "gone")
    with Follower(server, key=key) as follower:
        assert follower.next()[0] == "following"
        assert server.run("key", "rm", key.split("_")[1]).returncode == 0
        name, error = follower.next()
        assert name == "error" and error["error"]["code"] == "no_key"
        assert follower.next() is None


def test_a_key_has_so_many_followers_and_room_again_when_one_goes(server):
    key = server.make_key("--tenant", "crowd")
    with contextlib.ExitStack() as stack:
        all_of_them = [stack.enter_context(Follower(server, key=key)) for _ in range(8)]
        assert [one.next()[0] for one in all_of_them] == ["following"] * 8
        with Follower(server, key=key) as one_more:
            assert one_more.answer.status == 429
        all_of_them[0].__exit__()

        def is_room():
            with Follower(server, key=key) as again:
                return again.answer.status == 200

        assert eventually(is_room)


def test_a_tenant_has_so_many_followers_whatever_keys_it_has(server):
    keys = [server.make_key("--tenant", "crowds") for _ in range(3)]
    other = server.make_key("--tenant", "beside-crowds")
    with contextlib.ExitStack() as stack:
        for key in keys[:2]:
            for one in [stack.enter_context(Follower(server, key=key)) for _ in range(8)]:
                assert one.next()[0] == "following"
        with Follower(server, key=keys[2]) as one_more, Follower(server, key=other) as another:
            assert one_more.answer.status == 429 and another.answer.status == 200


def test_a_stream_goes_on_when_the_clerk_dies(own):
    server = own()
    with Follower(server) as follower:
        assert follower.next()[0] == "following"
        os.kill(server.children()["ringfort-clerk"][0], signal.SIGKILL)
        eventually(lambda: server.get("/v1/audit").status == 200)
        assert server.post(RUN, {"argv": ["true"]}).status == 200
        assert follower.next()[1]["kind"] == "run.started"


def test_a_server_that_ends_waits_for_no_follower(own):
    server = own()
    with Follower(server) as follower:
        assert follower.next()[0] == "following"
        began = time.monotonic()
        assert server.end() == 0 and time.monotonic() - began < 10


def test_who_follows_and_hears_nothing_keeps_nobody_busy(own):
    """The clerk looks at the end of a file for each question, and not at all of it."""
    server = own()
    for _ in range(50):
        assert server.post(RUN, {"argv": ["true"]}).status == 200

    def used(pid):
        words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    with contextlib.ExitStack() as stack:
        for one in [stack.enter_context(Follower(server)) for _ in range(8)]:
            assert one.next()[0] == "following"
        time.sleep(2)
        clerk = server.children()["ringfort-clerk"][0]
        before = used(clerk)
        time.sleep(3)
        assert used(clerk) - before < 0.15
