"""Agents: each has a policy and a workspace of its own, and none sees another's, as root and as an ordinary user."""
import json
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import watchers  # noqa: E402 # a place with a state folder of its own

pytestmark = pytest.mark.usefixtures("as_who")
SECRET = "secret-of-the-first-agent"


@pytest.fixture
def post(ringfort, public, who, request):
    folder = public / f"agent-{abs(hash(request.node.name)) % 10**8}"
    with watchers.Post(ringfort, who, folder) as place:
        yield place
    shutil.rmtree(folder, ignore_errors=True)


def own(path, who):
    if watchers.IS_ROOT and who == "user":
        subprocess.run(["chown", "-R", f"{watchers.USER_ID}:{watchers.USER_ID}", path], check=True)


@pytest.fixture
def tree(post, who):
    top = post.top / "tree"
    top.mkdir()
    (top / "kept").write_text("kept\n")
    (post.top / "policy.yaml").write_text("limits: { memory: 100M, time: 20s }\nenv: { set: { WHO: agent } }\n")
    own(post.top, who)
    return top


def state(post):
    return pathlib.Path(f"/proc/self/fd/{post.root}/var/lib/ringfort" if post.is_room else post.top / "state/ringfort")


def make(post, tree, name, *options):
    done = post.run("agent", "create", name, "--policy", post.top / "policy.yaml", "--workspace", tree, *options)
    assert done.returncode == 0, done.stderr


def run_json(post, name, *words):
    done = post.run("agent", "run", "--json", name, "--", *words)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def left(post):
    folders = [state(post) / "layers/all", state(post) / "workspaces", state(post) / "agents"]
    return sorted(path.name for folder in folders if folder.exists() for path in folder.iterdir())


def test_an_agent_finds_what_it_did_before(post, tree):
    make(post, tree, "one")
    assert run_json(post, "one", "sh", "-c", "echo 1 > made; echo $WHO")["stdout"] == "agent\n"
    assert run_json(post, "one", "cat", "made", "kept")["stdout"] == "1\nkept\n"
    assert not (tree / "made").exists()
    shown = json.loads(post.run("agent", "show", "--json", "one").stdout)
    assert (shown["id"], shown["directory"], shown["points"], shown["head"]) == ("one", str(tree), 1, 1)
    assert shown["history"][0]["command"] == "sh -c echo 1 > made; echo $WHO" and shown["history"][0]["status"] == "ok"
    assert "100M" in shown["policy"] or "104857600" in shown["policy"]
    assert json.loads(post.run("log", "-w", "one", "--json").stdout)["points"][0]["agent"] == "one"
    assert post.run("apply", "-w", "one").returncode == 0 and (tree / "made").exists()


def test_its_policy_is_its_own(post, tree):
    make(post, tree, "one", "--pids", "32")
    (post.top / "policy.yaml").write_text("limits: { memory: 1G }\nenv: { set: { WHO: somebody } }\n")
    assert run_json(post, "one", "sh", "-c", "echo $WHO")["stdout"] == "agent\n"
    for option in (["--memory", "1G"], ["--net", "host"], ["--write", "/tmp"], ["--policy", post.top / "policy.yaml"],
                   ["--agent", "other"], ["--weaker", "allow"]):
        done = post.run("agent", "run", *option, "one", "--", "true")
        assert done.returncode == 125 and "no option" in done.stderr and "hint" in done.stderr, option
    result = run_json(post, "one", "python3", "-c", "b = bytearray(300 << 20)")
    assert result["status"] in ("memory", "failed") and result["exit_code"] != 0


