"""What has changed in a fork, brought back into the workspace that it is a fork of: three-way, by path, with a checkpoint first."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import random
import signal
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
    yield lambda who: found.get(who) or found.setdefault(who, Server(ringfort, who, public / f"apply-{who}"))
    for server in found.values():
        server.close()


class Pair:
    """A workspace and a fork of it, by a tenant's key of their own."""

    def __init__(self, server, name, begin):
        self.server, self.key = server, server.make_key("--tenant", name)
        assert self.post(SPACES, {"name": "origin"}).status == 201
        self.sh("origin", begin)
        fork = self.post(f"{SPACES}/origin/fork", {"name": "fork"})
        assert fork.status == 201 and fork.json["origin"] == "origin", fork.body

    def post(self, path, body):
        return self.server.post(path, body, key=self.key, timeout=60)

    def sh(self, where, line):
        done = self.post("/v1/run", {"command": "set -e\n" + line, "workspace": {"name": where}})
        assert done.status == 200 and done.json["exit_code"] == 0, done.body
        return done.json["stdout"]

    def apply(self, status=200, **how):
        done = self.post(f"{SPACES}/fork/apply", how)
        assert done.status == status, done.body
        return done.json


@pytest.fixture
def pair(standing, as_who, request):
    name = request.node.name.replace("[", "-").replace("]", "").replace("_", "-")[-60:].strip("-")
    return lambda begin="echo one >a; echo two >b; mkdir d; echo three >d/c": Pair(standing(as_who), name, begin)


def changes(answer):
    return {one["path"]: one["change"] for one in answer["changes"]}


def test_what_the_fork_has_changed_comes_into_the_origin_and_undo_takes_it_back(pair):
    two = pair()
    two.sh("fork", "echo ONE >a; rm b; mkdir -p new/deep; echo x >new/deep/x; ln -s a link; chmod 755 d/c; touch \"$(printf 'odd\\n name')\"")
    two.sh("origin", "echo mine >own; echo other >d/e")
    told = two.apply(dry_run=True)
    assert told["dry_run"] is True and told["checkpoint"] is None and told["conflicts"] == []
    assert two.sh("origin", "cat a b") == "one\ntwo\n"
    done = two.apply()
    assert changes(done) == changes(told) == {
        "a": "modified", "b": "deleted", "new": "added", "new/deep": "added", "new/deep/x": "added", "link": "added", "d/c": "modified",
        "odd\n name": "added"}
    assert (done["added"], done["modified"], done["deleted"], done["truncated"]) == (5, 2, 1, False) and done["origin"] == "origin"
    assert two.sh("origin", "cat a new/deep/x own d/e; readlink link; stat -c %a d/c; ls | wc -l") == "ONE\nx\nmine\nother\na\n755\n7\n"
    points = two.server.get(f"{SPACES}/origin/checkpoints", key=two.key).json["checkpoints"]
    assert [one["number"] for one in points] == [done["checkpoint"]] and points[0]["name"].startswith("apply-")
    assert two.post(f"{SPACES}/origin/undo", {"to": str(done["checkpoint"])}).status == 200
    assert two.sh("origin", "cat a b own; ls") == "one\ntwo\nmine\na\nb\nd\nown\n"


def test_a_second_time_brings_what_was_done_since(pair):
    two = pair()
    two.sh("fork", "echo ONE >a")
    assert changes(two.apply()) == {"a": "modified"}
    nothing = two.apply()
    assert nothing["changes"] == [] and nothing["checkpoint"] is None
    two.sh("origin", "echo theirs >a")
    two.sh("fork", "echo TWO >b")
    assert changes(two.apply()) == {"b": "modified"}  # and what the origin did to a since is its own
    assert two.sh("origin", "cat a b") == "theirs\nTWO\n"
    two.sh("fork", "echo MORE >a")
    assert two.apply(409)["conflicts"] == ["a"]


