"""Workspaces of a server's tenants: sandboxes have them at /work; checkpoints, undo, diff, fork; and nobody else's."""
import pathlib
import sys
import time

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


def test_a_diff_tells_of_links_beside_files(server):
    """Also where one has come in place of a file, leads to a folder, or lies in one that is a link on the other side."""
    box = make(server)["id"]
    sh(server, box, "echo one >a; ln -s a same; ln -s a other; ln -s a gone; echo f >kind; mkdir d; echo x >d/x; : >none")
    assert server.post(f"{BOXES}/{box}/checkpoints", {"name": "before"}).status == 201
    sh(server, box, "echo two >a; ln -sfn b other; rm gone kind; ln -s d kind; ln -s .. up; rm -r d; ln -s up d; : >empty; echo n >\"$(printf 'o\\nd')\"")
    diff = server.get(f"{BOXES}/{box}/diff?from=before")
    assert diff.status == 200, diff.body
    told = diff.json["unified"].splitlines()
    assert "-one" in told and "+two" in told and "-x" in told and "-f" in told and "diff -u /dev/null b/empty" in told
    assert sorted(line for line in told if line.startswith("Link ")) == [
        "Link a/gone -> a is gone", "Link a/other -> a is gone",
        "Link b/d -> up is new", "Link b/kind -> d is new", "Link b/other -> b is new", "Link b/up -> .. is new"]
    assert not any("same" in line or "none" in line for line in told)
    assert server.get(f"{BOXES}/{box}/diff?from=before&to=before").json["unified"] == ""
    server.delete(f"{BOXES}/{box}")


def test_what_can_not_be_read_is_named(server, space):
    box = make(server, space)["id"]
    assert server.post(f"{SPACES}/{space}/fork", {"name": f"{space}-fork"}).status == 201
    assert server.post(f"{SPACES}/{space}/checkpoints", {"name": "before"}).status == 201
    for made, undone, name in (("mkdir d; echo x >d/secret; chmod 0 d/secret", "rm -rf d", "d/secret, whose mode is 0"),
                               ("mkdir -m 300 d", "rmdir d", "d, whose mode is 300")):
        sh(server, box, made)
        for path, body in ((f"{SPACES}/{space}/checkpoints", {}), (f"{BOXES}/{box}/fork", {"name": "never"}), (f"{SPACES}/{space}-fork/apply", {})):
            refused = server.post(path, body)
            assert refused.status == 409 and name in refused.json["error"]["message"], (path, refused.body)
            assert "chmod" in refused.json["error"]["remedy"]
        refused = server.get(f"{SPACES}/{space}/diff?from=before")
        assert refused.status == 409 and name in refused.json["error"]["message"], refused.body
        sh(server, box, undone)
    server.delete(f"{BOXES}/{box}")
    server.delete(f"{SPACES}/{space}-fork")


