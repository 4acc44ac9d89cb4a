"""The Model Context Protocol, in both eras: /mcp of the server, and `ringfort mcp` on standard input and output."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from helpers import eventually, processes_with

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

NEW = "2026-07-28"
BOTH = {"Accept": "application/json, text/event-stream"}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.fixture(scope="module")
def standing(ringfort, public):
    found = {}
    yield lambda who: found.get(who) or found.setdefault(who, Server(ringfort, who, public / f"mcp-{who}"))
    for server in found.values():
        server.close()


@pytest.fixture
def server(standing, as_who):
    return standing(as_who)


def message(method, params=None, number=1):
    return {"jsonrpc": "2.0", "id": number, "method": method, **({} if params is None else {"params": params})}


def modern(server, method, params=None, number=1, key=None, headers=(), meta=()):
    """One message of the newer era, with all that its head must say."""
    params = {**(params or {}), "_meta": {"io.modelcontextprotocol/protocolVersion": NEW,
                                          "io.modelcontextprotocol/clientCapabilities": {}, **dict(meta)}}
    name = params.get("name", params.get("uri"))
    fields = {**BOTH, "MCP-Protocol-Version": NEW, "Mcp-Method": method, **({"Mcp-Name": name} if name else {}), **dict(headers)}
    return server.post("/mcp", message(method, params, number), key=key, headers=fields)


def use(server, name, /, key=None, **arguments):
    """What a tool gives."""
    answer = modern(server, "tools/call", {"name": name, "arguments": arguments}, key=key)
    assert answer.status == 200, answer.body
    return answer.json["result"]


class Session:
    """A client of the older era."""

    def __init__(self, server, key=None, version="2025-11-25"):
        self.server, self.key = server, key
        answer = server.post("/mcp", message("initialize", {**HELLO, "protocolVersion": version}), key=key, headers=BOTH)
        assert answer.status == 200, answer.body
        self.id, self.said = answer.headers["Mcp-Session-Id"], answer.json["result"]
        assert self.send({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202

    def send(self, body, key=None, **more):
        return self.server.post("/mcp", body, key=key or self.key, headers={**BOTH, "Mcp-Session-Id": self.id}, **more)

    def ask(self, method, params=None, number=1):
        return self.send(message(method, params, number))


# --- what it can do ---

def test_code_and_commands_run_in_boxes_and_their_results_are_data(server):
    result = use(server, "run_code", language="python", code="print(6 * 7)")
    data = result["structuredContent"]
    assert data["stdout"] == "42\n" and data["status"] == "ok" and data["exit_code"] == 0
    assert result["content"] == [{"type": "text", "text": "42\n"}] and result["isError"] is False
    data = use(server, "run_command", command="echo $A >&2; exit 3", env={"A": "b"})["structuredContent"]
    assert data["exit_code"] == 3 and data["stderr"] == "b\n" and data["status"] == "failed"
    assert use(server, "run_command", command="sleep 100", timeout=1)["structuredContent"]["status"] == "timeout"
    data = use(server, "run_command", command="yes")["structuredContent"]
    assert data["truncated"] and 1000 < len(data["stdout"]) <= 128 * 1024


def test_files_of_a_sandbox_stay_between_calls(server):
    box = use(server, "create_sandbox", timeout=200, labels={"a": "b"})["structuredContent"]["id"]
    assert use(server, "write_file", sandbox=box, path="/tmp/a/ä b.txt", content="grüße\nwelt +1\n")["structuredContent"]["done"]
    read = use(server, "read_file", sandbox=box, path="/tmp/a/ä b.txt")
    assert read["structuredContent"]["content"] == "grüße\nwelt +1\n" == read["content"][0]["text"]
    assert [file["name"] for file in use(server, "list_files", sandbox=box, path="/tmp/a")["structuredContent"]["files"]] == ["ä b.txt"]
    found = use(server, "search_files", sandbox=box, path="/tmp", content="welt +")["structuredContent"]["found"]
    assert found == [{"path": "/tmp/a/ä b.txt", "line": 2, "text": "welt +1"}]
    found = use(server, "search_files", sandbox=box, path="/tmp", name="*.txt")["structuredContent"]["found"]
    assert [one["path"] for one in found] == ["/tmp/a/ä b.txt"]
    assert use(server, "search_files", sandbox=box, path="/tmp", content="nowhere")["structuredContent"]["found"] == []
    run = use(server, "run_code", sandbox=box, language="python", code="print(open('/tmp/a/ä b.txt').read())")
    assert "welt" in run["structuredContent"]["stdout"]
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
    use(server, "write_file", sandbox=box, path="/tmp/p.png", content_base64=png)
    assert use(server, "read_file", sandbox=box, path="/tmp/p.png")["content"][0] == {"type": "image", "data": png, "mimeType": "image/png"}
    assert box in [one["id"] for one in use(server, "list_sandboxes", label="a=b")["structuredContent"]["sandboxes"]]
    # The same as resources.
    started = server.post(f"/v1/sandboxes/{box}/exec", {"command": "echo logged; sleep 100", "background": True}).json["number"]
    uris = [one["uri"] for one in modern(server, "resources/list").json["result"]["resources"]]
    assert f"ringfort://sandboxes/{box}" in uris and f"ringfort://sandboxes/{box}/programs/{started}/log" in uris
    text = modern(server, "resources/read", {"uri": f"ringfort://sandboxes/{box}/files/tmp/a/%C3%A4%20b.txt"}).json["result"]["contents"][0]
    assert text["text"] == "grüße\nwelt +1\n" and text["mimeType"] == "text/plain"
    log = f"ringfort://sandboxes/{box}/programs/{started}/log"
    assert eventually(lambda: "logged" in modern(server, "resources/read", {"uri": log}).json["result"]["contents"][0]["text"], 20)
    assert use(server, "delete_sandbox", sandbox=box)["structuredContent"]["done"]
    assert use(server, "read_file", sandbox=box, path="/tmp/p.png")["isError"]


def test_what_was_changed_in_a_workspace_is_shown_and_undone(server):
    box = use(server, "create_sandbox", timeout=200, workspace={})["structuredContent"]["id"]
    use(server, "write_file", sandbox=box, path="/work/a", content="one\n")
    assert use(server, "checkpoint", sandbox=box, name="first")["structuredContent"]["name"] == "first"
    use(server, "run_command", sandbox=box, command="echo two >/work/a; echo more >/work/b")
    assert "+two" in use(server, "diff", sandbox=box, **{"from": "first"})["structuredContent"]["unified"]
    assert not use(server, "undo", sandbox=box, to="first")["isError"]
    assert use(server, "read_file", sandbox=box, path="/work/a")["structuredContent"]["content"] == "one\n"
    assert use(server, "read_file", sandbox=box, path="/work/b")["isError"]
    assert [one["name"] for one in use(server, "list_checkpoints", sandbox=box)["structuredContent"]["checkpoints"]] == ["first"]
    use(server, "delete_sandbox", sandbox=box)
    plain = use(server, "create_sandbox", timeout=200)["structuredContent"]["id"]
    assert use(server, "checkpoint", sandbox=plain)["isError"]
    use(server, "delete_sandbox", sandbox=plain)


def test_a_fork_is_worked_in_and_applied(server, as_who):
    """As agents do that try something: fork, work there, look what it would come to, and bring it back."""
    main, tried = f"main-{as_who}", f"try-{as_who}"
    assert server.post("/v1/workspaces", {"name": main}).status == 201
    origin = use(server, "create_sandbox", timeout=200, workspace={"name": main})["structuredContent"]["id"]
    use(server, "run_command", sandbox=origin, command="echo one >a; echo keep >b")
    made = use(server, "fork", sandbox=origin, name=tried)["structuredContent"]
    assert made["name"] == tried and made["origin"] == main
    fork = use(server, "create_sandbox", timeout=200, workspace={"name": tried})["structuredContent"]["id"]
    use(server, "run_command", sandbox=fork, command="echo two >a; echo new >c")
    said = use(server, "apply", sandbox=fork, dry_run=True)["structuredContent"]
    assert said["dry_run"] and said["checkpoint"] is None and (said["added"], said["modified"], said["deleted"]) == (1, 1, 0)
    assert use(server, "read_file", sandbox=origin, path="/work/a")["structuredContent"]["content"] == "one\n"
    # Both have changed it: nothing is done, and which paths it is about is data.
    use(server, "run_command", sandbox=origin, command="echo other >a")
    refused = use(server, "apply", sandbox=fork)
    assert refused["isError"] and refused["structuredContent"]["conflicts"] == ["a"]
    assert "fork" in refused["structuredContent"]["error"]["remedy"] and "both" in refused["content"][0]["text"]
    assert use(server, "read_file", sandbox=origin, path="/work/c")["isError"]
    assert use(server, "apply", sandbox=fork, conflicts="nobody")["isError"]
    done = use(server, "apply", sandbox=fork, conflicts="fork")["structuredContent"]
    assert done["origin"] == main and {one["path"]: one["change"] for one in done["changes"]} == {"a": "modified", "c": "added"}
    assert use(server, "run_command", sandbox=origin, command="cat a b c")["structuredContent"]["stdout"] == "two\nkeep\nnew\n"
    assert not use(server, "undo", sandbox=origin, to=str(done["checkpoint"]))["isError"]
    assert use(server, "run_command", sandbox=origin, command="cat a; ls")["structuredContent"]["stdout"] == "other\na\nb\n"
    # What is no fork has nowhere to go, and what a sandbox has is not taken away.
    assert use(server, "apply", sandbox=origin)["isError"] and use(server, "delete_workspace", workspace=tried)["isError"]
    use(server, "delete_sandbox", sandbox=fork)
    assert use(server, "delete_workspace", workspace=tried)["structuredContent"]["done"]
    names = [one["name"] for one in use(server, "list_workspaces")["structuredContent"]["workspaces"]]
    assert main in names and tried not in names
    use(server, "delete_sandbox", sandbox=origin)
    use(server, "delete_workspace", workspace=main)


def test_no_tool_decides_about_approvals(server):
    assert use(server, "list_approvals")["structuredContent"] == {"approvals": [], "next_cursor": None}
    names = {tool["name"] for tool in modern(server, "tools/list").json["result"]["tools"]}
    assert {name for name in names if "appro" in name or "deny" in name} == {"list_approvals"}


def test_a_sandbox_for_an_agent_has_its_workspace(server, as_who):
    name = f"mcp-{as_who}"
    assert server.post("/v1/agents", {"name": name}).status == 201
    box = use(server, "create_sandbox", agent=name)["structuredContent"]
    assert box["agent"] == name and box["workspace"] == name
    assert use(server, "create_sandbox", agent="nobody")["isError"]
    use(server, "delete_sandbox", sandbox=box["id"])
    assert server.delete(f"/v1/agents/{name}").status == 204


def test_what_a_tool_gives_is_what_its_schema_promises(server):
    jsonschema = pytest.importorskip("jsonschema")
    tools = {tool["name"]: tool for tool in modern(server, "tools/list").json["result"]["tools"]}
    for tool in tools.values():
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        jsonschema.Draft202012Validator.check_schema(tool["outputSchema"])
        assert tool["description"] and isinstance(tool["annotations"]["readOnlyHint"], bool)

    def check(name, /, **arguments):
        jsonschema.validate(arguments, tools[name]["inputSchema"])
        result = use(server, name, **arguments)
        assert not result["isError"], result
        jsonschema.validate(result["structuredContent"], tools[name]["outputSchema"])
        return result["structuredContent"]

    box = check("create_sandbox", timeout=100, idle_timeout=90, workspace={})["id"]
    calls = [("run_code", {"language": "sh", "code": "kill -9 $$"}), ("run_command", {"command": "true", "sandbox": box, "cwd": "/tmp"}),
             ("list_sandboxes", {"limit": 5}), ("write_file", {"sandbox": box, "path": "/tmp/x", "content": "y"}),
             ("read_file", {"sandbox": box, "path": "/tmp/x"}), ("list_files", {"sandbox": box, "path": "/tmp"}),
             ("search_files", {"sandbox": box, "path": "/tmp", "content": "y"}), ("checkpoint", {"sandbox": box, "name": "first"}),
             ("list_checkpoints", {"sandbox": box}), ("diff", {"sandbox": box, "from": "first"}), ("undo", {"sandbox": box, "to": "first"}),
             ("fork", {"sandbox": box, "name": "schemas"}), ("list_workspaces", {}), ("list_approvals", {"limit": 5}), ("delete_sandbox", {"sandbox": box})]
    for name, arguments in calls:
        check(name, **arguments)
    # A conflict is no exception, and its data holds to the schema, too.
    main = check("create_sandbox", workspace={"name": "schemas"})["id"]
    check("fork", sandbox=main, name="schemas-fork")
    fork = check("create_sandbox", workspace={"name": "schemas-fork"})["id"]
    for one, text in ((main, "a"), (fork, "b")):
        check("write_file", sandbox=one, path="/work/x", content=text)
    jsonschema.validate(use(server, "apply", sandbox=fork)["structuredContent"], tools["apply"]["outputSchema"])
    calls += [("apply", {"sandbox": fork, "conflicts": "origin"}), ("delete_sandbox", {"sandbox": fork}), ("delete_workspace", {"workspace": "schemas-fork"}),
              ("delete_sandbox", {"sandbox": main}), ("delete_workspace", {"workspace": "schemas"})]
    for name, arguments in calls[-5:]:
        check(name, **arguments)
    assert {name for name, _ in calls} | {"create_sandbox"} == set(tools)


WRONG = {
    "an argument that is missing": ("read_file", {"path": "/x"}, "sandbox"),
    "one that nobody knows": ("read_file", {"sandbox": "a", "path": "/x", "odd": "y"}, "odd"),
    "one of another type": ("run_command", {"command": 7}, "command"),
    "a sandbox that is none": ("read_file", {"sandbox": "../x", "path": "/x"}, "sandbox"),
    "a sandbox that is not there": ("run_command", {"sandbox": "0123", "command": "true"}, "0123"),
    "a language that is none": ("run_code", {"language": "klingon", "code": "x"}, "klingon"),
    "no base64": ("write_file", {"sandbox": "a", "path": "/x", "content_base64": "x"}, "base64"),
    "too many seconds": ("run_command", {"command": "true", "timeout": 10 ** 9}, "timeout"),
    "a limit that is no size": ("create_sandbox", {"limits": {"memory": "much"}}, "limits.memory"),
    "a profile that is none": ("create_sandbox", {"profile": "pyton"}, "profile: "),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_can_not_be_done_is_told_in_words(server, what):
    name, arguments, word = WRONG[what]
    result = use(server, name, **arguments)
    assert result["isError"] and word in result["content"][0]["text"] and "structuredContent" not in result
    assert "policy" not in result["content"][0]["text"]  # no tool has such an argument


# What the API takes and a tool does not have: each would widen the box, or bring something along.
BESIDE = {"policy": {"network": {"mode": "open"}}, "credentials": ["token"], "needs": {"network": True}, "beyond": "drop",
          "files": [{"path": "a", "content": "b"}], "outputs": ["/tmp/*"], "argv": ["true"], "background": True, "network": {"allow": ["*"]}}
LACKS = {
    **{f"{tool} with {name}": (tool, {**arguments, name: BESIDE[name]}, name, names)
       for tool, arguments, names in (("run_code", {"language": "sh", "code": "true"}, "language, code, sandbox, stdin, env, timeout"),
                                      ("run_command", {"command": "true"}, "command, sandbox, cwd, stdin, env, timeout"),
                                      ("create_sandbox", {}, "timeout, env, labels, limits, profile, idle_timeout, agent, workspace"))
       for name in BESIDE},
    "a limit that is the timeout": ("create_sandbox", {"limits": {"time": "5s"}}, "limits.time", "memory, cpu, cpu_time, pids"),
    "a limit that is none": ("create_sandbox", {"limits": {"speed": 3}}, "limits.speed", "memory, cpu, cpu_time, pids"),
    "a limit of another type": ("create_sandbox", {"limits": {"memory": ["1G"]}}, "limits.memory", "a string or a whole number"),
    "more in a workspace": ("create_sandbox", {"workspace": {"name": "a", "base": "/etc"}}, "workspace.base", "name"),
    "a variable that is no text": ("run_command", {"command": "true", "env": {"A": {"b": "c"}}}, "env.A", "a string"),
    "a label that is no text": ("create_sandbox", {"labels": {"a": 7}}, "labels.a", "a string"),
    "a word that is no choice": ("apply", {"sandbox": "a", "conflicts": "all"}, "conflicts", "fail, fork, origin"),
    "a fraction": ("run_command", {"command": "true", "timeout": 1.5}, "timeout", "1 to 86400"),
    "an argument of a tool that has none": ("list_workspaces", {"limit": 5}, "limit", "no arguments"),
    "another file's mode": ("write_file", {"sandbox": "a", "path": "/x", "content": "y", "mode": "4755"}, "mode", "sandbox, path, content, content_base64"),
}


@pytest.mark.parametrize("what", LACKS)
def test_an_argument_that_the_schema_lacks_is_refused(server, what):
    """By its path, with the names that there are: nothing of the call reaches the API."""
    name, arguments, path, names = LACKS[what]
    result = use(server, name, **arguments)
    text = result["content"][0]["text"]
    assert result["isError"] and text.startswith(f"{path}: ") and names in text and "structuredContent" not in result


def test_limits_of_a_sandbox_are_those_of_a_policy(server):
    """The schema names each limit but the time, which is `timeout`."""
    tools = {tool["name"]: tool for tool in modern(server, "tools/list").json["result"]["tools"]}
    known = json.loads(server.run("policy", "schema").stdout)["properties"]["limits"]["properties"]
    assert set(tools["create_sandbox"]["inputSchema"]["properties"]["limits"]["properties"]) == set(known) - {"time"}
    box = use(server, "create_sandbox", limits={"memory": "64M", "pids": 17, "require": "any"})["structuredContent"]["id"]
    assert use(server, "run_command", sandbox=box, command="true")["structuredContent"]["status"] == "ok"
    use(server, "delete_sandbox", sandbox=box)


# --- who may ---

def test_a_tool_can_do_what_its_key_could_do_and_nothing_else(server):
    reads, other = server.make_key("--scope", "read"), server.make_key("--tenant", "someone")
    assert server.post("/mcp", message("initialize", HELLO), key="", headers=BOTH).status == 401
    result = use(server, "run_command", key=reads, command="true")
    assert result["isError"] and "scope" in result["content"][0]["text"]
    assert not use(server, "list_sandboxes", key=reads)["isError"]
    box = use(server, "create_sandbox", timeout=100, workspace={})["structuredContent"]["id"]
    use(server, "checkpoint", sandbox=box)
    for name, arguments in (("run_command", {"command": "true"}), ("run_code", {"language": "sh", "code": "true"}),
                            ("read_file", {"path": "/etc/passwd"}), ("write_file", {"path": "/tmp/x", "content": "y"}),
                            ("list_files", {"path": "/"}), ("search_files", {"path": "/etc", "content": "root"}), ("checkpoint", {}), ("list_checkpoints", {}),
                            ("undo", {"to": "1"}), ("diff", {"from": "1"}), ("fork", {"name": "mine"}), ("apply", {}), ("apply", {"dry_run": True}),
                            ("delete_sandbox", {})):
        assert use(server, name, key=other, sandbox=box, **arguments)["isError"], name
    assert not use(server, "fork", sandbox=box, name="theirs")["isError"]
    assert use(server, "fork", key=reads, sandbox=box, name="another")["isError"] and use(server, "apply", key=reads, sandbox=box)["isError"]
    assert use(server, "list_workspaces", key=other)["structuredContent"]["workspaces"] == []
    assert use(server, "delete_workspace", key=other, workspace="theirs")["isError"]
    assert use(server, "create_sandbox", key=other, workspace={"name": "theirs"})["isError"]
    assert box not in json.dumps(use(server, "list_sandboxes", key=other))
    assert box not in modern(server, "resources/list", key=other).body.decode()
    for uri in (f"ringfort://sandboxes/{box}", f"ringfort://sandboxes/{box}/files/etc/passwd"):
        assert modern(server, "resources/read", {"uri": uri}, key=other).json["error"]["code"] == -32602
    use(server, "delete_sandbox", sandbox=box)
    assert use(server, "delete_workspace", workspace="theirs")["structuredContent"]["done"]


def test_a_page_of_somebody_elses_gets_nothing(server):
    assert modern(server, "server/discover", headers={"Origin": "http://evil.example"}).status == 403
    assert modern(server, "server/discover", headers={"Host": "evil.example"}).status == 403


# --- the era of sessions ---

@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_session_speaks_the_version_that_was_agreed_upon(server, version):
    session = Session(server, version=version)
    assert session.said["protocolVersion"] == version and session.said["serverInfo"]["name"] == "ringfort"
    assert session.ask("ping").json["result"] == {}
    assert {"run_code", "read_file"} <= {tool["name"] for tool in session.ask("tools/list").json["result"]["tools"]}
    called = session.ask("tools/call", {"name": "run_command", "arguments": {"command": "echo hi"}}).json["result"]
    assert called["structuredContent"]["stdout"] == "hi\n" and "resultType" not in called
    assert session.ask("server/discover").json["error"]["code"] == -32601
    assert session.ask("resources/read", {"uri": "ringfort://sandboxes/0"}).json["error"]["code"] == -32002
    assert session.ask("tools/list", {"cursor": "x"}).json["error"]["code"] == -32602


def test_a_session_is_its_keys_and_ends(server):
    session, other = Session(server), server.make_key()
    assert Session(server, version="1999-01-01").said["protocolVersion"] == "2025-11-25"
    assert session.send(message("ping"), key=other).status == 404
    assert server.delete("/mcp", headers={"Mcp-Session-Id": session.id}, key=other).status == 404
    assert server.post("/mcp", message("ping"), headers=BOTH).status == 400
    assert server.get("/mcp").status == 405
    assert server.delete("/mcp", headers={"Mcp-Session-Id": session.id}).status == 204
    assert session.ask("ping").status == 404


def test_there_is_a_most_of_sessions_and_the_oldest_makes_room(server):
    key = server.make_key()
    first, second = Session(server, key), Session(server, key)
    for _ in range(127):
        assert first.ask("ping").status == 200  # it is in use
        Session(server, key)
    assert first.ask("ping").status == 200 and second.ask("ping").status == 404


def under_way(server):
    return int(re.search(r"under_way (\d+)\n", server.get("/metrics").body.decode())[1])


def test_what_is_cancelled_ends(server):
    session = Session(server)
    with_id = message("tools/call", {"name": "run_command", "arguments": {"command": "sleep 1000", "timeout": 900}}, 77)
    line = server.connect(60)
    try:
        line.request("POST", "/mcp", json.dumps(with_id), {**BOTH, "Content-Type": "application/json", "Mcp-Session-Id": session.id,
                                                           "Authorization": f"Bearer {server.key}"})
        assert eventually(lambda: under_way(server), 20)
        assert session.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}).status == 202
        answer = json.loads(line.getresponse().read())
        assert answer["id"] == 77 and "cancelled" in answer["error"]["message"]
    finally:
        line.close()
    assert eventually(lambda: not under_way(server), 20)


def test_who_wants_to_hear_how_far_it_is_hears_it(server):
    answer = modern(server, "tools/call", {"name": "run_command", "arguments": {"command": "sleep 2.5"}}, number=5,
                    meta={"progressToken": "p"})
    assert answer.headers["Content-Type"] == "text/event-stream" and answer.headers["X-Accel-Buffering"] == "no"
    told = [data for _, data in answer.events]
    assert told[-1]["id"] == 5 and told[-1]["result"]["structuredContent"]["status"] == "ok"
    assert len(told) > 1 and all(one["method"] == "notifications/progress" and one["params"]["progressToken"] == "p" for one in told[:-1])
    steps = [one["params"]["progress"] for one in told[:-1]]
    assert steps == sorted(set(steps))


# --- bad input ---

ODD = {"no JSON": (b"{", -32700), "a batch": (b"[]", -32600), "no object": (b"7", -32600), "no version": (b"{}", -32600),
       "another version": (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600), "an id that is none": (b'{"jsonrpc":"2.0","id":{},"method":"a"}', -32600),
       "params that are none": (b'{"jsonrpc":"2.0","id":1,"method":"a","params":[]}', -32602),
       "nothing": (b"", -32700), "depth": (b"[" * 100000, -32700), "no UTF-8": (b'{"jsonrpc":"2.0","id":"\xff"}', -32700)}


@pytest.mark.parametrize("what", ODD)
def test_what_is_no_message_is_refused(server, what):
    body, code = ODD[what]
    answer = server.post("/mcp", body, headers={**BOTH, "Content-Type": "application/json"})
    assert answer.status == 400 and answer.json["error"]["code"] == code and answer.json["error"]["message"]


def test_a_head_must_say_what_the_body_says(server):
    call = {"name": "run_command", "arguments": {"command": "true"}}
    for headers in ({"Mcp-Method": "tools/list"}, {"Mcp-Name": "read_file"}, {"Mcp-Name": ""}, {"MCP-Protocol-Version": "2025-11-25"}):
        answer = modern(server, "tools/call", call, headers=headers)
        assert answer.status == 400 and answer.json["error"]["code"] == -32020, headers
    assert modern(server, "tools/call", call, headers={"Mcp-Name": "=?base64?cnVuX2NvbW1hbmQ=?="}).status == 200
    answer = modern(server, "ping")
    assert answer.status == 404 and answer.json["error"]["code"] == -32601
    answer = modern(server, "server/discover", meta={"io.modelcontextprotocol/protocolVersion": "2099-01-01"},
                    headers={"MCP-Protocol-Version": "2099-01-01"})
    assert answer.status == 400 and answer.json["error"]["code"] == -32022 and NEW in answer.json["error"]["data"]["supported"]
    assert modern(server, "tools/call", {"name": "nothing"}).json["error"]["code"] == -32602


def test_a_large_file_is_told_from_its_beginning(server):
    box = use(server, "create_sandbox", timeout=100)["structuredContent"]["id"]
    use(server, "write_file", sandbox=box, path="/tmp/big", content="x" * (1 << 20))
    data = use(server, "read_file", sandbox=box, path="/tmp/big")["structuredContent"]
    assert data["size"] == 1 << 20 and data["truncated"] and len(data["content"]) == 512 * 1024
    use(server, "delete_sandbox", sandbox=box)


# --- on standard input and output ---

class Pipe:
    """A client that starts `ringfort mcp`, as an agent's does."""

    def __init__(self, server, ringfort=None, options=()):
        self.process = subprocess.Popen([*server.before, ringfort or server.ringfort, "mcp", *options], env=server.env, cwd="/", text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def send(self, body):
        self.process.stdin.write((body if isinstance(body, str) else json.dumps(body)) + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return json.loads(line)

    def ask(self, method, params=None, number=1):
        self.send(message(method, params, number))
        return self.hear()

    def begin(self):
        said = self.ask("initialize", HELLO)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return said["result"]

    def use(self, name, /, number=1, **arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments}, number)["result"]

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.process.stdin.close()
        try:
            code = self.process.wait(30)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
            self.process.stderr.close()
        assert why[0] or code == 0


def test_a_client_just_starts_it_and_nothing_is_left(server):
    mark = f"7654{time.monotonic_ns()}"
    with Pipe(server) as pipe:
        assert pipe.begin()["protocolVersion"] == "2025-11-25"
        assert pipe.use("run_code", language="python", code="print(6 * 7)")["structuredContent"]["stdout"] == "42\n"
        box = pipe.use("create_sandbox", timeout=1000)["structuredContent"]["id"]
        pipe.use("write_file", sandbox=box, path="/tmp/a", content="b")
        assert pipe.use("read_file", sandbox=box, path="/tmp/a")["structuredContent"]["content"] == "b"
        read = pipe.ask("resources/read", {"uri": f"ringfort://sandboxes/{box}/files/tmp/a"})
        assert read["result"]["contents"][0]["text"] == "b"
        pipe.use("run_command", sandbox=box, command=f"sleep {mark} >/dev/null 2>&1 &")
        assert eventually(lambda: processes_with(mark), 20)
    assert eventually(lambda: not processes_with(mark), 20)
    # It met nobody of the server's, nor the server it.
    assert box not in json.dumps(use(server, "list_sandboxes"))


def test_a_workspace_with_a_name_outlives_its_client(server, as_who):
    name = f"kept-{as_who}"
    with Pipe(server) as pipe:
        pipe.begin()
        box = pipe.use("create_sandbox", workspace={})["structuredContent"]["id"]
        pipe.use("write_file", sandbox=box, path="/work/a", content="b")
        assert pipe.use("fork", sandbox=box, name=name)["structuredContent"]["name"] == name
    with Pipe(server) as pipe:
        pipe.begin()
        assert name in [one["name"] for one in pipe.use("list_workspaces")["structuredContent"]["workspaces"]]
        box = pipe.use("create_sandbox", workspace={"name": name})["structuredContent"]["id"]
        assert pipe.use("read_file", sandbox=box, path="/work/a")["structuredContent"]["content"] == "b"
        pipe.use("delete_sandbox", sandbox=box)
        assert pipe.use("delete_workspace", workspace=name)["structuredContent"]["done"]


def test_the_newer_era_needs_no_beginning(server):
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": NEW, "io.modelcontextprotocol/clientCapabilities": {}}}
    with Pipe(server) as pipe:
        assert NEW in pipe.ask("server/discover", meta)["result"]["supportedVersions"]
        called = pipe.ask("tools/call", {"name": "run_command", "arguments": {"command": "echo hi"}, **meta}, "ä")
        assert called["id"] == "ä" and called["result"]["structuredContent"]["stdout"] == "hi\n"
        assert called["result"]["resultType"] == "complete"
        assert pipe.ask("resources/read", {"uri": "ringfort://sandboxes/ä", **meta})["error"]["data"] == {"uri": "ringfort://sandboxes/ä"}
        told = [pipe.ask("tools/call", {"name": "run_command", "arguments": {"command": "sleep 1.5"},
                                        "_meta": {**meta["_meta"], "progressToken": 3}})]
        while "id" not in told[-1]:
            told.append(pipe.hear())
        assert told[0]["method"] == "notifications/progress" and told[-1]["result"]["isError"] is False


def test_on_a_pipe_many_are_under_way_and_one_is_cancelled(server):
    mark = f"7653{time.monotonic_ns()}"
    with Pipe(server) as pipe:
        pipe.begin()
        pipe.send(message("tools/call", {"name": "run_command", "arguments": {"command": f"sleep {mark}", "timeout": 900}}, "slow"))
        for number in range(20):
            pipe.send(message("tools/call", {"name": "run_command", "arguments": {"command": f"echo {number}"}}, number))
        answers = {one["id"]: one["result"]["structuredContent"]["stdout"] for one in (pipe.hear() for _ in range(20))}
        assert answers == {number: f"{number}\n" for number in range(20)}
        assert eventually(lambda: processes_with(mark), 20)
        pipe.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}})
        assert eventually(lambda: not processes_with(mark), 20)
        assert pipe.ask("ping", number="after")["id"] == "after"  # and no answer to the other