def test_it_does_not_matter_where_it_is_started_from(post, tree, who):
    """Neither the current directory nor the caller's settings are the agent's."""
    elsewhere = post.top / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("x")
    settings = post.top / ".config/ringfort"
    settings.mkdir(parents=True)
    (settings / "config.yaml").write_text("policy: ./wide.yaml\n")
    (settings / "wide.yaml").write_text("env: { set: { WHO: caller } }\n")
    own(post.top, who)
    make(post, tree, "one", "--no-config")
    done = post.run("agent", "run", "one", "--", "sh", "-c", f"pwd; echo $WHO; ls {elsewhere}",
                    wrap=["sh", "-c", f'cd {elsewhere} && exec "$@"', "sh"])
    assert done.stdout == f"{tree}\nagent\n" and "file" not in done.stdout, done.stderr


ATTACK = r"""
import os, sys
secret, state = sys.argv[1].encode(), sys.argv[2]
seen = []
def look(path):
    try:
        with open(path, "rb") as file:
            if secret in file.read(1 << 20):
                seen.append(path)
    except OSError:
        pass
# By name: what the host knows them by, and what overlayfs says that it is made of.
for path in (state, state + "/layers", state + "/layers/all", state + "/workspaces/one", state + "/agents/one"):
    try:
        seen += [path + "/" + name for name in os.listdir(path)]
    except OSError:
        pass
with open("/proc/self/mountinfo") as mounts:
    for line in mounts:
        for word in line.replace(",", " ").replace(":", " ").replace("=", " ").split():
            if "/up" in word or "pool" in word:
                for way in (word, "/" + word, os.path.dirname(word)):
                    try:
                        seen += [way + "/" + name for name in os.listdir(way)]
                    except OSError:
                        pass
# By walking: all there is, through every root that a process shows.
for root in ["/"] + [f"/proc/{pid}/root" for pid in os.listdir("/proc") if pid.isdigit()] + [f"/proc/{pid}/cwd" for pid in os.listdir("/proc") if pid.isdigit()]:
    for top, folders, files in os.walk(root):
        if top.startswith(("/usr", "/proc", "/sys", "/dev", root + "/usr", root + "/proc")) and top != root:
            folders[:] = []
            continue
        for name in files:
            look(os.path.join(top, name))
print(*sorted(set(seen)), sep="\n")
"""


@pytest.mark.parametrize("shown", [[], ["--read", "TOP"], ["--read", "TOP:/shown"]], ids=["nothing else", "all of it", "elsewhere"])
def test_one_never_sees_what_the_other_did(post, tree, shown):
    """Over the same directory, one has written; the other looks everywhere, also where it is shown all that lies around it."""
    place = "/var/lib/ringfort" if post.is_room else str(state(post))
    around = str(pathlib.Path(place).parent)
    shown = [word.replace("TOP", around) for word in shown]
    make(post, tree, "one")
    made = post.run("agent", "create", "two", *shown, "--workspace", tree)
    assert made.returncode == 0, made.stderr
    assert run_json(post, "one", "sh", "-c", f"echo {SECRET} > made; echo {SECRET} >> kept; mkdir d; echo {SECRET} > d/e")["status"] == "ok"
    # The first one lives meanwhile.
    with post.start("agent", "run", "one", "--", "sh", "-c", f"echo {SECRET} > /tmp/own; echo ready; sleep 30") as living:
        assert living.stdout.readline() == b"ready\n"
        result = run_json(post, "two", "python3", "-c", ATTACK, SECRET, place)
        living.kill()
    if result["error"]:  # who is to be shown the folders of both is not started at all
        assert shown and "own state" in result["error"]["message"], result
        return
    assert (result["status"], result["stdout"].strip()) == ("ok", ""), result
    assert run_json(post, "two", "cat", "kept")["stdout"] == "kept\n"


def test_the_attack_finds_what_is_there(post, tree):
    """Its control: the agent itself finds its own."""
    make(post, tree, "one")
    result = run_json(post, "one", "sh", "-c", f"echo {SECRET} > made; python3 -c \"$0\" {SECRET} /nowhere", ATTACK)
    assert f"{tree}/made" in result["stdout"], result


