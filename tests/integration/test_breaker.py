"""Breakers and budgets: an agent whose runs keep failing is stopped by nobody but the watcher.

Each test has a watcher of its own.  Time is real, so rules are made of short times.
"""
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from watchers import IS_ROOT, USER_ID, Post  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")


@pytest.fixture
def post(ringfort, as_who, public):
    if as_who == "root" and not IS_ROOT:
        pytest.skip("needs root")
    top = pathlib.Path(tempfile.mkdtemp(prefix="breaker-", dir=public))
    top.chmod(0o755)
    with Post(ringfort, as_who, top / "post") as there:
        there.stand()
        yield there
    shutil.rmtree(top, ignore_errors=True)


def policy(post, text):
    """A policy file of whoever runs."""
    descriptor, path = tempfile.mkstemp(suffix=".yaml", dir=post.top)
    os.write(descriptor, text.encode())
    if IS_ROOT and post.who == "user":
        os.fchown(descriptor, USER_ID, USER_ID)
    os.close(descriptor)
    return path


def state(post):
    """The folder of the watcher's state, as it is seen from here."""
    return post.log.parent / "watch"


def result(done):
    return json.loads(done.stdout)


def fail(post, agent, *options):
    """One run that a limit ends."""
    done = post.run("run", "--json", "--agent", agent, "--time", "50ms", *options, "--",
                        "sleep", "9")
    assert result(done)["status"] == "timeout", done.stdout
    return done


def breakers(post):
    done = post.run("breaker", "ls", "--json")
    assert done.returncode == 0, done.stderr
    return {one["name"]: one for one in json.loads(done.stdout)}


def events(post, *kinds):
    return [event for event in post.events() if event["kind"] in kinds]


def test_a_runaway_agent_is_stopped_by_its_breaker_and_nobody_else(post):
    """The demonstration: a program that starts runs for an agent for as long as it can."""
    started, refused = 0, None
    for _ in range(20):
        done = post.run("run", "--json", "--agent", "runaway", "--time", "50ms", "--", "sh",
                            "-c", "while :; do :; done")
        if done.returncode == 126:
            refused = done
            break
        assert result(done)["status"] == "timeout"
        started += 1
    assert started == 5 and refused, started

    told = result(refused)
    assert told["status"] == "denied" and told["exit_code"] is None
    assert told["error"]["message"] == \
        "the breaker of agent runaway is open: 5 failures in a row"
    assert re.fullmatch(r"try again in (1m|5\ds), or look at `ringfort breaker ls`",
                        told["error"]["remedy"])

    # Others are not touched by it.
    assert post.run("run", "--agent", "other", "--", "true").returncode == 0
    assert post.run("run", "--", "true").returncode == 0

    # And it is all in the record, in order.
    record = events(post, "run.started", "breaker.change", "run.refused")
    mine = [event for event in record if event.get("agent") == "runaway"]
    assert [event["kind"] for event in mine] == \
        ["run.started"] * 5 + ["breaker.change", "run.refused"]
    assert mine[5]["from"] == "closed" and mine[5]["to"] == "open"
    assert mine[5]["reason"] == "5 failures in a row"
    assert mine[6]["until_ms"] == pytest.approx(mine[5]["until_ms"], abs=50)
    assert post.verify()["good"]


def test_one_probe_decides_and_the_agent_goes_on(post):
    rule = ("--policy", policy(post, "breaker: {failures: 2, open: 2s}"))
    fail(post, "a", *rule)
    fail(post, "a", *rule)
    assert post.run("run", "--agent", "a", *rule, "--", "true").returncode == 126
    time.sleep(2.1)
    fail(post, "a", *rule)  # the probe
    assert post.run("run", "--agent", "a", *rule, "--", "true").returncode == 126
    time.sleep(2.1)
    assert post.run("run", "--agent", "a", *rule, "--", "true").returncode == 0
    assert breakers(post)["a"]["state"] == "closed"
    changes = [(event["from"], event["to"]) for event in events(post, "breaker.change")]
    assert changes == [("closed", "open"), ("open", "half-open"), ("half-open", "open"),
                       ("open", "half-open"), ("half-open", "closed")]


def test_what_a_failure_is_the_policy_says(post):
    strict = ("--policy", policy(post, "breaker: {failures: 2, counts: failures}"))
    for _ in range(7):
        assert post.run("run", "--agent", "lax", "--", "false").returncode == 1
    for _ in range(2):
        assert post.run("run", "--agent", "strict", *strict, "--", "false").returncode == 1
    assert post.run("run", "--agent", "strict", *strict, "--", "false").returncode == 126