def test_what_is_no_message_is_answered_on_a_pipe_too(server):
    with Pipe(server) as pipe:
        pipe.begin()
        for line, code in (("nonsense", -32700), ("[]", -32600), ('{"jsonrpc":"2.0","id":5}', -32600), ("x" * (5 << 20), -32600)):
            pipe.send(line)
            assert pipe.hear()["error"]["code"] == code
        pipe.send("")  # is nothing
        assert pipe.ask("ping")["result"] == {}
        assert pipe.ask("odd/method")["error"]["code"] == -32601


def test_on_a_pipe_an_argument_that_the_schema_lacks_is_refused_too(server):
    with Pipe(server) as pipe:
        pipe.begin()
        for name, arguments, path, names in LACKS.values():
            result = pipe.use(name, **arguments)
            text = result["content"][0]["text"]
            assert result["isError"] and text.startswith(f"{path}: ") and names in text, (name, arguments, result)
            assert "credentials" not in text.split(":", 1)[1] and "policy" not in text.split(":", 1)[1]  # what the tools lack is not offered
        assert pipe.ask("tools/call", {"name": "network", "arguments": {}})["error"]["code"] == -32602


def test_on_a_pipe_the_ceiling_has_no_network_unless_it_is_named(server, as_who, public):
    """A policy that leads out is an agent's here, since no tool has an argument for one."""
    name, ceiling = f"out-{as_who}", public / f"ceiling-{as_who}.yaml"
    body = {"name": name, "policy": {"network": {"allow": ["example.test:443"]}}}
    made = server.local(f"print(*ask('POST', '/v1/agents', {body!r}))")
    assert made.stdout.startswith("201 "), made
    ceiling.write_text("version: 1\nfiles: {current: none}\nnetwork: {allow: ['*.test:443']}\n")
    ceiling.chmod(0o644)
    with Pipe(server) as pipe:
        pipe.begin()
        refused = pipe.use("create_sandbox", agent=name)
        assert refused["isError"] and "no network" in refused["content"][0]["text"]
    with Pipe(server, options=["--ceiling", str(ceiling)]) as pipe:
        pipe.begin()
        box = pipe.use("create_sandbox", agent=name)["structuredContent"]
        assert box["agent"] == name
        pipe.use("delete_sandbox", sandbox=box["id"])
    assert server.local(f"print(*ask('DELETE', '/v1/agents/{name}'))").stdout.startswith("204 ")


