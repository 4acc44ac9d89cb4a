"""Workspaces of a server's tenants: sandboxes have them at /work; checkpoints, undo, diff, fork; and nobody else's."""
import pathlib
import sys

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

BOXES, SPACES = "/v1/sandboxes", "/v1/workspaces"


@pytest.fixture(scope="module")
def standing(ringfort, public):
    found = {}
    yield lambda who: found.get(who) or found.setdefault(who, Server(ringfort, who, public / f"spaces-{who}"))
    for server in found.values():
        server.close()


@pytest.fixture
def server(standing, as_who):
    return standing(as_who)


@pytest.fixture
def space(server, request):
    name = request.node.name.replace("[", "-").replace("]", "").replace("_", "-")[:50]
    made = server.post(SPACES, {"name": name})
    assert made.status == 201, made.body
    return name


def make(server, name=None, **more):
    made = server.post(BOXES, {"workspace": {"name": name} if name else {}, **more})
    assert made.status == 201, made.body
    return made.json


def sh(server, box, line):
    done = server.post(f"{BOXES}/{box}/exec", {"command": line})
    assert done.status == 200 and done.json["exit_code"] == 0, done.body
    return done.json["stdout"]


def test_what_a_sandbox_writes_to_its_workspace_the_next_one_finds(server, space):
    first = make(server, space)
    assert first["workspace"] == space
    assert sh(server, first["id"], "pwd; mkdir -p a; echo one >a/b; ln -s a/b link; ls") == "/work\na\nlink\n"
    assert server.put(f"{BOXES}/{first['id']}/files?path=/work/put", b"bytes").status == 204
    assert server.get(f"{SPACES}/{space}").json["in_use"] is True
    assert server.delete(f"{SPACES}/{space}").status == 409
    assert server.delete(f"{BOXES}/{first['id']}").status == 204
    second = make(server, space)
    assert sh(server, second["id"], "cat link put") == "one\nbytes"
    run = server.post("/v1/run", {"command": "cat /work/a/b; echo two >/work/c", "workspace": {"name": space}})
    assert run.status == 200 and run.json["stdout"] == "one\n", run.body
    assert sh(server, second["id"], "cat c") == "two\n"
    server.delete(f"{BOXES}/{second['id']}")
    assert server.delete(f"{SPACES}/{space}").status == 204
    assert server.get(f"{SPACES}/{space}").status == 404
    # One of the same name is another one.
    assert server.post(SPACES, {"name": space}).status == 201
    third = make(server, space)
    assert sh(server, third["id"], "ls -A") == ""
    server.delete(f"{BOXES}/{third['id']}")


def test_checkpoints_bring_files_back_while_the_sandbox_lives(server):
    box = make(server)["id"]
    sh(server, box, "echo one >a; mkdir -m 500 shut; echo keep >b; printf '\\001' >bin")
    point = server.post(f"{BOXES}/{box}/checkpoints", {"name": "before"})
    assert point.status == 201 and point.json["number"] == 1 and point.json["name"] == "before", point.body
    sh(server, box, "echo two >a; rm b; mkdir -p new/deep; echo x >new/deep/x; printf '\\002' >bin")
    diff = server.get(f"{BOXES}/{box}/diff?from=before")
    assert diff.status == 200, diff.body
    assert "-one\n+two\n" in diff.json["unified"] and "-keep\n" in diff.json["unified"]
    assert "+++ b/new/deep/x" in diff.json["unified"]
    assert server.post(f"{BOXES}/{box}/checkpoints", {}).json["number"] == 2
    sh(server, box, "mkdir closed; echo x >closed/x; chmod 0 closed")
    back = server.post(f"{BOXES}/{box}/undo", {"to": "before"})
    assert back.status == 200 and back.json["number"] == 1, back.body
    assert sh(server, box, "cat a b; ls; stat -c %a shut") == "one\nkeep\na\nb\nbin\nshut\n500\n"
    assert server.post(f"{BOXES}/{box}/undo", {"to": "2"}).status == 200
    assert sh(server, box, "cat a; ls") == "two\na\nbin\nnew\nshut\n"
    listed = server.get(f"{BOXES}/{box}/checkpoints").json["checkpoints"]
    assert [(one["number"], one["name"]) for one in listed] == [(1, "before"), (2, "")]
    assert server.get(f"{BOXES}/{box}").json["state"] == "running"
    for path, body, status in (("checkpoints", {"name": "before"}, 409), ("undo", {"to": "nothing"}, 404),
                               ("undo", {}, 422), ("checkpoints", {"name": "../x"}, 422), ("fork", {}, 422)):
        answer = server.post(f"{BOXES}/{box}/{path}", body)
        assert answer.status == status, (path, body, answer.body)
    assert server.get(f"{BOXES}/{box}/diff?from=nothing").status == 404
    server.delete(f"{BOXES}/{box}")


def test_a_sandbox_is_paused_for_a_checkpoint_and_stays_as_it_was(server):
    box = make(server)["id"]
    server.post(f"{BOXES}/{box}/pause")
    assert server.post(f"{BOXES}/{box}/checkpoints", {}).status == 201
    assert server.get(f"{BOXES}/{box}").json["state"] == "paused"
    server.delete(f"{BOXES}/{box}")


