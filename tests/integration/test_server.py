"""The server: runs and sandboxes over HTTP, each bounded by its key."""
import base64
import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest

from helpers import eventually, left_cgroups, processes_with

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server, raw  # noqa: E402
from wardens import IS_ROOT  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

RUN = "/v1/run"
BOXES = "/v1/sandboxes"


@pytest.fixture(scope="module")
def standing(ringfort, public):
    found = {}
    yield lambda who: found.get(who) or found.setdefault(who, Server(ringfort, who, public / f"server-{who}"))
    for server in found.values():
        server.close()


@pytest.fixture
def server(standing, as_who):
    return standing(as_who)


@pytest.fixture
def own(ringfort, as_who, public):
    """Servers of a test's own."""
    started = []

    def start(*options, **more):
        started.append(Server(ringfort, as_who, public / f"own-{as_who}-{time.monotonic_ns()}", *options, **more))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def box(server):
    made = server.post(BOXES, {})
    assert made.status == 201, made.body
    yield made.json["id"]
    server.delete(f"{BOXES}/{made.json['id']}")


def token():
    return f"8765{time.monotonic_ns()}"


# --- runs ---

# What is asked, and what the result must have.
ASKED = {
    "a program": ({"argv": ["echo", "hi"]}, {"status": "ok", "exit_code": 0, "stdout": "hi\n"}),
    "a line for a shell": ({"command": "echo $((6*7)); echo no >&2; exit 3"},
                           {"status": "failed", "exit_code": 3, "stdout": "42\n", "stderr": "no\n"}),
    "code": ({"language": "python", "code": "print(6 * 7)"}, {"status": "ok", "stdout": "42\n"}),
    "code by another name of the language": ({"language": "SH", "code": "echo $0"}, {"stdout": "/code/main.sh\n"}),
    "input": ({"argv": ["cat"], "stdin": "grüße"}, {"stdout": "grüße"}),
    "input of any bytes": ({"argv": ["od", "-An", "-tx1"], "stdin_base64": "AP8="},
                           {"stdout": " 00 ff\n"}),
    "a working folder": ({"argv": ["pwd"], "cwd": "/tmp"}, {"status": "ok", "stdout": "/tmp\n"}),
    "no input": ({"argv": ["cat"]}, {"status": "ok", "stdout": ""}),
    "variables": ({"command": "echo $A-$LANG", "env": {"A": "b=c", "LANG": "x"}}, {"stdout": "b=c-x\n"}),
    "files": ({"argv": ["sh", "-c", "cd /code; cat a.txt d/b; touch x 2>/dev/null || echo read-only"],
               "files": [{"path": "a.txt", "content": "A\n"}, {"path": "d/b", "content_base64": "QgE="}]},
              {"stdout": "A\nB\1read-only\n"}),
    "a time-out": ({"argv": ["sleep", "30"], "timeout": 1}, {"status": "timeout"}),
    "too much output": ({"command": "head -c 3000000 /dev/zero | tr '\\0' x"}, {"status": "output"}),
    "as much as was asked for": ({"command": "head -c 3000000 /dev/zero | tr '\\0' x", "limits": {"output": "4M"}},
                                 {"status": "ok", "stdout": "x" * 3000000}),
    "a profile": ({"argv": ["sh", "-c", "echo $PYTHONUNBUFFERED"], "profile": "python"}, {"status": "ok"}),
    "two profiles": ({"argv": ["true"], "profile": ["python", "offline"]}, {"status": "ok"}),
    "no program of that name": ({"argv": ["no-such-program"]}, {"status": "error", "exit_code": None}),
    "what it needs": ({"argv": ["true"], "needs": {"isolation": "process", "network": False}}, {"status": "ok"}),
}


@pytest.mark.parametrize("asked, wanted", ASKED.values(), ids=ASKED)
def test_a_run_is_answered_with_its_result(server, asked, wanted):
    answer = server.post(RUN, asked)
    assert answer.status == 200, answer.body
    assert {name: answer.json[name] for name in wanted} == wanted


def test_what_it_writes_is_told_as_it_comes_and_the_result_last(server):
    with contextlib.closing(server.connect()) as line:
        line.request("POST", RUN, json.dumps({"command": "echo one; sleep 30", "timeout": 60}),
                     {"Accept": "text/event-stream", "Content-Type": "application/json",
                      "Authorization": f"Bearer {server.key}"})
        answer = line.getresponse()
        assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream"
        assert answer.readline() == b"event: stdout\n"
        assert json.loads(answer.readline()[6:]) == {"data": "one\n", "encoding": "utf-8"}
    events = server.post(RUN, {"command": "printf '\\303'; sleep 0.3; printf '\\244'; echo e >&2; sleep 0.2; printf '\\377'"},
                         headers={"Accept": "text/event-stream"}).events
    assert "".join(data["data"] for name, data in events if name == "stdout" and data["encoding"] == "utf-8") == "ä"
    assert [data["data"] for name, data in events if data.get("encoding") == "base64"] == \
        [base64.b64encode(b"\xff").decode()]
    assert events[-1][0] == "result" and events[-1][1]["status"] == "ok" and events[-1][1]["stdout"] == ""