def test_a_ceiling_that_is_none_is_told_before_anything_starts(server, public):
    wrong = public / "no-ceiling.yaml"
    wrong.write_text("version: 1\nnetwork: {allows: []}\n")
    wrong.chmod(0o644)
    for options, word in ((["--ceiling", str(wrong)], "network.allows"), (["--ceiling", "/nonexistent.yaml"], "/nonexistent.yaml"), (["here"], "here")):
        done = subprocess.run([*server.before, server.ringfort, "mcp", *options], env=server.env, cwd="/", text=True, timeout=60, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True)
        assert done.returncode == 125 and word in done.stderr and done.stdout == ""


def test_all_lines_at_once_are_answered_and_then_it_ends(server):
    lines = [message("initialize", HELLO, 1), {"jsonrpc": "2.0", "method": "notifications/initialized"},
             message("tools/call", {"name": "run_command", "arguments": {"command": "echo hi"}}, 2)]
    done = subprocess.run([*server.before, server.ringfort, "mcp"], env=server.env, cwd="/", text=True, timeout=60, check=False,
                          input="\n".join(map(json.dumps, lines)), capture_output=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and [one["id"] for one in answers] == [1, 2] and "hi" in done.stdout and done.stderr == ""


@pytest.mark.parametrize("how", ["a signal", "nobody who reads", "the end of its front"])
def test_it_ends_with_its_boxes(server, ringfort, public, how):
    mark = f"7652{time.monotonic_ns()}"
    folder = link_all(ringfort, public / f"own-{mark}")  # so that its front is known by its path
    with Pipe(server, str(folder / "ringfort")) as pipe:
        pipe.begin()
        box = pipe.use("create_sandbox", timeout=1000)["structuredContent"]["id"]
        pipe.use("run_command", sandbox=box, command=f"sleep {mark} >/dev/null 2>&1 &")
        assert eventually(lambda: processes_with(mark), 20)
        if how == "a signal":
            pipe.process.terminate()
        elif how == "nobody who reads":
            pipe.process.stdout.close()
            with contextlib.suppress(OSError):
                pipe.send(message("ping"))
        else:
            (front,) = processes_with(str(folder / "ringfort-front"))
            os.kill(front, signal.SIGKILL)
        code = pipe.process.wait(30)
        assert code == (125 if how == "the end of its front" else 0)
        assert eventually(lambda: not processes_with(mark), 20)
        pipe.process.returncode = 0  # it was looked at
    shutil.rmtree(folder)


def link_all(ringfort, folder):
    folder.mkdir()
    for program in pathlib.Path(ringfort).parent.glob("ringfort*"):
        os.link(program, folder / program.name)
    return folder


def test_an_installed_front_has_none_of_the_suites_tools(server):
    assert "test_simple_text" not in modern(server, "tools/list").body.decode()
    assert modern(server, "tools/call", {"name": "test_simple_text"}).json["error"]["code"] == -32602
    assert modern(server, "prompts/list").status == 404