def test_its_own_workspace_goes_with_a_sandbox_and_a_fork_stays(server):
    made = make(server)
    box, own = made["id"], made["workspace"]
    assert server.get(f"{SPACES}/{own}").json["named"] is False
    sh(server, box, "echo here >a")
    fork = server.post(f"{BOXES}/{box}/fork", {"name": f"fork-of-{own}"})
    assert fork.status == 201 and fork.json["named"] is True, fork.body
    sh(server, box, "echo there >a")
    second = make(server, fork.json["name"])["id"]
    assert sh(server, second, "cat a; echo more >b") == "here\n"
    assert sh(server, box, "cat a; ls") == "there\na\n"
    assert server.get(f"{BOXES}/{box}/checkpoints").json["checkpoints"] == []
    server.delete(f"{BOXES}/{box}")
    assert server.get(f"{SPACES}/{own}").status == 404
    server.delete(f"{BOXES}/{second}")
    assert fork.json["name"] in [one["name"] for one in server.get(SPACES).json["workspaces"]]


def test_another_tenants_workspaces_are_not_there(server, space):
    other = server.make_key("--tenant", "other")
    box = make(server, space)["id"]
    for method, path, body in (
            ("GET", f"{SPACES}/{space}", None), ("DELETE", f"{SPACES}/{space}", None),
            ("POST", f"{SPACES}/{space}/checkpoints", {}), ("GET", f"{SPACES}/{space}/checkpoints", None),
            ("POST", f"{SPACES}/{space}/undo", {"to": "1"}), ("POST", f"{SPACES}/{space}/fork", {"name": "x"}),
            ("GET", f"{SPACES}/{space}/diff?from=1", None),
            ("POST", BOXES, {"workspace": {"name": space}}), ("POST", "/v1/run", {"argv": ["true"], "workspace": {"name": space}}),
            ("POST", f"{BOXES}/{box}/checkpoints", {}), ("GET", f"{BOXES}/{box}/checkpoints", None),
            ("POST", f"{BOXES}/{box}/undo", {"to": "1"}), ("POST", f"{BOXES}/{box}/fork", {"name": "x"}),
            ("GET", f"{BOXES}/{box}/diff?from=1", None)):
        answer = server.ask(method, path, body, key=other)
        assert answer.status == 404, (method, path, answer.body)
    assert server.get(SPACES, key=other).json["workspaces"] == []
    assert server.post(SPACES, {"name": space}, key=other).status == 201  # which is another one
    mine = server.post(BOXES, {"workspace": {"name": space}}, key=other).json["id"]
    sh(server, box, "echo secret >a")
    assert server.post(f"{BOXES}/{mine}/exec", {"command": "ls -A /work"}, key=other).json["stdout"] == ""
    server.delete(f"{BOXES}/{mine}", key=other)
    server.delete(f"{BOXES}/{box}")


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "own-1", "-a", "a" * 64, "ä"])
def test_names_are_plain(server, name):
    answer = server.post(SPACES, {"name": name})
    assert answer.status == 422 and answer.json["error"]["where"] in ("name", None), answer.body
    assert server.post(BOXES, {"workspace": {"name": name}}).status in (404, 422)


def test_a_link_that_was_laid_in_it_leads_nowhere(server, as_who):
    box = make(server)["id"]
    sh(server, box, "ln -s /etc/shadow a; ln -s / root; mkdir d; ln -s ../../../.. d/up; mkfifo pipe")
    assert server.post(f"{BOXES}/{box}/checkpoints", {}).status == 201
    sh(server, box, "rm a root pipe; rm -r d")
    assert server.post(f"{BOXES}/{box}/undo", {"to": "1"}).status == 200
    assert sh(server, box, "readlink a root d/up; test -p pipe") == "/etc/shadow\n/\n../../../..\n"
    assert server.post(f"{BOXES}/{box}/fork", {"name": f"linked-{as_who}"}).status == 201
    server.delete(f"{BOXES}/{box}")
    assert server.delete(f"{SPACES}/linked-{as_who}").status == 204


def test_read_keys_look_and_change_nothing(server, space):
    key = server.make_key("--scope", "read", "--tenant", server.get("/v1/key").json["tenant"])
    assert server.get(f"{SPACES}/{space}", key=key).status == 200
    assert server.get(f"{SPACES}/{space}/checkpoints", key=key).json == {"checkpoints": []}
    for method, path, body in (("POST", SPACES, {"name": "x"}), ("DELETE", f"{SPACES}/{space}", None),
                               ("POST", f"{SPACES}/{space}/checkpoints", {}), ("POST", f"{SPACES}/{space}/undo", {"to": "1"})):
        assert server.ask(method, path, body, key=key).status == 403


def test_its_limit_on_disks_holds(server):
    box = make(server, limits={"disk": "8M"})["id"]
    server.post(f"{BOXES}/{box}/exec", {"command": "head -c 200000000 /dev/zero >/work/big", "timeout": 60})
    assert eventually(lambda: server.get(f"{BOXES}/{box}").status == 404 or
                      server.post(f"{BOXES}/{box}/exec", {"command": "stat -c %s /work/big"}).json["stdout"] < "9", 30)
    server.delete(f"{BOXES}/{box}")