def test_a_checkpoint_that_is_deleted_makes_room_for_another(server, space):
    box = make(server, space)["id"]
    sh(server, box, "mkdir d; echo x >d/x; chmod 500 d")
    for number in range(1, 65):
        assert server.post(f"{SPACES}/{space}/checkpoints", {}).json["number"] == number
    full = server.post(f"{SPACES}/{space}/checkpoints", {})
    assert full.status == 429 and "DELETE" in full.json["error"]["remedy"], full.body
    assert server.delete(f"{SPACES}/{space}/checkpoints/7").status == 204
    assert server.delete(f"{BOXES}/{box}/checkpoints/8").status == 204
    for path in (f"{SPACES}/{space}", f"{BOXES}/{box}"):
        for number in ("7", "8", "65", "no-number", "last"):
            assert server.delete(f"{path}/checkpoints/{number}").status == 404
    assert server.post(f"{SPACES}/{space}/undo", {"to": "7"}).status == 404
    assert server.post(f"{BOXES}/{box}/checkpoints", {}).json["number"] == 65
    listed = server.get(f"{SPACES}/{space}/checkpoints").json["checkpoints"]
    assert [one["number"] for one in listed] == [1, 2, 3, 4, 5, 6, *range(9, 66)]
    read = server.make_key("--scope", "read")
    assert server.delete(f"{SPACES}/{space}/checkpoints/1", key=read).status in (403, 404)
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
            ("DELETE", f"{SPACES}/{space}/checkpoints/1", None), ("DELETE", f"{BOXES}/{box}/checkpoints/1", None),
            ("POST", f"{SPACES}/{space}/undo", {"to": "1"}), ("POST", f"{SPACES}/{space}/fork", {"name": "x"}),
            ("GET", f"{SPACES}/{space}/diff?from=1", None), ("POST", f"{SPACES}/{space}/apply", {}),
            ("POST", BOXES, {"workspace": {"name": space}}), ("POST", "/v1/run", {"argv": ["true"], "workspace": {"name": space}}),
            ("POST", f"{BOXES}/{box}/checkpoints", {}), ("GET", f"{BOXES}/{box}/checkpoints", None),
            ("POST", f"{BOXES}/{box}/undo", {"to": "1"}), ("POST", f"{BOXES}/{box}/fork", {"name": "x"}),
            ("GET", f"{BOXES}/{box}/diff?from=1", None), ("POST", f"{BOXES}/{box}/apply", {})):
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
                               ("POST", f"{SPACES}/{space}/checkpoints", {}), ("POST", f"{SPACES}/{space}/undo", {"to": "1"}),
                               ("POST", f"{SPACES}/{space}/apply", {})):
        assert server.ask(method, path, body, key=key).status == 403


# --- how much there may be ---

def quota_key(server, name, *options):
    return server.make_key("--tenant", name, *options)


def ask_sh(server, box, line, key):
    done = server.post(f"{BOXES}/{box}/exec", {"command": line}, key=key)
    assert done.status == 200 and done.json["exit_code"] == 0, done.body
    return done.json["stdout"]


def refusal(answer, *words):
    assert answer.status == 429, (answer.status, answer.body)
    error = answer.json["error"]
    for word in words:
        assert word in error["message"] + str(error["remedy"]), error
    return True


def test_a_copy_that_would_take_too_much_is_refused_before(server):
    """Bytes are those on the disk: holes do not count, and a file with many names counts once."""
    key = quota_key(server, "copies", "--storage", "4M", "--files", "1000")
    assert server.post(SPACES, {"name": "a"}, key=key).status == 201
    box = server.post(BOXES, {"workspace": {"name": "a"}}, key=key).json["id"]
    ask_sh(server, box, "truncate -s 1G holes; head -c 900000 /dev/urandom >x; for i in 1 2 3 4 5 6; do ln x x$i; done", key)
    for path in (f"{BOXES}/{box}/checkpoints", f"{SPACES}/a/checkpoints"):
        made = server.post(path, {}, key=key)
        assert made.status == 201, made.body
    assert server.post(f"{SPACES}/a/fork", {"name": "b"}, key=key).status == 201
    refusal(server.post(f"{SPACES}/a/checkpoints", {}, key=key), "may take 4194304", "delete a workspace", "--storage")
    refusal(server.post(f"{BOXES}/{box}/checkpoints", {}, key=key), "may take 4194304")
    refusal(server.post(f"{SPACES}/a/fork", {"name": "c"}, key=key), "may take 4194304")
    assert server.get(f"{BOXES}/{box}", key=key).json["state"] == "running", "it goes on after a refusal"
    assert [one["name"] for one in server.get(SPACES, key=key).json["workspaces"]] == ["a", "b"]
    assert len(server.get(f"{SPACES}/a/checkpoints", key=key).json["checkpoints"]) == 2
    assert server.delete(f"{SPACES}/b", key=key).status == 204
    assert server.post(f"{SPACES}/a/checkpoints", {}, key=key).status == 201, "there is room again"
    other = quota_key(server, "others")
    assert server.post(SPACES, {"name": "a"}, key=other).status == 201, "another tenant's is another's"