def test_a_client_that_reads_slowly_slows_the_program_down(server):
    """What waits for it is bounded: the front does not grow by what the program would write."""
    front = server.children()["ringfort-front"][0]

    def size():
        return int(pathlib.Path(f"/proc/{front}/statm").read_text().split()[1]) * 4096

    before = size()
    with contextlib.closing(server.connect()) as line:
        line.request("POST", RUN, json.dumps({"command": "head -c 15000000 /dev/zero | tr '\\0' x", "timeout": 30}),
                     {"Accept": "text/event-stream", "Content-Type": "application/json",
                      "Authorization": f"Bearer {server.key}"})
        answer = line.getresponse()
        time.sleep(1)
        assert size() - before < 8 << 20
        told = sum(len(json.loads(row[6:])["data"]) for row in answer if row.startswith(b'data: {"data"'))
    assert told == 15000000


def test_a_client_that_goes_takes_its_run_along(server):
    word = token()
    for stream in ({}, {"Accept": "text/event-stream"}):
        with contextlib.closing(server.connect()) as line:
            line.request("POST", RUN, json.dumps({"argv": ["sleep", word], "timeout": 60}),
                         {**stream, "Content-Type": "application/json", "Authorization": f"Bearer {server.key}"})
            assert eventually(lambda: processes_with(word), 5)
        assert eventually(lambda: not processes_with(word), 5)


# --- what is wrong ---

# Body, status, where, and words of the message or the remedy.
WRONG = {
    "no JSON": (b"{", 400, "body", "JSON"),
    "not UTF-8": (b'{"argv": ["\xff"]}', 400, "body", ""),
    "two of a name": (b'{"argv": ["a"], "argv": ["b"]}', 400, "body", ""),
    "an array": ([], 422, None, "object"),
    "nothing to run": ({}, 422, "argv, command or code", "none of them"),
    "two things to run": ({"argv": ["a"], "command": "b"}, 422, "argv, command or code", "more than one"),
    "an unknown field": ({"argv": ["a"], "argz": 1}, 422, "argz", "the fields are argv"),
    "words that are none": ({"argv": "ls -l"}, 422, "argv", "a list of strings"),
    "a word that is none": ({"argv": ["ls", 1]}, 422, "argv", "a string"),
    "no words": ({"argv": []}, 422, "argv", "1 to"),
    "too many words": ({"argv": ["a"] * 3000}, 422, "argv", "1 to 2048"),
    "an empty program": ({"argv": [""]}, 422, "argv", "empty"),
    "a language without code": ({"argv": ["a"], "language": "python"}, 422, "language", "no code"),
    "code without a language": ({"code": "x"}, 422, "language", "missing"),
    "a language that there is not": ({"code": "x", "language": "pyhton"}, 422, "language", "python"),
    "a time that is none": ({"argv": ["a"], "timeout": "1"}, 422, "timeout", "a number"),
    "a negative time": ({"argv": ["a"], "timeout": -1}, 422, "timeout", "whole number"),
    "no time": ({"argv": ["a"], "timeout": 0}, 422, "timeout", "1 to 86400"),
    "two times": ({"argv": ["a"], "timeout": 1, "policy": {"limits": {"time": "1s"}}}, 422, "timeout", "one place"),
    "a time among the limits": ({"argv": ["a"], "limits": {"time": "1s"}}, 422, "limits.time", "timeout"),
    "a variable that is none": ({"argv": ["a"], "env": {"A": 1}}, 422, "env", "string"),
    "a variable's name that is none": ({"argv": ["a"], "env": {"A=": "1"}}, 422, "env", "name"),
    "input that is no base64": ({"argv": ["a"], "stdin_base64": "a"}, 422, "stdin_base64", "base64"),
    "two inputs": ({"argv": ["a"], "stdin": "a", "stdin_base64": ""}, 422, "stdin_base64", "one way"),
    "a file above": ({"argv": ["a"], "files": [{"path": "../x", "content": ""}]}, 422, "files[0]", "/code"),
    "a file with an odd name": ({"argv": ["a"], "files": [{"path": "a b", "content": ""}]}, 422, "files[0]", "/code"),
    "a file at the root": ({"argv": ["a"], "files": [{"path": "/x", "content": ""}]}, 422, "files[0]", "/code"),
    "a file without content": ({"argv": ["a"], "files": [{"path": "x"}]}, 422, "files[0]", "no content"),
    "a file twice": ({"argv": ["a"], "files": [{"path": "x", "content": ""}] * 2}, 409, "files", "twice"),
    "too many files": ({"argv": ["a"], "files": [{"path": f"{i}", "content": ""} for i in range(20)]}, 422, "files", "0 to 15"),
    "a limit that is none": ({"argv": ["a"], "limits": {"memory": "much"}}, 422, "policy", "limits.memory"),
    "a limit that there is not": ({"argv": ["a"], "limits": {"memroy": "1G"}}, 422, "policy", "memory"),
    "a policy that is none": ({"argv": ["a"], "policy": {"files": 1}}, 422, "policy", "files"),
    "a profile that there is not": ({"argv": ["a"], "profile": "pyton"}, 422, "policy", "python"),
    "a network": ({"argv": ["a"], "policy": {"network": {"allow": ["a.example"]}}}, 403, "policy.network.allow", "allows no network"),
    "a need for one": ({"argv": ["a"], "needs": {"network": True}}, 422, "needs.network", "no network"),
    "a need for a VM": ({"argv": ["a"], "needs": {"isolation": "vm"}}, 501, "needs.isolation", "process"),
    "a need for nothing known": ({"argv": ["a"], "needs": {"isolation": "magic"}}, 422, "needs.isolation", "process"),
    "a need that there is not": ({"argv": ["a"], "needs": {"gpu": True}}, 422, "needs.gpu", "no such field"),
    "a folder that is none": ({"argv": ["a"], "cwd": "here"}, 422, "cwd", "absolute"),
    "a filter of this machine's": ({"argv": ["a"], "policy": {"seccomp": ["/etc/passwd"]}}, 403, None, "ceiling"),
    "deep nesting": (b'{"policy": ' + b"[" * 100 + b"]" * 100 + b"}", 400, "body", ""),
}