def test_what_both_have_changed_is_a_conflict_and_somebodys_word_counts(pair):
    two = pair("for f in same mine theirs gone both kept; do echo 1 >$f; done")
    two.sh("fork", "echo F >mine; echo F >both; echo S >same; rm gone; rm kept; echo F >new")
    two.sh("origin", "echo O >theirs; echo O >both; echo S >same; echo O >gone; rm kept; echo O >new")
    refused = two.apply(409)
    assert refused["conflicts"] == ["both", "gone", "new"] and refused["error"]["code"] == "conflict" and refused["error"]["remedy"]
    assert two.sh("origin", "cat both mine") == "O\n1\n"
    told = two.apply(dry_run=True)
    assert told["conflicts"] == ["both", "gone", "new"]
    assert two.server.get(f"{SPACES}/origin/checkpoints", key=two.key).json["checkpoints"] == []
    theirs = two.apply(conflicts="origin")
    assert changes(theirs) == {"mine": "modified"} and theirs["conflicts"] == ["both", "gone", "new"]
    assert two.sh("origin", "cat both gone mine new same theirs; ls") == "O\nO\nF\nO\nS\nO\nboth\ngone\nmine\nnew\nsame\ntheirs\n"
    two.post(f"{SPACES}/origin/undo", {"to": str(theirs["checkpoint"])})
    assert two.post(f"{SPACES}/origin/fork", {"name": "again"}).status == 201


def test_the_forks_word_counts_where_it_is_asked_to(pair):
    two = pair("for f in both gone; do echo 1 >$f; done; mkdir d t; echo 1 >d/x; echo 1 >t/x")
    two.sh("fork", "echo F >both; rm gone; echo 2 >d/y; rm -r t; echo file >t")
    two.sh("origin", "echo O >both; echo O >gone; rm -r d; echo file >d; echo O >t/new")
    assert two.apply(409)["conflicts"] == ["both", "d", "gone", "t"]
    done = two.apply(conflicts="fork")
    assert done["conflicts"] == ["both", "d", "gone", "t"]
    assert two.sh("origin", "cat both d/y t; ls") == "F\n2\nfile\nboth\nd\nt\n"


def test_the_origins_word_counts_for_folders_too(pair):
    two = pair("mkdir d t; echo 1 >d/x; echo 1 >t/x; mkdir l; echo 1 >l/x")
    two.sh("fork", "echo 2 >d/y; rm -r t; echo file >t; echo 2 >l/y; echo new >n")
    two.sh("origin", "rm -r d; echo file >d; echo O >t/new; rm -r l; ln -s t l")
    done = two.apply(conflicts="origin")
    assert done["conflicts"] == ["d", "l", "t"] and changes(done) == {"n": "added", "t/x": "deleted"}
    assert two.sh("origin", "cat d t/new n; readlink l; ls t") == "file\nO\nnew\nt\nnew\n"


def test_kinds_and_modes_of_what_was_there_are_the_forks(pair):
    two = pair("mkdir d s; echo 1 >d/x; echo 1 >f; ln -s f l; echo 1 >s/x; chmod 500 s")
    two.sh("fork", "rm -r d; echo file >d; rm f; mkdir f; echo in >f/x; ln -sfn d l; chmod 700 s; echo 2 >s/x; chmod 500 s; "
                   "mkdir -m 500 shut; mkdir p; echo 1 >p/y; chmod 550 p")
    two.apply()
    assert two.sh("origin", "cat d f/x s/x p/y; readlink l; stat -c %a s shut p") == "file\nin\n2\n1\nd\n500\n500\n550\n"
    two.sh("fork", "chmod 711 s; chmod 700 p; rm -r p")
    assert changes(two.apply()) == {"s": "modified", "p": "deleted", "p/y": "deleted"}
    assert two.sh("origin", "stat -c %a s; test ! -e p") == "711\n"


