"""Agents of a server's tenants: a policy that requests can only tighten, a workspace of their own, a breaker; and nobody else's."""
import json
import os
import pathlib
import stat
import sys
import threading

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server  # noqa: E402
from wardens import IS_ROOT, USER_ID  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

RUN, BOXES, SPACES, AGENTS = "/v1/run", "/v1/sandboxes", "/v1/workspaces", "/v1/agents"


@pytest.fixture(scope="module")
def standing(ringfort, public):
    found = {}
    yield lambda who: found.get(who) or found.setdefault(who, Server(ringfort, who, public / f"agents-{who}"))
    for server in found.values():
        server.close()


@pytest.fixture
def server(standing, as_who):
    return standing(as_who)


def tenant_of(server, key=None):
    return server.get("/v1/key", key=key).json["tenant"]


def folder_of(server, tenant):
    """Where a tenant's agents lie."""
    top = pathlib.Path(f"/proc/self/fd/{server.root}/var/lib") if server.root >= 0 else server.runtime / "state"
    return top / "ringfort/tenants" / f"t-{tenant}" / ".agents"


def make_key(server, ceiling, *more):
    path = server.runtime / f"ceiling-{len(list(server.runtime.glob('ceiling-*')))}"
    path.write_text(json.dumps(ceiling))
    if IS_ROOT and server.who == "user":
        os.chown(path, USER_ID, USER_ID)
    path.chmod(0o600)
    return server.make_key("--ceiling", str(path), *more)


@pytest.fixture
def bot(server):
    """One that has little, with a tenant's key of its own."""
    key = server.make_key("--tenant", f"t{len(server.run('key', 'ls', '--json').stdout)}")
    made = server.post(AGENTS, {
        "name": "bot", "description": "reads \"mail\"", "labels": {"team": "blue"}, "limits": {"memory": "64M", "pids": 20}, "timeout": 60,
        "policy": {"commands": ["sh", "cat", "ls", "echo", "python3", "sleep", "true", "false"],
                   "breaker": {"failures": 2, "counts": "failures"}}}, key=key)
    assert made.status == 201, made.body
    return key


def test_a_run_for_an_agent_has_its_policy_its_workspace_and_its_name(server, bot):
    done = server.post(RUN, {"command": "pwd; echo kept >note", "agent": "bot"}, key=bot)
    assert done.status == 200 and done.json["stdout"] == "/work\n", done.body
    again = server.post(RUN, {"argv": ["cat", "note"], "agent": "bot"}, key=bot)
    assert again.json["stdout"] == "kept\n", again.body
    events = server.get(f"/v1/audit?box={done.json['id']}", key=bot).json["events"]
    assert {one["agent"] for one in events if "agent" in one} == {f"{tenant_of(server, bot)}/bot"}
    big = "b = bytearray(1 << 28); print(len(b))"
    spent = server.post(RUN, {"argv": ["python3", "-c", big], "agent": "bot"}, key=bot)
    assert spent.json["exit_code"] != 0 or spent.json["status"] != "ok", spent.body
    assert server.post(RUN, {"argv": ["python3", "-c", big]}, key=bot).json["exit_code"] == 0
    refused = server.post(RUN, {"argv": ["uname"], "agent": "bot"}, key=bot)
    assert refused.json["status"] == "denied" and "commands" in json.dumps(refused.json["error"]), refused.body