def test_they_do_not_wait_for_each_other(post, tree):
    make(post, tree, "one")
    make(post, tree, "two")
    with post.start("agent", "run", "one", "--", "sh", "-c", "echo ready; sleep 30") as living:
        assert living.stdout.readline() == b"ready\n"
        assert run_json(post, "two", "true")["status"] == "ok"
        busy = post.run("agent", "rm", "one")
        assert busy.returncode == 125 and "a program runs in it" in busy.stderr
        living.kill()


def test_they_are_listed_and_removed(post, tree):
    for name in ("one", "two"):
        make(post, tree, name)
    run_json(post, "two", "sh", "-c", "echo 1 > made")
    listed = json.loads(post.run("agent", "ls", "--json").stdout)
    assert [(row["id"], row["points"]) for row in listed] == [("one", 0), ("two", 1)]
    assert post.run("agent", "ls").stdout.splitlines()[1].split()[:2] == ["two", "@1"]
    refused = post.run("rm", "one")
    assert refused.returncode == 125 and "agent rm one" in refused.stderr
    assert post.run("agent", "rm", "one", "two").returncode == 0
    assert left(post) == [] and (tree / "kept").exists()
    assert post.run("agent", "ls", "--json").stdout.split() == ["[]"]


def test_what_is_left_of_one_can_be_removed(post, tree):
    make(post, tree, "one")
    shutil.rmtree(state(post) / "workspaces/one")
    assert "gone" in post.run("agent", "ls").stdout
    done = post.run("agent", "run", "one", "--", "true")
    assert done.returncode == 125 and "no workspace `one`" in done.stderr
    assert post.run("agent", "rm", "one").returncode == 0 and left(post) == []


@pytest.mark.parametrize("args, word", [
    (["agent", "create"], "needs a name"),
    (["agent", "create", "../x"], "can't be a name"),
    (["agent", "create", "x", "y"], "no argument"),
    (["agent", "create", "taken"], "already"),
    (["agent", "create", "x", "--workspace", "/none"], "No such file"),
    (["agent", "create", "x", "--memory", "lots"], "lots"),
    (["agent", "create", "x", "--agent", "y", "--workspace", "TREE"], "names an agent"),
    (["agent", "run"], "no agent to run for"),
    (["agent", "run", "none", "--", "true"], "there is no agent"),
    (["agent", "run", "../../etc/passwd", "--", "true"], "there is no agent"),
    (["agent", "show"], "which agent"),
    (["agent", "show", "none"], "there is no agent"),
    (["agent", "rm"], "which agent"),
    (["agent", "rm", "none"], "there is no agent"),
    (["agent", "rm", ".."], "there is no agent"),
])
def test_what_is_wrong_is_said(post, tree, args, word):
    make(post, tree, "taken")
    before = left(post)
    done = post.run(*[arg.replace("TREE", str(tree)) for arg in args], wrap=["sh", "-c", f'cd {tree} && exec "$@"', "sh"])
    assert done.returncode in (1, 125) and word in done.stderr and "hint" in done.stderr, done.stderr
    assert left(post) == before


def test_a_workspace_of_that_name_is_nobodys_to_take(post, tree):
    post.run("create", "--name", "one", "--workspace", tree)
    done = post.run("agent", "create", "one", "--workspace", tree)
    assert done.returncode == 125 and "ringfort rm one" in done.stderr
    assert not (state(post) / "agents/one").exists()


def test_its_runs_are_recorded_under_its_name(post, tree):
    make(post, tree, "one")
    post.stand()
    assert run_json(post, "one", "true")["status"] == "ok"
    started = [event for event in post.events("--kind", "run", "--agent", "one") if event["kind"] == "run.started"]
    assert len(started) == 1 and started[0]["workspace"] == "one"
    assert post.run("breaker", "trip", "one").returncode == 0
    assert post.run("agent", "run", "one", "--", "true").returncode == 126