def test_a_sandbox_with_the_fork_and_one_with_the_origin_stand_still_and_go_on(pair):
    """While it is done neither runs; what the origin's has open are the same files."""
    two = pair("echo 0 >count; echo one >a; i=0; while [ $i -lt 300 ]; do echo $i >f$i; i=$((i+1)); done")
    made = [two.post(BOXES, {"workspace": {"name": name}, "timeout": 120}).json["id"] for name in ("origin", "fork")]
    tick = {"argv": ["sh", "-c", "while :; do date +%s%N >>/work/ticks; sleep 0.01; done"], "background": True}
    assert two.post(f"{BOXES}/{made[0]}/exec", tick).status == 202
    two.post(f"{BOXES}/{made[1]}/exec", {"command": "cd /work; echo ONE >a; for f in f*; do echo x >$f; done"})
    done = two.post(f"{BOXES}/{made[1]}/apply", {})
    assert done.status == 200 and done.json["modified"] == 301, done.body
    for box in made:
        assert two.server.get(f"{BOXES}/{box}", key=two.key).json["state"] == "running"
    last = two.post(f"{BOXES}/{made[0]}/exec", {"command": "wc -l <ticks; sleep 0.3; wc -l <ticks; cat a f7; cat ticks"}).json["stdout"].splitlines()
    assert int(last[0]) < int(last[1]) and last[2:4] == ["ONE", "x"]
    ticks = [int(one) for one in last[4:]]
    assert max(b - a for a, b in zip(ticks, ticks[1:])) > 50_000_000, "it stood still"
    two.post(f"{BOXES}/{made[0]}/pause", None)
    two.post(f"{BOXES}/{made[1]}/exec", {"command": "echo TWO >/work/a"})
    assert two.post(f"{BOXES}/{made[1]}/apply", {}).status == 200
    assert two.server.get(f"{BOXES}/{made[0]}", key=two.key).json["state"] == "paused"
    for box in made:
        two.server.delete(f"{BOXES}/{box}", key=two.key)


def test_what_is_no_fork_or_has_lost_its_origin_can_not_be_applied(pair):
    two = pair()
    plain = two.post(f"{SPACES}/origin/apply", {})
    assert plain.status == 409 and "fork" in plain.json["error"]["message"], plain.body
    assert two.server.get(f"{SPACES}/origin", key=two.key).json["origin"] is None
    assert two.post(f"{SPACES}/nothing/apply", {}).status == 404
    for body in ({"conflicts": "mine"}, {"dry_run": 1}, {"to": "x"}):
        assert two.post(f"{SPACES}/fork/apply", body).status == 422
    box = two.post(BOXES, {}).json["id"]
    assert two.post(f"{BOXES}/{box}/apply", {}).status == 409
    two.server.delete(f"{BOXES}/{box}", key=two.key)
    assert two.server.delete(f"{SPACES}/origin", key=two.key).status == 204
    two.sh("fork", "echo x >a")
    assert two.apply(404)["error"]["remedy"]
    assert two.post(SPACES, {"name": "origin"}).status == 201  # which is another one
    assert "gone" in two.apply(404)["error"]["message"]


def test_read_keys_and_other_tenants_apply_nothing(pair):
    two = pair()
    tenant = two.server.get("/v1/key", key=two.key).json["tenant"]
    read, other = two.server.make_key("--scope", "read", "--tenant", tenant), two.server.make_key("--tenant", "stranger")
    box = two.post(BOXES, {"workspace": {"name": "fork"}}).json["id"]
    for path in (f"{SPACES}/fork/apply", f"{BOXES}/{box}/apply"):
        assert two.server.post(path, {}, key=read).status == 403
        assert two.server.post(path, {}, key=other).status == 404
    two.server.delete(f"{BOXES}/{box}", key=two.key)


def test_links_that_were_laid_lead_nowhere(pair):
    two = pair("mkdir d; echo 1 >d/x; echo safe >keep")
    assert two.post(f"{SPACES}/origin/checkpoints", {"name": "mine"}).status == 201
    two.sh("origin", "rm -r d; ln -s ../points/1/files d")
    two.sh("fork", "echo 2 >d/keep; ln -s /etc/passwd p; ln -s ../../.. up")
    assert two.apply(409)["conflicts"] == ["d"]
    assert changes(two.apply(conflicts="origin")) == {"p": "added", "up": "added"}
    two.post(f"{SPACES}/origin/undo", {"to": "mine"})
    assert two.sh("origin", "cat keep; ls d") == "safe\nx\n"