def test_a_request_can_tighten_an_agent_and_never_widen_it(server, bot):
    wide = {"limits": {"memory": "2G", "pids": 1000}, "timeout": 3600, "policy": {"commands": ["uname", "cat", "sh"]}}
    for path, more in ((BOXES, {"agent": "bot"}), (RUN, {"agent": "bot", "argv": ["true"]}), (RUN, {"argv": ["true"]})):
        for part, where in (({"limits": {"memory": "128M"}}, "limits.memory"), ({"limits": {"pids": 200}}, "limits.pids"), ({"timeout": 600}, "timeout"),
                            ({"policy": {"commands": ["uname"]}}, "policy.commands")):
            if "agent" not in more:  # by its name in the policy alone
                part = {**part, "policy": {"agent": "bot", **part.get("policy", {})}}
            refused = server.post(path, {**more, **part}, key=bot)
            error = refused.json["error"]
            assert (refused.status, error["where"]) == (403, where) and "the policy of agent bot" in error["message"], refused.body
    box = server.post(BOXES, {"agent": "bot", "beyond": "drop", **wide}, key=bot)
    assert set(box.json["beyond_ceiling"]) == {"limits.memory: 2G", "limits.pids: 1000", "limits.time: 1h", "commands: uname"}, box.body
    assert box.status == 201 and box.json["agent"] == "bot" and box.json["workspace"] == "bot", box.body
    assert box.json["expires_in_ms"] <= 60000
    path = f"{BOXES}/{box.json['id']}"

    def sh(line):
        return server.post(f"{path}/exec", {"command": line}, key=bot).json

    assert sh("uname")["exit_code"] == 127 and sh("ls")["exit_code"] == 127 and sh("cat /dev/null")["exit_code"] == 0
    server.delete(path, key=bot)
    tight = server.post(RUN, {"argv": ["python3", "-c", "print(len(bytearray(1 << 25)))"], "agent": "bot", "limits": {"memory": "16M"}}, key=bot)
    assert tight.json["exit_code"] != 0, tight.body
    quick = server.post(RUN, {"argv": ["sleep", "9"], "agent": "bot", "timeout": 1}, key=bot)
    assert quick.json["status"] == "timeout", quick.body


def test_who_names_it_in_a_policy_is_bounded_by_it_too(server, bot):
    """Which is what keeps it, whatever a front says: the warden reads the agent itself."""
    done = server.post(RUN, {"argv": ["uname"], "policy": {"agent": "bot"}}, key=bot)
    assert done.json["exit_code"] != 0 or done.json["status"] != "ok", done.body
    assert server.post(RUN, {"argv": ["uname"], "policy": {"agent": "other"}}, key=bot).json["exit_code"] == 0
    assert server.post(RUN, {"argv": ["uname"]}, key=bot).json["exit_code"] == 0


def test_a_key_whose_ceiling_names_an_agent_is_that_agents(server, bot):
    own = make_key(server, {"files": {"current": "none"}, "agent": "bot"}, "--tenant", tenant_of(server, bot))
    other = server.post(RUN, {"argv": ["uname"], "policy": {"agent": "free"}}, key=own)
    assert (other.status, other.json["error"]["where"]) == (403, "policy.agent"), other.body
    more = server.post(RUN, {"argv": ["true"], "limits": {"memory": "128M"}}, key=own)
    assert (more.status, more.json["error"]["where"]) == (403, "limits.memory") and "agent bot" in more.json["error"]["message"], more.body
    for body in ({"argv": ["uname"]}, {"argv": ["uname"], "policy": {"agent": "free"}, "beyond": "drop"}, {"argv": ["uname"], "agent": "bot"}):
        done = server.post(RUN, body, key=own)
        assert done.status == 200 and done.json["exit_code"] != 0, (body, done.body)
    assert server.post(AGENTS, {"name": "free"}, key=bot).status == 201
    assert server.post(RUN, {"argv": ["true"], "agent": "free"}, key=own).status == 403
    assert server.post(AGENTS, {"name": "wide"}, key=own).status == 403
    assert server.delete(f"{AGENTS}/bot", key=own).status == 403
    assert server.get(f"{AGENTS}/bot", key=own).status == 200


def test_a_key_that_is_held_to_an_agent_has_nothing_without_it(server, bot):
    """Else removing the agent, to make it again with another policy, would give its keys their whole ceiling."""
    own = make_key(server, {"files": {"current": "none"}, "agent": "bot", "network": {"allow": ["*.test"]}}, "--tenant", tenant_of(server, bot))
    assert server.post(RUN, {"argv": ["true"]}, key=own).json["exit_code"] == 0
    assert server.delete(f"{AGENTS}/bot", key=bot).status == 204
    for path, body in ((RUN, {"argv": ["uname"]}), (BOXES, {}), (RUN, {"argv": ["uname"], "policy": {"network": {"allow": ["a.test"]}}})):
        refused = server.post(path, body, key=own)
        assert refused.status == 403 and "`bot` was removed" in refused.json["error"]["message"], refused.body
        assert "POST /v1/agents" in refused.json["error"]["remedy"]
    assert server.post(RUN, {"argv": ["uname"]}, key=bot).json["exit_code"] == 0
    assert server.post(AGENTS, {"name": "bot", "policy": {"commands": ["true"]}}, key=bot).status == 201
    assert server.post(RUN, {"argv": ["true"]}, key=own).json["exit_code"] == 0
    assert server.post(RUN, {"argv": ["uname"]}, key=own).json["status"] == "denied"
    # One that nobody ever made is but a name.
    free = make_key(server, {"files": {"current": "none"}, "agent": "free"}, "--tenant", tenant_of(server, bot))
    assert server.post(RUN, {"argv": ["uname"]}, key=free).json["exit_code"] == 0