@pytest.mark.parametrize("budget, program", [
    ("runs_per_hour: 2", ("true",)),
    ("timeouts_per_day: 2", ("sleep", "9")),
    ("cpu_per_hour: 60ms", ("sh", "-c", "while :; do :; done")),
])
def test_a_budget_that_is_spent_refuses_the_next_run(post, budget, program):
    rule = ("--policy", policy(post, f"{{budgets: {{{budget}}}, breaker: {{failures: none, "
                                        "rate: none}}"))
    started = 0
    while (done := post.run("run", "--agent", "a", "--time", "100ms", *rule, "--",
                            *program)).returncode != 126:
        assert done.returncode in (0, 124), done.stderr
        started += 1
        assert started < 20, "it is never spent"
    assert started == 2 or "cpu" in budget, started
    assert "the budget is spent: " in done.stderr, done.stderr
    spent = events(post, "budget.spent")
    assert spent[0]["budget"] == budget.split(":")[0] and spent[0]["spent"] >= spent[0]["limit"]
    # A fresh budget, by hand.
    assert post.run("breaker", "reset", "a").returncode == 0
    assert post.run("run", "--agent", "a", *rule, "--", "true").returncode == 0


@pytest.mark.parametrize("budget", ["requests_per_hour: 2", "requests_per_day: 2", "bytes_per_hour: 300"])
def test_what_goes_through_the_gateway_is_spent(post, budget):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server:
        server.RequestHandlerClass.log_message = lambda *_: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        rule = policy(post, f"budgets: {{ {budget} }}\nnetwork:\n  allow: [api.example]\n"
                            f"  hosts: {{ api.example: '127.0.0.1:{server.server_address[1]}' }}\n")
        line = ["run", "--agent", "a", "--policy", rule, "--", "curl", "-s", "-o", "/dev/null", "http://api.example/", "http://api.example/"]
        assert post.run(*line).returncode == 0
        done = post.run(*line)
        server.shutdown()
    assert done.returncode == 126 and "the budget is spent" in done.stderr
    assert [event["budget"] for event in events(post, "budget.spent")] == [budget.split(":")[0]]


def at_once(post, count, *args):
    """The exit codes of so many runs that are all started before one is waited for."""
    started = [post.start("run", "--agent", "a", *args) for _ in range(count)]
    codes = []
    for process in started:
        process.communicate(timeout=60)
        codes.append(process.returncode)
    return codes


def test_a_budget_is_exact_however_many_ask_at_once(post):
    rule = policy(post, "budgets: {runs_per_hour: 10}")
    codes = at_once(post, 40, "--policy", rule, "--", "true")
    assert sorted(codes) == [0] * 10 + [126] * 30
    assert len(events(post, "run.started")) == 10
    assert len(events(post, "run.refused")) == 30


def test_one_of_many_is_the_probe(post):
    rule = policy(post, "breaker: {failures: 1, open: 4s}")
    fail(post, "a", "--policy", rule)
    assert at_once(post, 5, "--policy", rule, "--", "true") == [126] * 5
    time.sleep(4.1)
    # The probe lasts, so that all others ask meanwhile.
    codes = at_once(post, 20, "--policy", rule, "--", "sleep", "5")
    assert sorted(codes) == [0] + [126] * 19
    assert breakers(post)["a"]["state"] == "closed"


def test_by_hand_a_breaker_is_opened_and_closed(post):
    assert post.run("breaker", "ls").stdout.startswith("no breakers yet")
    done = post.run("breaker", "trip", "a", "--reason", "looks odd")
    assert done.stdout == "open: agent a, until it is reset\n", done.stderr
    done = post.run("run", "--agent", "a", "--", "true")
    assert done.returncode == 126
    assert "the breaker of agent a is open: by hand: looks odd" in done.stderr
    assert "hint: it stays so until `ringfort breaker reset a`" in done.stderr, done.stderr
    done = post.run("breaker", "trip", "host", "h.example", "--for", "1h30m")
    assert done.stdout == "open: host h.example, for 1h30m\n", done.stderr
    assert set(breakers(post)) == {"a", "h.example"}
    assert post.run("breaker", "reset", "agent", "a").stdout == "closed: agent a\n"
    assert post.run("run", "--agent", "a", "--", "true").returncode == 0
    assert [event["by"] for event in events(post, "breaker.change")] == ["hand"] * 3


@pytest.mark.parametrize("args, said", [
    (("breaker", "reset", "nobody"), "nothing is known of agent nobody"),
    (("breaker", "reset"), "[KIND] NAME is needed here"),
    (("breaker", "reset", "agent", "a", ""), "[KIND] NAME is needed here"),
    (("breaker", "reset", "agents", "a"), '"agents" is not something that has a breaker'),
    (("breaker", "ls", "x"), "breaker ls has no argument `x`"),
    (("breaker", "trip", "a", "--for", "5"), '--for: "5" has no unit'),
    (("breaker", "trip", "a "), '"a " is not a name'),
    (("breaker", "trip", "a", "--reason", "x" * 121), "at most 120 bytes"),
    (("breaker", "trip", "a", "--reason", "\x1b[2J"), "a reason is one line"),
])
def test_a_wrong_line_is_refused(post, args, said):
    done = post.run(*args)
    assert done.returncode == (1 if "nobody" in args else 125) and said in done.stderr, done.stderr