@pytest.mark.parametrize("leads", ["..", ".", "../points", "/work", "/work/points/2"], ids=["up", "here", "points", "top", "point"])
def test_a_link_of_the_origins_that_is_a_folder_of_the_forks_is_not_followed(pair, leads):
    """What lies in the folder has names of what lies behind the link, and takes none of that away."""
    two = pair(f"mkdir w 2 files; echo 1 >w/x; echo 1 >keep; ln -s {leads} me")
    mine = two.post(f"{SPACES}/origin/checkpoints", {"name": "mine"}).json["number"]
    two.sh("fork", "rm me; mkdir me; for f in w points keep last 2 files base name created; do echo fork >me/$f; done")
    done = two.apply()
    assert set(changes(done)) == {"me", *(f"me/{one}" for one in "w points keep last 2 files base name created".split())}
    assert two.sh("origin", "cat w/x keep me/w me/points; ls; ls me | wc -l") == "1\n1\nfork\nfork\n2\nfiles\nkeep\nme\nw\n9\n"
    points = two.server.get(f"{SPACES}/origin/checkpoints", key=two.key).json["checkpoints"]
    assert [one["number"] for one in points] == [mine, done["checkpoint"]]
    assert two.post(f"{SPACES}/origin/undo", {"to": "mine"}).status == 200
    assert two.sh("origin", "readlink me; cat w/x") == f"{leads}\n1\n"


@pytest.mark.parametrize("leads", ["..", ".", "../points"], ids=["up", "here", "points"])
def test_a_folder_of_the_origins_that_is_a_link_of_the_forks_is_not_followed(pair, leads):
    """Not when what was closed in it is closed again, and not when what was in it is taken away."""
    two = pair("mkdir -p s/points/1 s/w w; echo 1 >s/1; echo 1 >s/last; echo 1 >w/x; chmod 500 s/points/1 s/points s/w")
    assert two.post(f"{SPACES}/origin/checkpoints", {"name": "mine"}).status == 201
    two.sh("fork", f"chmod -R u+w s; rm -r s; ln -s {leads} s")
    two.apply()
    assert two.sh("origin", "cat w/x; stat -c %a w; readlink s") == f"1\n755\n{leads}\n"
    assert two.post(f"{SPACES}/origin/checkpoints", {"name": "more"}).status == 201
    assert two.post(f"{SPACES}/origin/undo", {"to": "mine"}).status == 200
    assert two.sh("origin", "stat -c %a s/points s/w; cat s/last") == "500\n500\n1\n"


def test_one_who_moves_folders_away_meanwhile_leads_it_nowhere(pair):
    """A run has the workspace too, does not stand still, and puts a link in place of a folder again and again."""
    two = pair("mkdir d; i=0; while [ $i -lt 200 ]; do echo 1 >d/f$i; i=$((i+1)); done; echo 1 >d/last; mkdir d/points d/1; echo 1 >d/points/x")
    assert two.post(f"{SPACES}/origin/checkpoints", {"name": "mine"}).status == 201
    two.sh("fork", "for f in d/f*; do echo 2 >$f; done; rm -r d/points d/1; echo 2 >d/points; echo 2 >d/1")
    race = "end=$(($(date +%s)+6)); while [ $(date +%s) -lt $end ]; do mv d e && ln -s ../points d; rm d; mv e d; mv d e && ln -s .. d; rm d; mv e d; done"
    with concurrent.futures.ThreadPoolExecutor() as pool:
        racing = pool.submit(two.post, "/v1/run", {"command": race, "workspace": {"name": "origin"}})
        told = [two.post(f"{SPACES}/fork/apply", {"conflicts": "fork"}).status for _ in range(3)]
        assert racing.result().status == 200
    assert set(told) <= {200, 409}
    points = two.server.get(f"{SPACES}/origin/checkpoints", key=two.key).json["checkpoints"]
    assert "mine" in [one["name"] for one in points]
    assert two.post(f"{SPACES}/origin/undo", {"to": "mine"}).status == 200
    assert two.sh("origin", "cat d/* 2>/dev/null | sort | uniq -c | tr -s ' '; cat d/points/x") == " 201 1\n1\n"


MANY = "i=0; while [ $i -lt 1500 ]; do echo {} >f$i; i=$((i+1)); done"