def test_what_is_known_of_one(server, bot):
    known = server.get(f"{AGENTS}/bot", key=bot).json
    assert known["name"] == "bot" and known["description"] == 'reads "mail"' and known["labels"] == {"team": "blue"}
    assert known["workspace"] == "bot" and known["running"] == [] and known["breaker"] is None
    assert known["policy"]["limits"]["memory"] == "64M" and known["policy"]["agent"] == "bot"
    box = server.post(BOXES, {"agent": "bot"}, key=bot).json["id"]
    assert eventually(lambda: [one["id"] for one in server.get(f"{AGENTS}/bot", key=bot).json["running"]] == [box])
    for _ in range(2):
        assert server.post(RUN, {"argv": ["false"], "agent": "bot"}, key=bot).json["exit_code"] == 1
    assert eventually(lambda: (server.get(f"{AGENTS}/bot", key=bot).json["breaker"] or {}).get("state") == "open")
    assert server.post(RUN, {"argv": ["true"], "agent": "bot"}, key=bot).json["status"] == "denied"
    server.delete(f"{BOXES}/{box}", key=bot)


def test_lists_come_in_pages_and_by_label(server, bot):
    for name in ("a", "b", "c"):
        assert server.post(AGENTS, {"name": name, "labels": {"team": "red"}}, key=bot).status == 201
    first = server.get(f"{AGENTS}?limit=2", key=bot).json
    assert [one["name"] for one in first["agents"]] == ["a", "b"] and first["next_cursor"] == "b"
    rest = server.get(f"{AGENTS}?limit=2&cursor=b", key=bot).json
    assert [one["name"] for one in rest["agents"]] == ["bot", "c"] and rest["next_cursor"] is None
    assert [one["name"] for one in server.get(f"{AGENTS}?label=team%3Dblue", key=bot).json["agents"]] == ["bot"]
    assert server.get(f"{AGENTS}?limit=0", key=bot).status == 422
    assert "policy" not in first["agents"][0]


def test_its_workspace_is_made_with_it_and_goes_with_it(server, bot):
    assert server.get(f"{SPACES}/bot", key=bot).json["named"] is True
    assert server.delete(f"{SPACES}/bot", key=bot).status == 409
    assert server.post(AGENTS, {"name": "bot"}, key=bot).status == 409
    box = server.post(BOXES, {"agent": "bot"}, key=bot).json["id"]
    busy = server.delete(f"{AGENTS}/bot", key=bot)
    assert busy.status == 409 and "keep_workspace" in busy.json["error"]["remedy"], busy.body
    server.delete(f"{BOXES}/{box}", key=bot)
    assert server.delete(f"{AGENTS}/bot", key=bot).status == 204
    assert server.get(f"{AGENTS}/bot", key=bot).status == 404 and server.get(f"{SPACES}/bot", key=bot).status == 404
    assert server.post(RUN, {"argv": ["true"], "agent": "bot"}, key=bot).status == 404
    assert server.post(AGENTS, {"name": "kept"}, key=bot).status == 201
    assert server.delete(f"{AGENTS}/kept?keep_workspace=perhaps", key=bot).status == 422
    assert server.delete(f"{AGENTS}/kept?keep_workspace=true", key=bot).status == 204
    assert server.get(f"{SPACES}/kept", key=bot).status == 200
    taken = server.post(AGENTS, {"name": "kept"}, key=bot)
    assert taken.status == 409 and "workspace" in taken.json["error"]["message"], taken.body
    assert server.post(AGENTS, {"name": "kept", "workspace": {"name": "kept"}}, key=bot).status == 201
    assert server.delete(f"{AGENTS}/kept", key=bot).status == 204
    assert server.get(f"{SPACES}/kept", key=bot).status == 200  # which was there before
    assert server.post(AGENTS, {"name": "x", "workspace": {"name": "nowhere"}}, key=bot).status == 404