@pytest.mark.parametrize("what, line", [
    ("bytes", "head -c 3000000 /dev/urandom >large"),
    ("a folder that nobody may look into", "mkdir shut; head -c 3000000 /dev/urandom >shut/large; chmod 0 shut"),
    ("files", "mkdir many; cd many; seq 400 | xargs touch"),
    ("names of one file", "mkdir many; cd many; touch x; for i in $(seq 400); do ln x $i; done"),
], ids=["bytes", "shut", "files", "names"])
def test_who_has_taken_too_much_begins_nothing_until_it_is_less(server, what, line):
    key = quota_key(server, what.replace(" ", "-"), "--storage", "1M", "--files", "200")
    assert server.post(SPACES, {"name": "a"}, key=key).status == 201
    body = {"workspace": {"name": "a"}}
    box = server.post(BOXES, body, key=key).json["id"]
    ask_sh(server, box, line, key)
    time.sleep(4)  # a sum is good for a moment
    refusal(server.post(SPACES, {"name": "b"}, key=key), "the tenant's workspaces would take", "delete a workspace")

    def begin():
        answer = server.post(BOXES, body, key=key)
        if answer.status == 201:
            server.delete(f"{BOXES}/{answer.json['id']}", key=key)
        return answer
    assert eventually(lambda: begin().status == 429, 15, 0.3), what
    refusal(begin(), "the tenant's take", "a sandbox that lives")
    ask_sh(server, box, "chmod -R u+rwX .; rm -rf ./*", key)
    assert eventually(lambda: begin().status == 201, 15, 0.3), "what was removed counts no more"
    assert eventually(lambda: server.post(SPACES, {"name": "b"}, key=key).status == 201, 15, 0.3)


def begins(server, name, key):
    answer = server.post(BOXES, {"workspace": {"name": name}}, key=key)
    if answer.status == 201:
        server.delete(f"{BOXES}/{answer.json['id']}", key=key)
    return answer.status == 201


def fill(server, name, key):
    """More than may be, by a box that is gone."""
    box = server.post(BOXES, {"workspace": {"name": name}}, key=key).json["id"]
    ask_sh(server, box, "head -c 3000000 /dev/urandom >large", key)
    assert server.delete(f"{BOXES}/{box}", key=key).status == 204
    assert eventually(lambda: not begins(server, "b", key), 15, 0.3)


def test_who_has_taken_too_much_can_undo_and_delete_and_then_begins_again(server):
    key = quota_key(server, "too-much", "--storage", "1M", "--files", "200")
    assert [server.post(SPACES, {"name": name}, key=key).status for name in "ab"] == [201, 201]
    assert server.post(f"{SPACES}/a/checkpoints", {"name": "empty"}, key=key).status == 201
    fill(server, "a", key)
    assert server.get(f"{SPACES}/a/checkpoints", key=key).status == 200
    undone = server.post(f"{SPACES}/a/undo", {"to": "empty"}, key=key)
    assert undone.status == 200, undone.body
    assert eventually(lambda: begins(server, "b", key), 15, 0.3), "what was undone counts no more"
    fill(server, "a", key)
    assert server.delete(f"{SPACES}/a", key=key).status == 204
    assert eventually(lambda: begins(server, "b", key), 15, 0.3), "nor does what was deleted"


def test_folders_in_folders_without_end_keep_nobody_out(server):
    key = quota_key(server, "deep")
    assert [server.post(SPACES, {"name": name}, key=key).status for name in ("deep", "other")] == [201, 201]
    box = server.post(BOXES, {"workspace": {"name": "deep"}}, key=key).json["id"]
    ask_sh(server, box, "i=0; while [ $i -lt 700 ]; do mkdir x; cd x; i=$((i+1)); done", key)
    assert server.delete(f"{BOXES}/{box}", key=key).status == 204
    time.sleep(6)  # it is counted meanwhile
    assert begins(server, "other", key) and begins(server, "deep", key)
    assert server.post(SPACES, {"name": "third"}, key=key).status == 201
    few = quota_key(server, "deep", "--files", "500")
    refusal(server.post(SPACES, {"name": "fourth"}, key=few), "may take")