def test_one_thing_at_a_time_changes_a_workspace_and_the_others_wait_for_their_turn(pair):
    """Three forks are applied at once, while checkpoints are made: each of these has all of a fork's files or none."""
    two = pair("true")
    names = ["fork", "second", "third"]
    for name in names[1:]:
        assert two.post(f"{SPACES}/origin/fork", {"name": name}).status == 201
    for name in names:
        two.sh(name, f"mkdir {name}; i=0; while [ $i -lt 300 ]; do echo {name} >{name}/$i; i=$((i+1)); done")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        done = [pool.submit(two.post, f"{SPACES}/{name}/apply", {}) for name in names]
        kept = [pool.submit(two.post, f"{SPACES}/origin/checkpoints", {}) for _ in range(4)]
    for one in done:
        assert one.result().status == 200 and one.result().json["added"] == 301, one.result().body
    numbers = [one.result().json["number"] for one in kept] + [one.result().json["checkpoint"] for one in done]
    assert len(set(numbers)) == 7
    for number in numbers:
        assert two.post(f"{SPACES}/origin/undo", {"to": str(number)}).status == 200
        assert set(two.sh("origin", "for d in *; do [ ! -d $d ] || ls $d | wc -l; done").split()) <= {"300"}


def test_who_goes_leaves_its_turn(pair):
    two = pair(MANY.format("one"))
    two.sh("fork", MANY.format("two"))
    box = two.post(BOXES, {"workspace": {"name": "origin"}}).json["id"]
    for _ in range(2):
        with pytest.raises(TimeoutError):
            two.server.post(f"{SPACES}/fork/apply", {}, key=two.key, timeout=0.2)
    assert eventually(lambda: two.server.get(f"{BOXES}/{box}", key=two.key).json["state"] == "running")
    assert two.post(f"{BOXES}/{box}/checkpoints", {}).status == 201
    two.server.delete(f"{BOXES}/{box}", key=two.key)


def test_killed_in_the_middle_it_leaves_the_way_back(pair):
    """The front is killed, and with it the box that is at work."""
    two = pair(MANY.format("one"))
    two.sh("fork", MANY.format("two"))

    def points():
        return two.server.get(f"{SPACES}/origin/checkpoints", key=two.key).json["checkpoints"]

    def apply():
        with contextlib.suppress(OSError, http.client.HTTPException):
            return two.post(f"{SPACES}/fork/apply", {})

    with concurrent.futures.ThreadPoolExecutor() as pool:
        done = pool.submit(apply)
        assert eventually(lambda: done.done() or points(), 60, 0)
        for pid in two.server.children()["ringfort-front"]:
            os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: can(two.server), 20)
    kept = points()[0]["number"]
    assert two.post(f"{SPACES}/origin/undo", {"to": str(kept)}).status == 200
    assert two.sh("origin", "cat f* | sort | uniq -c | tr -s ' '") == " 1500 one\n"
    assert two.apply()["modified"] == 1500
    assert two.sh("origin", "cat f* | sort | uniq -c | tr -s ' '") == " 1500 two\n"


def test_killed_in_the_middle_it_leaves_no_sandbox_that_stands_still(pair):
    """But who was paused before or meanwhile is."""
    two = pair(MANY.format("one"))
    two.sh("fork", MANY.format("two"))
    moves, paused, later = (two.post(BOXES, {"workspace": {"name": "origin"}, "timeout": 300}).json["id"] for _ in range(3))
    two.post(f"{BOXES}/{paused}/pause", None)

    def state(box):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return two.server.get(f"{BOXES}/{box}", key=two.key).json.get("state")

    def apply():
        with contextlib.suppress(OSError, http.client.HTTPException):
            return two.post(f"{SPACES}/fork/apply", {})

    with concurrent.futures.ThreadPoolExecutor() as pool:
        done = pool.submit(apply)
        assert eventually(lambda: done.done() or (state(moves), state(later)) == ("paused", "paused"), 60, 0)
        two.post(f"{BOXES}/{later}/pause", None)
        for pid in two.server.children()["ringfort-front"]:
            os.kill(pid, signal.SIGKILL)
    assert done.result() is None, "it was over before"
    assert eventually(lambda: can(two.server), 20)
    assert eventually(lambda: state(moves) == "running", 20)
    assert (state(paused), state(later)) == ("paused", "paused")
    for box in (moves, paused, later):
        two.server.delete(f"{BOXES}/{box}", key=two.key)