def test_its_workspace_does_not_go_with_it_while_another_agent_has_it(server, bot):
    assert server.post(AGENTS, {"name": "guest", "workspace": {"name": "bot"}}, key=bot).status == 201
    assert server.post(RUN, {"command": "echo data >data", "agent": "guest"}, key=bot).json["exit_code"] == 0
    refused = server.delete(f"{AGENTS}/bot", key=bot)
    assert refused.status == 409 and "`guest`" in refused.json["error"]["message"], refused.body
    assert "keep_workspace" in refused.json["error"]["remedy"]
    assert server.get(f"{AGENTS}/bot", key=bot).status == 200
    assert server.delete(f"{AGENTS}/bot?keep_workspace=true", key=bot).status == 204
    assert server.post(RUN, {"argv": ["cat", "data"], "agent": "guest"}, key=bot).json["stdout"] == "data\n"


def test_a_workspace_stays_while_it_is_not_known_whose_it_is(server, bot):
    assert server.post(SPACES, {"name": "side"}, key=bot).status == 201
    path = folder_of(server, tenant_of(server, bot)) / "bot"
    text = path.read_text()
    try:
        path.write_text("nothing")
        for name in ("bot", "side"):
            refused = server.delete(f"{SPACES}/{name}", key=bot)
            assert refused.status == 409 and "agent `bot`" in refused.json["error"]["message"], refused.body
    finally:
        path.write_text(text)
    assert server.delete(f"{SPACES}/side", key=bot).status == 204


def test_another_takes_its_place_and_there_is_no_moment_without_one(server, bot):
    own = make_key(server, {"files": {"current": "none"}, "agent": "bot"}, "--tenant", tenant_of(server, bot))
    before = server.get(f"{AGENTS}/bot", key=bot).json

    def put(name="bot", key=bot, **more):
        return server.ask("PUT", f"{AGENTS}/{name}", {"name": "bot", **more}, key=key)

    seen, ends = [], threading.Event()

    def look():
        while not ends.is_set():
            seen.append(server.get(f"{AGENTS}/bot", key=own).status)
    looks = threading.Thread(target=look)
    looks.start()
    try:
        for command in ("uname", "true") * 10:
            done = put(description="another", policy={"commands": [command]})
            assert done.status == 200, done.body
    finally:
        ends.set()
        looks.join()
    assert {*seen} == {200}
    after = server.get(f"{AGENTS}/bot", key=bot).json
    assert done.json == after and after["description"] == "another" and after["labels"] == {}
    assert (after["workspace"], after["created"]) == (before["workspace"], before["created"])
    assert server.post(RUN, {"argv": ["true"]}, key=own).json["exit_code"] == 0
    assert server.post(RUN, {"argv": ["uname"]}, key=own).json["status"] == "denied"
    assert put(workspace={"name": "bot"}).status == 200 and put(workspace={"name": "other"}).status == 409
    assert put("other").status == 409 and put(policy={"nothing": 1}).status == 422 and put(key=own).status == 403
    assert server.ask("PUT", f"{AGENTS}/none", {"name": "none"}, key=bot).status == 404
    assert put(key=server.make_key("--tenant", "stranger")).status == 404
    assert server.delete(f"{AGENTS}/bot", key=bot).status == 204 and server.get(f"{SPACES}/bot", key=bot).status == 404


def test_a_request_can_name_another_workspace(server, bot):
    assert server.post(SPACES, {"name": "side"}, key=bot).status == 201
    assert server.post(RUN, {"command": "echo x >only", "agent": "bot", "workspace": {"name": "side"}}, key=bot).json["exit_code"] == 0
    assert server.post(RUN, {"argv": ["ls"], "agent": "bot"}, key=bot).json["stdout"] == ""


@pytest.mark.parametrize("body, where", [
    ({}, "name"), ({"name": "../x"}, "name"), ({"name": "own-x"}, None), ({"name": "a" * 52}, "name"), ({"name": "x", "description": "ä" * 201}, "description"), ({"name": "a.b"}, "name"),
    ({"name": "x", "description": "two\nlines"}, "description"), ({"name": "x", "labels": {"a b": "c"}}, "labels"),
    ({"name": "x", "policy": {"agent": "other"}}, None), ({"name": "x", "policy": {"nothing": 1}}, None), ({"name": "x", "timeout": 0}, "timeout"),
    ({"name": "x", "policy": {"credentials": {"a": {"from": "env:HOME", "hosts": ["x.test"]}}}}, None),
    ({"name": "x", "profile": "nobody"}, None), ({"name": "x", "profile": "/etc/passwd"}, None), ({"name": "x", "workspace": {}}, "workspace.name"),
    ({"name": "x", "workspace": {"name": "own-1"}}, None), ({"name": "x", "boxes": 3}, "boxes")])