def test_an_open_breaker_outlives_the_watcher(post):
    for _ in range(5):
        fail(post, "a")
    assert breakers(post)["a"]["state"] == "open"
    post.end(signal.SIGKILL)
    post.stand()
    done = post.run("run", "--agent", "a", "--", "true")
    assert done.returncode == 126 and "5 failures in a row" in done.stderr, done.stderr
    assert 40000 < breakers(post)["a"]["retry_ms"] < 60000


def test_a_state_that_is_damaged_is_set_aside_and_told(post):
    post.run("breaker", "trip", "a")
    post.end(signal.SIGKILL)
    kept = state(post) / "state"
    kept.write_bytes(kept.read_bytes()[:-1])
    post.stand()
    assert post.run("run", "--agent", "a", "--", "true").returncode == 0
    alarms = events(post, "alarm")
    assert [alarm["alarm"] for alarm in alarms] == ["breaker_state"]
    assert 'ringfort_alarms_total{alarm="breaker_state"} 1\n' in post.run("metrics").stdout
    assert (state(post) / "state.bad").exists()


def test_a_launcher_that_is_killed_says_nothing_about_its_agent(post):
    for _ in range(6):
        process = post.start("run", "--agent", "a", "--", "sh", "-c", "echo up; sleep 60")
        assert process.stdout.readline() == b"up\n"
        process.kill()
        process.communicate()
    assert breakers(post)["a"]["state"] == "closed"
    assert post.run("run", "--agent", "a", "--", "true").returncode == 0


def test_without_a_watcher_a_policy_with_breakers_does_not_run(post):
    rule = policy(post, "{agent: a, breaker: {failures: 2}}")
    assert post.run("run", "--policy", rule, "--", "true").returncode == 0
    post.end()
    done = post.run("run", "--policy", rule, "--", "true")
    assert done.returncode == 126 and "no watcher stands" in done.stderr, done.stderr
    assert "hint: start one: ringfort watch &" in done.stderr
    done = post.run("run", "--policy", rule, "--weaker", "allow", "--json", "--", "true")
    assert result(done)["status"] == "ok"
    assert any("breaker" in warning for warning in result(done)["warnings"])
    # An agent alone is a name, and needs nobody.
    assert post.run("run", "--agent", "a", "--", "true").returncode == 0
    done = post.run("breaker", "ls")
    assert done.returncode == 1 and "no watcher stands" in done.stderr


def test_a_budget_for_nobody_is_an_error(post):
    done = post.run("run", "--policy", policy(post, "budgets: {runs_per_day: 1}"), "--",
                        "true")
    assert done.returncode == 125
    assert "budgets.runs_per_day counts for an agent, and the policy does not say which" \
        in done.stderr


def test_a_wardens_boxes_go_by_the_same_breakers_and_its_ceilings_agent(post):
    warden = post.start("warden", "--ceiling", policy(post, "agent: bound"))
    try:
        assert eventually(lambda: post.run("warden", "--status").returncode == 0, 20)
        for _ in range(5):
            fail(post, "somebody-else")
        done = post.run("run", "--agent", "a-third", "--json", "--", "true")
        assert result(done)["status"] == "denied", done.stdout
        assert "agent bound is open" in result(done)["error"]["message"]
        assert set(breakers(post)) == {"bound"}
    finally:
        warden.terminate()
        warden.communicate(timeout=20)


def test_a_run_that_fills_its_disk_is_an_alarm(post):
    done = post.run("run", "--json", "--agent", "a", "--disk", "1M", "--", "sh", "-c",
                    "head -c 5M /dev/zero >/tmp/x")
    assert result(done)["status"] == "disk", done.stdout
    alarm, = post.events("--kind", "alarm")
    assert (alarm["alarm"], alarm["severity"], alarm["agent"]) == ("write_storm", "high", "a")
    assert alarm["box"] == result(done)["id"]
    assert 'ringfort_alarms_total{alarm="write_storm"} 1\n' in post.run("metrics").stdout


def test_the_figures_of_a_watcher_are_taken_by_promtool(post, need):
    need("promtool")
    for _ in range(5):
        fail(post, "a")
    post.run("run", "--agent", "a", "--", "true")
    text = post.run("metrics").stdout
    for line in ("ringfort_watched 1\n", 'ringfort_runs_total{verdict="timeout"} 5\n',
                 'ringfort_breakers{kind="agent",state="open"} 1\n',
                 'ringfort_refused_total{kind="agent"} 1\n'):
        assert line in text, text
    # One that ran out of time before its program began has no time of its start.
    assert re.search(r"^ringfort_start_seconds_count [1-5]$", text, re.MULTILINE), text
    lag, = (float(line.split()[1]) for line in text.splitlines() if line.startswith("ringfort_audit_lag_seconds "))
    assert 0 <= lag < 10  # a sync is asked for every 50 ms
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