def laid_aside(two):
    """What an apply has in the trees besides files and checkpoints."""
    all_of = two.server.state / "tenants" / ("t-" + two.server.get("/v1/key", key=two.key).json["tenant"])
    found = [path.parent.parent.name + "/" + path.name for path in all_of.glob("*/tree/*")]
    return sorted(one for one in found if one.split("/")[1] not in ("files", "points", "base", "last"))


def test_what_was_sent_later_is_not_settled_by_what_was_applied_before(pair):
    """One waits for its turn; meanwhile the fork is changed and sent once more, for nothing but a look."""
    two = pair(MANY.format("one"))
    two.sh("fork", "echo early >early")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        kept = [pool.submit(two.post, f"{SPACES}/origin/checkpoints", {}) for _ in range(5)]
        first = pool.submit(two.post, f"{SPACES}/fork/apply", {})
        assert eventually(lambda: any("origin/in-" in one for one in laid_aside(two)), 60, 0)
        two.sh("fork", "echo late >late")
        second = pool.submit(two.post, f"{SPACES}/fork/apply", {"dry_run": True})
        assert eventually(lambda: second.done() or sum("origin/in-" in one for one in laid_aside(two)) == 2, 60, 0)
        assert not first.done(), "the turn was not held for long enough"
    assert {one.result().status for one in (*kept, first, second)} <= {200, 201}
    assert changes(first.result().json) == {"early": "added"}
    assert changes(two.apply()) == {"late": "added"}
    assert two.sh("origin", "cat early late") == "early\nlate\n"


def test_nothing_is_laid_aside_for_an_apply_that_is_over(pair):
    two = pair("echo 1 >a; echo 1 >b")
    two.sh("fork", "echo F >a")
    two.sh("origin", "echo O >a")
    two.apply(dry_run=True)
    two.apply(409)
    assert eventually(lambda: laid_aside(two) == []), laid_aside(two)
    two.sh("origin", "chmod 0 b")  # the second half fails
    two.apply(409, conflicts="fork")
    assert eventually(lambda: laid_aside(two) == []), laid_aside(two)
    two.sh("origin", "chmod 644 b")
    two.sh("fork", "chmod 0 b")  # the first does
    two.apply(409, conflicts="fork")
    assert eventually(lambda: laid_aside(two) == []), laid_aside(two)
    two.sh("fork", "chmod 644 b; " + MANY.format("two"))
    for wait in (0.2, 0.5, 1):  # and somebody goes
        with contextlib.suppress(TimeoutError):
            two.server.post(f"{SPACES}/fork/apply", {"conflicts": "fork"}, key=two.key, timeout=wait)
    assert eventually(lambda: laid_aside(two) == [], 30), laid_aside(two)
    two.apply(conflicts="fork")
    assert laid_aside(two) == []


def test_room_is_asked_for_before_a_copy_is_made(pair):
    two = pair("true")
    two.sh("fork", "head -c 3000000 /dev/urandom >big")
    tenant = two.server.get("/v1/key", key=two.key).json["tenant"]
    small = two.server.make_key("--tenant", tenant, "--storage", "4M")
    refused = two.server.post(f"{SPACES}/fork/apply", {}, key=small, timeout=60)
    assert refused.status == 429, refused.body
    assert laid_aside(two) == []


def can(server):
    with contextlib.suppress(OSError, http.client.HTTPException):
        return server.get("/v1/ready").status == 200
    return False


def test_what_acts_later_is_told_apart(pair):
    two = pair()
    two.sh("fork", "mkdir -p .git/hooks; echo x >.git/hooks/pre-push; echo x >plain")
    told = {one["path"]: one["protected"] for one in two.apply()["changes"]}
    assert told[".git/hooks/pre-push"] == "git hook" and told["plain"] is None


# --- a model ---

NAMES = ["a", "b", "c", "a/b", "a/c", "b/a", "b/c/d", "c/x-y", "c/x/y", "a b", "c/\n", "a/points", "a/last"]
LINKS = ["->.", "->..", "->../points", "->b"]