def test_what_can_be_no_agent(server, body, where):
    answer = server.post(AGENTS, body)
    assert answer.status == 422, answer.body
    assert where is None or answer.json["error"]["where"] == where, answer.body
    assert server.get(f"{AGENTS}/x").status == 404


def test_another_tenants_agents_are_not_there(server, bot):
    other = server.make_key("--tenant", "elsewhere")
    assert server.get(AGENTS, key=other).json["agents"] == []
    for method, path, body in (("GET", f"{AGENTS}/bot", None), ("DELETE", f"{AGENTS}/bot", None),
                               ("POST", RUN, {"argv": ["true"], "agent": "bot"}), ("POST", BOXES, {"agent": "bot"}),
                               ("POST", AGENTS, {"name": "mine", "workspace": {"name": "bot"}})):
        answer = server.ask(method, path, body, key=other)
        assert answer.status == 404, (method, path, answer.body)
    assert server.post(RUN, {"argv": ["uname"], "policy": {"agent": "bot"}}, key=other).json["exit_code"] == 0  # a name of its own
    assert server.post(AGENTS, {"name": "bot"}, key=other).status == 201  # which is another one
    assert server.get(f"{AGENTS}/bot", key=other).json["description"] is None
    assert server.delete(f"{AGENTS}/bot", key=other).status == 204
    assert server.get(f"{AGENTS}/bot", key=bot).status == 200


def test_read_keys_look_and_change_nothing(server, bot):
    key = server.make_key("--scope", "read", "--tenant", tenant_of(server, bot))
    assert server.get(f"{AGENTS}/bot", key=key).status == 200 and server.get(AGENTS, key=key).status == 200
    assert server.post(AGENTS, {"name": "x"}, key=key).status == 403
    assert server.delete(f"{AGENTS}/bot", key=key).status == 403


def test_a_tenant_has_room_for_64(server):
    key = server.make_key("--tenant", "many")
    assert server.post(SPACES, {"name": "all"}, key=key).status == 201
    for i in range(64):
        assert server.post(AGENTS, {"name": f"a{i}", "workspace": {"name": "all"}}, key=key).status == 201
    assert server.post(AGENTS, {"name": "more"}, key=key).status == 429
    assert server.get(f"{SPACES}/more", key=key).status == 404
    assert len(server.get(AGENTS, key=key).json["agents"]) == 64


def test_a_file_that_was_changed_is_no_agent(server, bot):
    """And nothing runs for it: what it may do is not known then."""
    path = folder_of(server, tenant_of(server, bot)) / "bot"
    text, mode = path.read_text(), stat.S_IMODE(path.stat().st_mode)
    assert mode == 0o600
    for change in (lambda: path.write_text("{}"), lambda: path.write_text(text.replace("name bot", "name boa")),
                   lambda: path.write_text(text.replace("limits", "nothing")), lambda: path.chmod(0o644)):
        path.write_text(text)
        change()
        for body in ({"argv": ["uname"], "agent": "bot"}, {"argv": ["uname"], "policy": {"agent": "bot"}}):
            done = server.post(RUN, body, key=bot)
            assert done.status != 200, (body, done.body)
        assert server.get(f"{AGENTS}/bot", key=bot).status >= 400
        path.chmod(0o600)
    path.write_text(text)
    path.unlink()
    path.symlink_to("/dev/zero")
    assert server.post(RUN, {"argv": ["uname"], "agent": "bot"}, key=bot).status != 200
    path.unlink()


def test_agents_outlive_the_server(server, bot):
    server.end()
    server.start()
    assert server.get(f"{AGENTS}/bot", key=bot).json["labels"] == {"team": "blue"}
    assert server.post(RUN, {"argv": ["cat", "/dev/null"], "agent": "bot"}, key=bot).json["exit_code"] == 0