@pytest.mark.parametrize("body, status, where, words", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_with_its_place_and_a_remedy(server, body, status, where, words):
    answer = server.post(RUN, body, headers={"Content-Type": "application/json"})
    error = answer.json["error"]
    assert (answer.status, error["where"]) == (status, where), error
    assert words in f"{error['message']} {error['remedy']}", error
    assert set(error) == {"code", "message", "remedy", "where"} and len(answer.json) == 1


def test_requests_that_are_none_get_the_same_form(server):
    key = server.key
    rows = [
        ("GET", "/", {}, 404, "not_found"), ("GET", "/v1", {}, 404, "not_found"),
        ("GET", "/v1/sandboxes/", {}, 404, "not_found"), ("GET", "/v1//health", {}, 404, "not_found"),
        ("GET", "/v1/%68ealth", {}, 404, "not_found"), ("PATCH", "/v1/health", {}, 405, "no_method"),
        ("GET", RUN, {}, 405, "no_method"), ("GET", "/v1/health?x=1", {}, 400, "malformed"),
        ("GET", BOXES + "?limit=1&limit=2", {}, 400, "malformed"), ("GET", BOXES + "?limit=0", {}, 422, "invalid"),
        ("GET", BOXES + "?limit=x", {}, 422, "invalid"), ("GET", BOXES + "?label=x", {}, 422, "invalid"),
        ("GET", BOXES + "?cursor=%zz", {}, 400, "malformed"), ("GET", BOXES + "?cursor=%00", {}, 400, "malformed"),
        ("GET", BOXES + "?cursor=" + "a" * 100, {}, 400, "malformed"), ("GET", BOXES + "?cursor=a%2Fb", {}, 422, "invalid"),
        ("POST", RUN, {"Content-Type": "text/plain"}, 415, "no_type"),
        ("GET", "/v1/health", {"Host": "evil.example"}, 403, "forbidden"),
        ("GET", "/v1/health", {"Origin": "http://evil.example"}, 403, "forbidden"),
        ("GET", "/v1/health", {"Origin": "null"}, 403, "forbidden"),
    ]
    for method, path, headers, status, code in rows:
        answer = server.ask(method, path, b"{}" if method == "POST" else None, headers=headers)
        assert (answer.status, answer.json["error"]["code"]) == (status, code), (method, path, answer.body)
        assert answer.headers["X-Request-Id"] and (status != 405 or answer.headers["Allow"] in ("GET", "POST"))
    assert server.ask("GET", "/v1/health", b"body").status == 400
    assert server.ask("GET", "/v1/health", headers={"Host": "localhost:1"}).status == 200
    for data in (b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET /v1/health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"):
        head, _, body = raw(server, data).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ") and json.loads(body)["error"]["code"] == "malformed"
    head = f"POST {RUN} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
    long = raw(server, head.encode() + b"Content-Length: 1000000000\r\n\r\n")
    assert long.startswith(b"HTTP/1.1 413 ") and b'"too_large"' in long
    chunks = raw(server, head.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + b"100000\r\n" + b" " * 0x100000 + b"\r\n" +
                 b"400000\r\n" + b" " * 0x400000)
    assert chunks.startswith(b"HTTP/1.1 413 "), chunks[:200]


def test_a_request_has_an_id_and_keeps_its_trace(server):
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    own = server.get("/v1/health", headers={"X-Request-Id": "mine-1", "traceparent": trace})
    assert own.headers["X-Request-Id"] == "mine-1" and own.headers["traceparent"] == trace
    odd = server.get("/v1/health", headers={"X-Request-Id": "a b", "traceparent": "x"})
    assert odd.headers["X-Request-Id"] != "a b" and odd.headers["traceparent"] is None
    assert len({server.get("/v1/health").headers["X-Request-Id"] for _ in range(5)}) == 5


# --- keys ---

def test_a_key_is_needed_and_a_wrong_one_is_none(server):
    wrong = server.key[:-1] + ("0" if server.key[-1] != "0" else "1")
    other_id = "rfk_000000000000_" + server.key.rpartition("_")[2]
    for key in ("x", wrong, other_id, server.key.upper(), server.key + "0", "a" * 5000, "rfk_" + "é" * 3):
        answer = server.ask("GET", BOXES, key="", headers={"Authorization": b"Bearer " + key.encode()})
        assert answer.status == 401 and answer.json["error"]["code"] == "no_key", key
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert server.get(BOXES, key="").status == 401
    assert server.get(BOXES, key="", headers={"X-API-Key": server.key}).status == 200
    assert server.get("/v1/health", key="").status == 200


def test_scopes_say_what_a_key_is_good_for(server):
    reads, runs = server.make_key("--scope", "read"), server.make_key("--scope", "run")
    for method, path, body, key, status in (
            ("GET", BOXES, None, reads, 200), ("POST", RUN, {"argv": ["true"]}, reads, 403),
            ("POST", BOXES, {}, reads, 403), ("DELETE", f"{BOXES}/0", None, reads, 403), ("GET", "/metrics", None, reads, 403),
            ("GET", BOXES, None, runs, 200), ("POST", RUN, {"argv": ["true"]}, runs, 200), ("GET", "/metrics", None, runs, 403),
            ("GET", "/metrics", None, server.key, 200)):
        answer = server.ask(method, path, body, key=key)
        assert answer.status == status, (method, path, answer.body)
        if status == 403:
            assert "scope" in answer.json["error"]["remedy"]


def test_a_ceiling_bounds_every_box_of_its_key(server, workdir):
    (workdir / "secret").write_text("found\n")
    (workdir / "secret").chmod(0o644)
    (workdir / "ceiling.yaml").write_text("limits: {time: 2s, memory: 64M}\n")
    (workdir / "open.yaml").write_text(f"files: {{read: [{workdir}], current: none}}\n")
    small = server.make_key("--ceiling", str(workdir / "ceiling.yaml"))
    wide = server.make_key("--ceiling", str(workdir / "open.yaml"))
    asked = {"argv": ["cat", f"{workdir}/secret"], "policy": {"files": {"read": [str(workdir)]}}}
    assert server.post(RUN, asked, key=wide).json["stdout"] == "found\n"
    slow = {"argv": ["sleep", "30"], "timeout": 60}
    hungry = {"language": "python", "code": "x = bytearray(200 << 20)", "limits": {"memory": "1G"}}
    host = {"command": "wc -l </proc/net/dev", "policy": {"network": "host"}}
    # What it names beyond is refused; the first key has no files either.
    for key, body, where, rule in ((small, asked, "policy.files.read", "files.read: nothing"), (None, asked, "policy.files.read", "files.read: nothing"),
                                   (small, slow, "timeout", "limits.time: 2s"), (small, hungry, "limits.memory", "limits.memory: 64M"),
                                   (None, host, "policy.network.link", "network.link: none")):
        refused = server.post(RUN, body, key=key)
        error = refused.json["error"]
        assert (refused.status, error["code"], error["where"]) == (403, "refused", where) and rule in error["message"], error
        assert "beyond" in error["remedy"], error
    # Or it is narrowed, and said so.
    for key in (small, None):
        done = server.post(RUN, {**asked, "beyond": "drop"}, key=key).json
        assert done["stdout"] == "" and done["beyond_ceiling"] == [f"files.read: {workdir}"]
    late = server.post(RUN, {**slow, "beyond": "drop"}, key=small).json
    assert late["status"] == "timeout" and late["usage"]["wall_ms"] < 10000 and late["beyond_ceiling"] == ["limits.time: 1m"]
    used = server.post(RUN, {**hungry, "beyond": "drop"}, key=small).json
    assert used["status"] in ("memory", "failed") and used["exit_code"] != 0 and used["beyond_ceiling"] == ["limits.memory: 1G"]
    net = server.post(RUN, {**host, "beyond": "drop"}).json
    assert net["stdout"] == "3\n" and net["beyond_ceiling"] == ["network.link: host"]
    # What nobody named is bounded as before: the usual times of runs and sandboxes, and what a profile brings along.
    assert server.post(RUN, {"argv": ["true"], "profile": "python"}, key=small).json["status"] == "ok"
    box = server.post(BOXES, {"profile": "python"}, key=small)
    assert box.status == 201 and 0 < box.json["expires_in_ms"] <= 2000 and "beyond_ceiling" not in box.json, box.body
    assert server.post(RUN, {"argv": ["true"], "outputs": ["*.txt"]}, key=small).status == 200
    assert server.post(RUN, {"argv": ["true"], "outputs": ["*.txt"], "timeout": 2}, key=small).status == 200
    none = server.post(RUN, {"argv": ["true"], "beyond": "drop"}, key=small).json
    assert none["beyond_ceiling"] == []


def test_keys_come_and_go_while_it_serves(server):
    done = server.run("key", "create", "--name", "ci", "--tenant", "acme", "--boxes", "3", "--rate", "60")
    key = done.stdout.strip()
    assert done.returncode == 0 and key.startswith("rfk_") and "only time" in done.stderr
    assert server.get(BOXES, key=key).status == 200
    listed = json.loads(server.run("key", "ls", "--json").stdout)
    row = next(row for row in listed if row["name"] == "ci")
    assert row["tenant"] == "acme" and row["boxes"] == 3 and row["rate"] == 60 and row["scopes"] == "run,read"
    secret = key.rpartition("_")[2]
    state = pathlib.Path(f"/proc/self/fd/{server.root}/var/lib/ringfort" if server.root >= 0 else
                         server.runtime / "state/ringfort")
    files = list((state / "keys").iterdir())
    assert len(files) == len(listed) and all(path.stat().st_mode & 0o777 == 0o600 for path in files)
    assert not any(secret in path.read_text() for path in files)
    assert row["id"] in server.run("key", "ls").stdout
    assert server.run("key", "rm", row["id"]).returncode == 0
    assert eventually(lambda: server.get(BOXES, key=key).status == 401, 5)
    again = server.run("key", "rm", row["id"])
    assert again.returncode == 1 and "no API key" in again.stderr
    for words in (["create", "--scope", "all"], ["create", "--boxes", "0"], ["create", "--rate", "x"],
                  ["create", "--tenant", "a/b"], ["create", "--ceiling", "no-such"], ["create", "x"], ["rm"], ["ls", "x"]):
        done = server.run("key", *words)
        assert done.returncode == 125 and done.stderr.count("\n") >= 2, words


# --- sandboxes ---

def test_a_sandbox_lives_from_create_to_delete(server):
    made = server.post(BOXES, {"labels": {"project": "blue"}, "env": {"WHO": "me"}, "timeout": 120})
    assert made.status == 201, made.body
    one = made.json
    path = f"{BOXES}/{one['id']}"
    assert one["state"] == "running" and one["labels"] == {"project": "blue"} and one["created"].endswith("Z")
    assert 100000 < one["expires_in_ms"] <= 120000 and one["programs"] == []
    first = server.post(f"{path}/exec", {"command": "echo $WHO; echo kept >/tmp/file; cd /tmp; pwd"})
    assert first.status == 200 and first.json["stdout"] == "me\n/tmp\n", first.body
    second = server.post(f"{path}/exec", {"argv": ["cat", "file", "-"], "cwd": "/tmp", "stdin": "in", "env": {"A": "1"}})
    assert second.json["stdout"] == "kept\nin" and second.json["exit_code"] == 0
    assert server.post(f"{path}/exec", {"command": "exit 7"}).json["exit_code"] == 7
    late = server.post(f"{path}/exec", {"argv": ["sleep", "30"], "timeout": 1}).json
    assert late["status"] in ("timeout", "killed") and late["usage"]["wall_ms"] < 10000
    events = server.post(f"{path}/exec", {"command": "echo a; echo b >&2"}, headers={"Accept": "text/event-stream"}).events
    assert events[-1][0] == "result" and ("stdout", {"data": "a\n", "encoding": "utf-8"}) in events
    assert server.post(f"{path}/pause").json["state"] == "paused"
    assert server.post(f"{path}/exec", {"argv": ["true"]}).status >= 400
    assert server.post(f"{path}/resume").json["state"] == "running"
    assert server.post(f"{path}/exec", {"argv": ["true"]}).json["status"] == "ok"
    assert server.post(f"{path}/timeout", {"timeout": 60}).json["expires_in_ms"] <= 60000
    assert server.post(f"{path}/timeout", {"timeout": 80000}).status == 409
    assert server.delete(path).status == 204
    for answer in (server.get(path), server.delete(path), server.post(f"{path}/pause"),
                   server.post(f"{path}/exec", {"argv": ["true"]}), server.get(f"{path}/files?path=/tmp")):
        assert answer.status == 404 and answer.json["error"]["code"] == "not_found"


def test_a_sandbox_ends_when_its_time_is_over(server):
    made = server.post(BOXES, {"timeout": 1}).json
    assert eventually(lambda: server.get(f"{BOXES}/{made['id']}").status == 404, 10)


def test_lists_have_pages_and_labels(server):
    key = server.make_key()
    made = sorted(server.post(BOXES, {"labels": {"n": str(i % 2)}}, key=key).json["id"] for i in range(5))
    first = server.get(f"{BOXES}?limit=2", key=key).json
    second = server.get(f"{BOXES}?limit=2&cursor={first['next_cursor']}", key=key).json
    last = server.get(f"{BOXES}?limit=2&cursor={second['next_cursor']}", key=key).json
    assert [row["id"] for page in (first, second, last) for row in page["sandboxes"]] == made
    assert last["next_cursor"] is None
    assert len(server.get(f"{BOXES}?label=n%3D1", key=key).json["sandboxes"]) == 2
    assert server.get(f"{BOXES}?label=n%3D7", key=key).json == {"sandboxes": [], "next_cursor": None}
    for one in made:
        assert server.delete(f"{BOXES}/{one}", key=key).status == 204


def test_programs_run_in_the_background_of_a_sandbox(server, box):
    path = f"{BOXES}/{box}"
    made = server.post(f"{path}/exec", {"command": "echo up; while read x; do echo got $x; done; echo end >&2; exit 4",
                                        "background": True, "stdin": "one\n"})
    assert made.status == 202 and made.json["state"] == "running" and made.json["result"] is None, made.body
    one = f"{path}/programs/{made.json['number']}"

    def read(cursor, until):
        """What it wrote from there on; until that has these words."""
        text, end = "", time.monotonic() + 10
        while until not in text:
            assert time.monotonic() < end, text
            log = server.get(f"{one}/log?cursor={cursor}&wait_ms=2000").json
            text += "".join(event["data"] for event in log["events"])
            cursor = log["cursor"]
        return cursor, text, log

    cursor, text, _ = read(0, "got one\n")
    assert text == "up\ngot one\n"
    assert server.post(f"{one}/stdin", {"data": "two\n"}).status == 204
    cursor, text, log = read(cursor, "got two\n")
    assert text == "got two\n" and not log["ended"]
    began = time.monotonic()
    assert server.get(f"{one}/log?cursor={cursor}&wait_ms=300").json["events"] == [] and time.monotonic() - began > 0.25
    assert server.get(one).json["state"] == "running"
    assert server.post(f"{one}/stdin", {"data_base64": "dGhyZWUK", "close": True}).status == 204
    cursor, text, log = read(cursor, "end\n")
    assert text == "got three\nend\n"
    assert eventually(lambda: server.get(one).json["state"] == "ended", 5)
    done = server.get(one).json["result"]
    assert done["exit_code"] == 4 and done["status"] == "failed"
    assert server.get(f"{one}/log?cursor={cursor}&wait_ms=5000").json == {"events": [], "cursor": cursor, "lost": 0, "ended": True}
    again = server.get(f"{one}/log").json
    assert again["cursor"] == cursor and again["events"][0]["data"].startswith("up\n")
    for answer, status in ((server.post(f"{one}/stdin", {"data": "x"}), 409), (server.post(f"{one}/signal", {"signal": "TERM"}), 409),
                           (server.post(f"{one}/signal", {"signal": "SEGV"}), 422), (server.get(f"{one}/log?cursor=-1"), 422),
                           (server.get(f"{one}/log?wait_ms=99999"), 422), (server.get(f"{path}/programs/999"), 404),
                           (server.post(f"{BOXES}/0/exec", {"argv": ["true"], "background": True}), 404)):
        assert answer.status == status, answer.body
    word = token()
    other = server.post(f"{path}/exec", {"argv": ["sleep", word], "background": True}).json["number"]
    assert server.post(f"{path}/programs/{other}/stdin", {"data": "x", "data_base64": ""}).status == 422
    theirs = server.make_key("--tenant", "else")
    for rest, body in (("", None), ("/log", None), ("/stdin", {"data": "x"}), ("/signal", {"signal": "KILL"})):
        assert server.ask("POST" if body else "GET", f"{path}/programs/{other}{rest}", body, key=theirs).status == 404
    assert server.post(f"{path}/programs/{other}/signal", {"signal": "TERM"}).status == 204
    assert eventually(lambda: server.get(f"{path}/programs/{other}").json["state"] == "ended", 5)
    assert server.get(f"{path}/programs/{other}").json["result"]["signal"] == signal.SIGTERM
    loud = server.post(f"{path}/exec", {"command": "head -c 3000000 /dev/zero | tr '\\0' x", "background": True}).json["number"]
    assert eventually(lambda: server.get(f"{path}/programs/{loud}").json["state"] == "ended", 10)
    log = server.get(f"{path}/programs/{loud}/log").json
    assert log["lost"] >= 3000000 - (1 << 20) and log["events"] and not log["ended"]


def test_files_are_written_read_listed_and_removed(server, box):
    path = f"{BOXES}/{box}/files"
    data = bytes(range(256)) * 4000
    assert server.put(f"{path}?path=/tmp/a/b/data.bin", data).status == 204
    got = server.get(f"{path}?path=/tmp/a/b/data.bin")
    assert got.body == data and got.headers["Content-Type"] == "application/octet-stream"
    assert server.put(f"{path}?path=/tmp/a/b/data.bin", b"").status == 204
    assert server.get(f"{path}?path=/tmp/a/b/data.bin").body == b""
    name = "n%C3%A4me%20%24(x)%0A"
    assert server.put(f"{path}?path=/tmp/a/{name}", b"odd").status == 204
    listed = {row["name"]: row for row in server.get(f"{path}/list?path=/tmp/a").json["files"]}
    assert set(listed) == {"b", "näme $(x)\n"} and listed["b"]["type"] == "folder"
    stat = server.get(f"{path}/stat?path=/tmp/a/{name}").json
    assert stat["size"] == 3 and stat["type"] == "file" and abs(stat["modified_ms"] / 1000 - time.time()) < 60
    assert server.delete(f"{path}?path=/tmp/a").status == 204
    for answer, status in ((server.get(f"{path}?path=/tmp/a"), 404), (server.get(f"{path}/stat?path=/tmp/a"), 404),
                           (server.delete(f"{path}?path=/tmp/a"), 404), (server.get(f"{path}?path=/tmp"), 409),
                           (server.put(f"{path}?path=/tmp", b""), 409), (server.put(f"{path}?path=/etc/x", b""), 403),
                           (server.get(path), 422), (server.get(f"{path}?path=tmp"), 422),
                           (server.get(f"{path}?path=/etc/shadow"), 404)):
        assert answer.status == status, answer.body
    assert server.post(f"{BOXES}/{box}/exec", {"command": "ln -s /proc/1/root/etc/shadow /tmp/link"}).status == 200
    assert server.get(f"{path}?path=/tmp/link").status in (403, 404)


def test_another_tenants_sandbox_is_not_there(server, box):
    """Every route that names one, and the lists."""
    other = server.make_key("--tenant", "other")
    mine = server.make_key("--tenant", "mine")
    ours = server.post(BOXES, {}, key=mine).json["id"]
    friend = server.make_key("--tenant", "mine")
    routes = [("GET", "", None), ("POST", "/timeout", {"timeout": 10}), ("POST", "/pause", None), ("POST", "/resume", None),
              ("POST", "/exec", {"argv": ["true"]}), ("GET", "/files?path=/tmp", None), ("PUT", "/files?path=/tmp/x", b"x"),
              ("GET", "/files/list?path=/tmp", None), ("GET", "/files/stat?path=/tmp", None),
              ("DELETE", "/files?path=/tmp/x", None), ("DELETE", "", None)]
    for method, rest, body in routes:
        answer = server.ask(method, f"{BOXES}/{box}{rest}", body, key=other)
        gone = server.ask(method, f"{BOXES}/{box[::-1]}{rest}", body, key=other)
        assert answer.status == gone.status == 404, (method, rest, answer.body)
        assert answer.json["error"]["code"] == "not_found"
    assert server.get(BOXES, key=other).json["sandboxes"] == []
    assert [row["id"] for row in server.get(BOXES, key=friend).json["sandboxes"]] == [ours]
    assert server.delete(f"{BOXES}/{ours}", key=friend).status == 204
    assert server.get(f"{BOXES}/{box}").status == 200


@pytest.mark.parametrize("more", [{"policy": {"network": {"loopback": "off"}}}, {"profile": "strict", "timeout": 20}], ids=["loopback off", "strict"])
def test_sandboxes_share_no_network_namespace_with_anybody(server, more):
    """Nor with those of the same owner: names and counters in /proc/net would be a message board."""
    keys = [server.make_key("--tenant", name) for name in ("one", "other", "other")]
    first = server.post(BOXES, more, key=keys[0]).json["id"]
    server.delete(f"{BOXES}/{first}", key=keys[0])  # and one of its kind stands ready from now on
    made = [(key, server.post(BOXES, more, key=key).json["id"]) for key in (*keys, keys[0])]
    script = {"command": "readlink /proc/self/ns/net; cat /proc/net/unix"}
    said = [server.post(f"{BOXES}/{box}/exec", script, key=key).json["stdout"].splitlines() for key, box in made]
    runs = [server.post("/v1/run", {**script, **more}, key=key).json["stdout"].splitlines() for key in keys]
    assert len({lines[0] for lines in said}) == len(made), said
    assert all(lines[0].startswith("net:[") and len(lines) == 2 for lines in [*said, *runs]), (said, runs)
    for key, box in made:
        assert server.delete(f"{BOXES}/{box}", key=key).status == 204


# --- how much at once ---

def test_a_key_has_as_many_boxes_as_it_may_and_the_rest_wait_or_are_told_to_come_again(server):
    key = server.make_key("--boxes", "2")
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        began = time.monotonic()
        answers = list(pool.map(lambda _: server.post(RUN, {"argv": ["sleep", "0.4"]}, key=key), range(6)))
        took = time.monotonic() - began
    assert [answer.status for answer in answers] == [200] * 6 and took > 1.1, took  # two at a time
    made = [server.post(BOXES, {}, key=key) for _ in range(3)]
    assert [answer.status for answer in made] == [201, 201, 429]
    assert made[2].headers["Retry-After"] and made[2].json["error"]["code"] == "too_many"
    for answer in made[:2]:
        assert server.delete(f"{BOXES}/{answer.json['id']}", key=key).status == 204
    assert server.post(RUN, {"argv": ["true"]}, key=key).status == 200


def test_a_rate_is_kept(server):
    key = server.make_key("--rate", "12")
    answers = [server.post(RUN, {"argv": ["true"]}, key=key) for _ in range(14)]
    statuses = [answer.status for answer in answers]
    assert statuses[:8] == [200] * 8 and statuses[-1] == 429, statuses
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 10
    assert server.get(BOXES, key=key).status == 200  # who only looks is not counted


# --- who may come ---

def test_the_unix_socket_goes_by_the_user(server, as_who):
    said = server.local("""
status, body = ask("POST", "/v1/run", {"argv": ["echo", "local"]})
print(status, json.loads(body)["stdout"], end="")
print(ask("GET", "/metrics")[0], ask("GET", "/v1/health", headers={"Origin": "http://evil.example"})[0])
""")
    assert said.stdout == "200 local\n200 403\n", said.stderr
    if IS_ROOT and as_who == "user":  # who could open the socket, and is another
        refused = server.local("print(ask('GET', '/v1/health'))", who="root")
        assert refused.returncode != 0 and "200" not in refused.stdout


def test_names_and_origins_that_were_told_are_served(own):
    server = own("--host", "boxes.example", "--origin", "https://ui.example")
    assert server.get("/v1/health", headers={"Host": "BOXES.example:80"}).status == 200
    assert server.get("/v1/health", headers={"Host": "other.example"}).status == 403
    assert server.get("/v1/health", headers={"Origin": "https://ui.example"}).status == 200
    assert server.get("/v1/health", headers={"Origin": "https://ui.example.evil"}).status == 403


def test_wrong_words_are_refused_with_a_remedy(server):
    for words in (["--listen", "7070"], ["--listen", "localhost:7070"], ["--listen", "127.0.0.1:99999"], ["--host", "a b"],
                  ["--origin", "ui.example"], ["--origin", "https://a/b"], ["extra"],
                  ["--check", "--listen", f"127.0.0.1:{server.port}"]):
        done = server.run("serve", *words)
        assert done.returncode == 125 and done.stderr.count("\n") >= 2, (words, done.stderr)
    assert server.run("serve", "--check", "--listen", "127.0.0.1:0").returncode == 0
    second = server.run("serve")
    assert second.returncode == 125 and "there already" in second.stderr


# --- its life ---

def test_the_front_can_do_nothing_but_serve(server, as_who):
    front = server.children()["ringfort-front"][0]
    status = pathlib.Path(f"/proc/{front}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["Seccomp"] == "2" and fields["NoNewPrivs"] == "1" and int(fields["CapEff"], 16) == 0
    assert int(fields["CapPrm"], 16) == int(fields["CapAmb"], 16) == 0
    if as_who == "root":
        assert "0" not in fields["Uid"].split() and not fields["Groups"].split()
    open_files = [os.readlink(path) for path in pathlib.Path(f"/proc/{front}/fd").iterdir()]
    assert not [name for name in open_files if name.startswith("/") and name != "/dev/null"], open_files


def test_a_front_that_dies_is_replaced_and_sandboxes_stay(own):
    server = own()
    made = server.post(BOXES, {"labels": {"a": "b"}}).json
    server.post(f"{BOXES}/{made['id']}/exec", {"command": "echo kept >/tmp/x"})
    old = server.children()["ringfort-front"][0]
    os.kill(old, signal.SIGKILL)
    assert eventually(lambda: server.children().get("ringfort-front", [old])[0] != old, 5)
    one = server.get(f"{BOXES}/{made['id']}").json
    assert one["labels"] == {"a": "b"} and one["created"] == made["created"]
    assert server.get(f"{BOXES}/{made['id']}/files?path=/tmp/x").body == b"kept\n"
    assert "started anew" in server.said or server.read_until("started anew") is None


@pytest.mark.parametrize("victim", ["ringfort-warden", "server"])
def test_when_the_warden_or_the_server_dies_nothing_is_left(own, victim):
    server, word = own("--grace=1"), token()
    groups = left_cgroups(0)
    made = server.post(BOXES, {}).json
    runs = [subprocess.Popen(["/usr/bin/python3", "-c", f"""
import http.client
line = http.client.HTTPConnection("127.0.0.1", {server.port})
line.request("POST", {path!r}, '{{"argv": ["sleep", "{word}"]}}', {{"Authorization": "Bearer {server.key}", "Content-Type": "application/json"}})
print(line.getresponse().status)
"""], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for path in (RUN, f"{BOXES}/{made['id']}/exec")]
    # Those inside, and not who asked for them: a warden that dies before is followed by another, which would run them.
    assert eventually(lambda: len(set(processes_with(word)) - {run.pid for run in runs}) >= 2, 20)
    os.kill(server.pid if victim == "server" else server.children()[victim][0], signal.SIGKILL)  # not its janitor
    assert eventually(lambda: not [pid for pid in processes_with(word) if pid not in [run.pid for run in runs]], 10)
    for run in runs:
        run.communicate(timeout=20)
    if victim == "server":
        server.process.wait(20)
    else:
        server.read_until("the warden has ended, and all boxes with it: another is started")
        assert server.end() == 0
    assert eventually(lambda: "ringfort-warden" not in server.children(), 10), server.children()
    assert eventually(lambda: not left_cgroups(0) - groups, 5)


def test_asked_to_end_it_answers_what_was_asked_and_leaves_nothing(own):
    server, groups = own(), left_cgroups(0)
    server.post(BOXES, {})
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        last = pool.submit(server.post, RUN, {"argv": ["sh", "-c", "sleep 1.5; echo done"]})
        time.sleep(0.5)
        began = time.monotonic()
        assert server.end() == 0
        assert last.result().json["stdout"] == "done\n" and time.monotonic() - began < 10
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", server.port), timeout=2)
    assert eventually(lambda: "ringfort-warden" not in server.children(), 5)
    assert eventually(lambda: not left_cgroups(0) - groups, 5)


def test_what_it_is_is_told(server):
    assert server.get("/v1/health").json == {"status": "ok"} and server.get("/v1/ready").json == {"status": "ready"}
    assert server.get("/v1/version").json["api"] == "v1"
    head = server.ask("HEAD", "/v1/health")
    assert head.status == 200 and head.body == b""
    figures = dict(line.rsplit(" ", 1) for line in server.get("/metrics").body.decode().splitlines() if line[0] != "#")
    assert int(figures["ringfort_server_runs_total"]) >= 0 and 'ringfort_server_requests_total{status="2xx"}' in figures