def random_tree(rng, tree):
    """Some changes of {path: content}; a path that has others beneath it is a folder, and none of its own."""
    tree = dict(tree)
    for _ in range(rng.randrange(1, 6)):
        path = rng.choice(NAMES)
        if rng.random() < 0.35:
            tree = {one: text for one, text in tree.items() if one != path and not one.startswith(path + "/")}
        else:
            over = ["/".join(path.split("/")[:i]) for i in range(1, path.count("/") + 1)]
            tree = {one: text for one, text in tree.items() if one not in over and not one.startswith(path + "/")}
            tree[path] = rng.choice(["0", "1", "2", *LINKS])
    return tree


def write(tree):
    words = json.dumps(sorted(tree.items()))
    return {"code": "import json, os, shutil, sys\n"
                    "for name in os.listdir('/work'):\n"
                    "    path = '/work/' + name\n"
                    "    shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)\n"
                    "for path, text in json.loads(os.environ['TREE']):\n"
                    "    os.makedirs(os.path.dirname('/work/' + path), exist_ok=True)\n"
                    "    os.symlink(text[2:], '/work/' + path) if text[:2] == '->' else open('/work/' + path, 'w').write(text)\n", "language": "python", "env": {"TREE": words}}


READ = ("import json, os\nfound = {}\nfor top, folders, files in os.walk('/work'):\n"
        "    for name in folders + files:\n        path = os.path.join(top, name)\n"
        "        if os.path.islink(path):\n            found[path[6:]] = '->' + os.readlink(path)\n"
        "        elif name in files:\n            found[path[6:]] = open(path).read()\nprint(json.dumps(found))")


@pytest.mark.parametrize("seed", range(int(os.environ.get("APPLY_SEEDS", "6"))))
def test_random_changes_come_to_what_a_model_says(pair, seed):
    rng = random.Random(seed)
    two = pair("true")

    def put(where, tree):
        done = two.post("/v1/run", {**write(tree), "workspace": {"name": where}})
        assert done.json["exit_code"] == 0, done.body

    def get(where):
        return json.loads(two.post("/v1/run", {"code": READ, "language": "python", "workspace": {"name": where}}).json["stdout"])

    base = random_tree(rng, random_tree(rng, {}))
    fork, origin = random_tree(rng, base), random_tree(rng, base)
    put("origin", base)
    assert two.server.delete(f"{SPACES}/fork", key=two.key).status == 204
    assert two.post(f"{SPACES}/origin/fork", {"name": "fork"}).status == 201
    put("fork", fork)
    assert two.post(f"{SPACES}/origin/checkpoints", {"name": "first"}).status == 201
    put("origin", origin)
    told = two.apply(dry_run=True)
    assert get("origin") == origin
    done = two.post(f"{SPACES}/fork/apply", {})
    wanted, clash = dict(origin), False
    for path in set(base) | set(fork):
        if base.get(path) == fork.get(path) or fork.get(path) == origin.get(path):
            continue
        clash |= base.get(path) != origin.get(path)
        if path in fork:
            wanted[path] = fork[path]
        else:
            wanted.pop(path, None)
    if clash:
        assert done.status == 409, (seed, base, fork, origin, done.body)
    if done.status == 409:
        assert told["conflicts"] == done.json["conflicts"] and get("origin") == origin
        # Where nothing else clashes, the two can't stand beside each other: a file is where a folder would be.
        assert clash or any(one.startswith(two_ + "/") for one in wanted for two_ in wanted) or done.json["conflicts"]
        done = two.post(f"{SPACES}/fork/apply", {"conflicts": "fork"})
        assert done.status == 200, done.body
        got = get("origin")
        for path in fork:
            assert fork[path] == base.get(path) or got.get(path) == fork[path], (seed, path, base, fork, origin, got)
    else:
        assert done.status == 200 and get("origin") == wanted, (seed, base, fork, origin)
    point = done.json["checkpoint"]
    if point:
        two.post(f"{SPACES}/origin/undo", {"to": str(point)})
        assert get("origin") == origin
    two.post(f"{SPACES}/origin/undo", {"to": "first"})
    assert get("origin") == base
