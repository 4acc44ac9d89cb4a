"""Shadow runs: what a program changed counts once it is verified, all of it or nothing, as root and as an ordinary user."""
import json
import os
import pathlib
import pty
import random
import select
import shutil
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from sampling import often  # noqa: E402
import watchers  # noqa: E402 # a place with a state folder of its own

pytestmark = pytest.mark.usefixtures("as_who")
KILLS = int(os.environ.get("RF_SHADOW_KILLS", often(12)))  # 200 for the whole of it
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture
def post(ringfort, public, who, request):
    folder = public / f"shadow-{abs(hash(request.node.name)) % 10**8}"
    with watchers.Post(ringfort, who, folder) as place:
        yield place
    shutil.rmtree(folder, ignore_errors=True)


def own(path, who):
    if watchers.IS_ROOT and who == "user":
        subprocess.run(["chown", "-R", f"{watchers.USER_ID}:{watchers.USER_ID}", path], check=True)


@pytest.fixture
def tree(post, who):
    top = post.top / "tree"
    (top / "src").mkdir(parents=True)
    (top / "src/main.c").write_text("int main;\n")
    (top / "README").write_text("read me\n")
    own(top, who)
    return top


def picture(top):
    seen = {}
    for path in sorted([top, *top.rglob("*")]):
        st = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        seen[str(path.relative_to(top))] = (st.st_mode, st.st_uid, st.st_gid, content)
    return seen


def shadow(post, tree, script, *options):
    return post.run("shadow", "--workspace", tree, *options, "--", "sh", "-c", script)


def shadow_json(post, tree, script, *options):
    done = shadow(post, tree, script, "--json", *options)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def state(post):
    return pathlib.Path(f"/proc/self/fd/{post.root}/var/lib/ringfort" if post.is_room else post.top / "state/ringfort")


def left(post):
    """What there is of layers and workspaces."""
    folders = [state(post) / "layers/all", state(post) / "workspaces"]
    return sorted(path.name for folder in folders if folder.exists() for path in folder.iterdir())


def test_what_is_verified_is_applied_and_can_be_taken_back(post, tree):
    before = picture(tree)
    done = shadow(post, tree, "echo fixed > src/main.c; rm README; echo new > new", "--verify", "grep -q fixed src/main.c && test ! -e README",
                  "--verify", "cat new; echo left > by-the-verification; echo spoilt > new")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "new\n" and "changed    src/main.c" in done.stderr and "deleted    README" in done.stderr
    assert {str(path.relative_to(tree)) for path in tree.rglob("*")} == {"src", "src/main.c", "new"}
    assert (tree / "src/main.c").read_text() == "fixed\n" and (tree / "new").read_text() == "new\n"
    assert "undo -w shadow-1" in done.stderr
    assert post.run("gc").returncode == 0
    assert post.run("undo", "-w", "shadow-1").returncode == 0
    assert picture(tree) == before
    assert post.run("gc").returncode == 0
    assert left(post) == []


def test_a_program_that_fails_changes_nothing(post, tree):
    before = picture(tree)
    code, told = shadow_json(post, tree, "echo bad > README; exit 7", "--verify", "echo never")
    assert (code, told["verdict"], told["run"]["exit_code"]) == (1, "discarded", 7)
    assert told["verify"] == [{"command": "echo never", "passed": False, "result": None}]
    assert "exit code 7" in told["reason"] and told["workspace"] is None
    assert picture(tree) == before and left(post) == []


def test_what_is_not_verified_changes_nothing(post, tree):
    before = picture(tree)
    code, told = shadow_json(post, tree, "echo bad > README", "--verify", "true", "--verify", "echo no; exit 3", "--verify", "true")
    assert (code, told["verdict"]) == (2, "discarded")
    assert [row["passed"] for row in told["verify"]] == [True, False, False]
    assert told["verify"][1]["result"]["stdout"] == "no\n" and told["verify"][2]["result"] is None
    assert [row["path"] for row in told["changes"]] == ["README"]
    assert "exit code 3" in told["reason"]
    assert picture(tree) == before and left(post) == []


def test_each_verification_sees_the_result_alone(post, tree):
    code, told = shadow_json(post, tree, "echo one > made", "--verify", "echo two > made; echo x > trace",
                             "--verify", "cat made; ls; cat; mkdir -p src/deep")
    assert code == 0 and told["verify"][1]["result"]["stdout"] == "one\nREADME\nmade\nsrc\n"
    assert (tree / "made").read_text() == "one\n" and not (tree / "trace").exists() and not (tree / "src/deep").exists()


def test_a_verification_can_write_nowhere_else(post, tree, who):
    other = post.top / "other"
    other.mkdir()
    own(other, who)
    code, told = shadow_json(post, tree, f"echo run > {other}/run; echo x > x", "--write", other, "--verify",
                             f"cat {other}/run; ! touch {other}/verify; ! rm {other}/run")
    assert code == 0, told
    assert told["verify"][0]["result"]["stdout"] == "run\n"
    assert sorted(path.name for path in other.iterdir()) == ["run"]


def test_what_would_get_past_the_layer_is_refused(post, tree):
    done = shadow(post, tree, "true", "--write", tree / "src", "--verify", "true")
    assert done.returncode == 125 and "verified or not" in done.stderr and "hint" in done.stderr, done.stderr


def test_what_acts_later_is_refused_unless_it_is_named(post, tree):
    before = picture(tree)
    script = "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; echo y > .envrc; echo z > plain"
    code, told = shadow_json(post, tree, script, "--verify", "true")
    assert (code, told["verdict"], told["verify"][0]["passed"]) == (3, "refused", True)
    assert {row["path"]: row["protected"] for row in told["changes"]}[".git/hooks/pre-commit"] == "git hook"
    assert picture(tree) == before and left(post) == []
    code, told = shadow_json(post, tree, script, "--verify", "true", "--allow", ".envrc")
    assert (code, told["verdict"]) == (3, "refused") and "--allow" in told["remedy"] and picture(tree) == before
    code, told = shadow_json(post, tree, script, "--verify", "true", "--allow", ".envrc", "--allow", "./.git/hooks/pre-commit")
    assert (code, told["verdict"]) == (0, "applied"), told
    assert (tree / ".git/hooks/pre-commit").exists() and (tree / ".envrc").exists() and (tree / "plain").exists()


def test_naming_a_folder_is_not_enough(post, tree):
    code, told = shadow_json(post, tree, "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit", "--verify", "true", "--allow", ".git")
    assert (code, told["verdict"]) == (3, "refused") and not (tree / ".git").exists()


def test_a_repository_that_is_called_otherwise_is_one(post, tree, who):
    subprocess.run(["git", "init", "-q", "--bare", tree / ".bare"], check=True)
    (tree / ".git").write_text("gitdir: ./.bare\n")
    own(tree, who)
    before = picture(tree)
    script = "printf '[core]\\n\\tfsmonitor = \"touch /tmp/x; false\"\\n' >> .bare/config"
    code, told = shadow_json(post, tree, script, "--verify", "true")
    assert (code, told["verdict"]) == (3, "refused") and picture(tree) == before
    assert {row["path"]: row["protected"] for row in told["changes"]} == {".bare/config": "git settings"}
    code, told = shadow_json(post, tree, script, "--verify", "true", "--allow", ".bare/config")
    assert (code, told["verdict"]) == (0, "applied")


def test_what_can_not_be_applied_is_refused_as_a_whole(post, tree):
    before = picture(tree)
    code, told = shadow_json(post, tree, "mkfifo pipe; echo x > README", "--verify", "test -p pipe")
    assert (code, told["verdict"]) == (3, "refused"), told
    assert {row["path"]: row["obstacle"] for row in told["changes"]} == {"README": None, "pipe": "is no file, folder or link"}
    assert picture(tree) == before and left(post) == []


@pytest.mark.parametrize("meanwhile", [
    lambda tree: (tree / "README").write_text("mine\n"),
    lambda tree: (tree / "README").unlink(),
    lambda tree: (tree / "new").write_text("mine\n"),
    lambda tree: (tree / "touched").write_text("mine\n"),
    lambda tree: shutil.rmtree(tree / "src"),
], ids=["changed", "deleted", "made", "touched by both", "a folder deleted"])
def test_what_somebody_changed_meanwhile_stays(post, tree, who, meanwhile):
    (tree / "touched").write_text("touched\n")
    own(tree, who)
    script = "echo theirs > README; echo theirs > new; printf 'touched\\n' > touched; echo theirs > src/main.c"
    with post.start("shadow", "--json", "--workspace", tree, "--verify", "echo ready; sleep 2", "--", "sh", "-c", script) as run:
        # The verification runs when a second layer is there.
        for _ in range(500):
            if len(left(post)) == 2:
                break
            time.sleep(0.01)
        time.sleep(0.3)
        meanwhile(tree)
        after = picture(tree)
        told = json.loads(run.communicate(timeout=60)[0])
    assert (run.returncode, told["verdict"]) == (3, "refused"), told
    assert picture(tree) == after and left(post) == []


def test_nothing_changed_is_nothing_to_apply(post, tree):
    before = picture(tree)
    code, told = shadow_json(post, tree, "touch README", "--verify", "true")
    assert (code, told["verdict"], told["changes"], told["workspace"]) == (0, "applied", [], None)
    assert picture(tree) == before and left(post) == []


@pytest.mark.parametrize("options, word", [
    (["--workspace", "TREE"], "nothing would verify"),
    (["--verify", "true"], "no directory to work on"),
    (["--workspace", "TREE/none", "--verify", "true"], "No such file"),
    (["--workspace", "name", "--verify", "true"], "No such file"),
    (["--workspace", "TREE", "--verify", ""], "--verify is empty"),
    (["--workspace", "TREE", "--verify", "true", "--ask"], "no terminal"),
    (["--workspace", "TREE", "--verify", "true", "-t"], "no option"),
])
def test_what_is_wrong_is_said_before_anything_runs(post, tree, options, word):
    post.run("create", "--name", "name", "--workspace", tree)
    options = [word.replace("TREE", str(tree)) for word in options]
    done = post.run("shadow", *options, "--", "echo", "it ran")
    assert done.returncode == 125 and word in done.stderr and "hint" in done.stderr, done.stderr
    assert "it ran" not in done.stdout
    told = json.loads(post.run("shadow", "--json", *options, "--", "true").stdout)
    assert told["verdict"] == "discarded" and told["run"] is None and word in told["reason"]


def test_a_program_that_is_not_there(post, tree):
    done = post.run("shadow", "--workspace", tree, "--verify", "true", "--", "no-such-program")
    assert done.returncode == 127 and left(post) == []


def test_who_is_interrupted_discards_even_if_the_program_ends_well(post, tree):
    before = picture(tree)
    script = "trap 'exit 0' INT; echo x > README; echo ready; while :; do sleep 0.05; done"
    with post.start("shadow", "--workspace", tree, "--verify", "true", "--", "sh", "-c", script) as run:
        assert run.stdout.readline() == b"ready\n"
        run.send_signal(signal.SIGINT)
        said = run.communicate(timeout=60)[1]
    assert run.returncode == 1 and b"interrupted" in said, said
    assert picture(tree) == before and left(post) == []


class Terminal:
    """A shadow run on a terminal of its own."""

    def __init__(self, post, *args):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([*post.before, "setsid", "-c", "-w", post.ringfort, "shadow", *map(os.fspath, args)], cwd="/",
                                        env=post.env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.seen = b""

    def wait_for(self, word, seconds=30):
        end = time.monotonic() + seconds
        while word not in self.seen:
            assert time.monotonic() < end, self.seen
            if select.select([self.master], [], [], 0.1)[0]:
                self.seen += os.read(self.master, 4096)

    def type(self, text):
        os.write(self.master, text)

    def close(self):
        try:
            while select.select([self.master], [], [], 30)[0]:
                self.seen += os.read(self.master, 4096)
        except OSError:
            pass  # it is gone
        code = self.process.wait(30)
        os.close(self.master)
        return code


@pytest.mark.parametrize("answer, code", [(b"y\n", 0), (b"YES\n", 0), (b"n\n", 4), (b"\n", 4), (b"yesno\n", 4), (b"\x04", 4), (b"\x03", 4)])
def test_who_asks_is_answered(post, tree, answer, code):
    before = picture(tree)
    there = Terminal(post, "--workspace", tree, "--ask", "--verify", "true", "--", "sh", "-c", "echo x > README; printf '\\033[2Jgone\\n'")
    there.wait_for(b"[y/N]")
    assert b"changed    README" in there.seen and b"\x1b[2J" not in there.seen
    there.type(answer)
    assert there.close() == code, there.seen
    assert (picture(tree) == before) == (code == 4)
    assert bool(left(post)) == (code == 0)


def test_what_was_typed_before_the_question_is_no_answer(post, tree):
    before = picture(tree)
    there = Terminal(post, "--workspace", tree, "--ask", "--", "sh", "-c", "echo ready; sleep 1; echo x > README")
    there.wait_for(b"ready")
    there.type(b"y\ny\ny\n")
    there.wait_for(b"[y/N]")
    time.sleep(0.3)
    assert there.process.poll() is None, there.seen
    there.type(b"n\n")
    assert there.close() == 4
    assert picture(tree) == before


def test_it_does_not_ask_about_what_it_would_refuse(post, tree):
    there = Terminal(post, "--workspace", tree, "--ask", "--", "sh", "-c", "echo x > .envrc")
    assert there.close() == 3 and b"[y/N]" not in there.seen
    assert not (tree / ".envrc").exists()


def test_an_apply_that_was_broken_off_comes_first(post, tree):
    post.run("create", "--name", "other", "--workspace", tree)
    post.run("exec", "other", "--", "sh", "-c", "echo 1 > one")
    assert post.run("apply", "-w", "other").returncode == 0
    ledger = state(post) / "workspaces/other/ledger.json"
    ledger.write_text(ledger.read_text().replace('"applying": 0', '"applying": 1'))
    done = shadow(post, tree, "echo it ran", "--verify", "true")
    assert done.returncode == 125 and "undo -w other" in done.stderr and "it ran" not in done.stdout
    assert post.run("apply", "-w", "other").returncode == 0
    assert shadow(post, tree, "echo 2 > two", "--verify", "true").returncode == 0


def test_the_newest_few_can_be_taken_back(post, tree):
    for number in range(10):
        assert shadow(post, tree, f"echo {number} > file; echo {number} > f{number}", "--verify", "true").returncode == 0
    names = sorted((path.name for path in (state(post) / "workspaces").iterdir()), key=lambda name: int(name[7:]))
    assert names == [f"shadow-{number}" for number in range(3, 11)]
    for name in reversed(names):
        assert post.run("undo", "-w", name).returncode == 0
    assert (tree / "file").read_text() == "1\n" and not (tree / "f2").exists() and (tree / "f1").exists()


def test_the_directory_itself_says_which_is_meant(post, tree):
    """Ten come after nine; and a workspace that somebody made goes first."""
    for number in range(10):
        assert shadow(post, tree, f"echo {number} > f{number}", "--verify", "true").returncode == 0
    here = ["sh", "-c", f'cd {tree} && exec "$@"', "sh"]
    assert post.run("undo", wrap=here).returncode == 0
    assert not (tree / "f9").exists() and (tree / "f8").exists()
    post.run("create", "--name", "mine", "--workspace", tree)
    assert json.loads(post.run("log", "--json", wrap=here).stdout)["name"] == "mine"


def test_what_somebody_goes_on_with_is_not_swept(post, tree):
    assert shadow(post, tree, "echo 1 > one", "--verify", "true").returncode == 0
    assert post.run("exec", "shadow-1", "--", "sh", "-c", "echo 2 > two").returncode == 0
    assert post.run("fork", "-w", "shadow-1", "mine").returncode == 0
    post.run("undo", "-w", "shadow-1")
    assert post.run("gc").returncode == 0
    assert "mine" in left(post) and "shadow-1" in left(post)


def test_both_runs_are_recorded_for_the_agent(post, tree):
    post.stand()
    assert shadow(post, tree, "echo 1 > one", "--verify", "test -e one", "--agent", "fixer").returncode == 0
    started = [event for event in post.events("--kind", "run") if event["kind"] == "run.started"]
    assert [event["agent"] for event in started] == ["fixer", "fixer"]
    assert shadow(post, tree, "echo 2 > two", "--verify", "false", "--agent", "fixer").returncode == 2
    told = [(event["agent"], event["by"], event["verdict"], event.get("added")) for event in post.events("--kind", "apply")]
    assert told == [("fixer", "shadow", "applied", 1), ("fixer", "shadow", "discarded", None)]


def test_the_document_is_what_its_schema_says(post, tree):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((DOCS / "shadow.schema.json").read_text())
    result = json.loads((DOCS / "result.schema.json").read_text())
    schema["$defs"] = {**result.get("$defs", {}), "result": {key: value for key, value in result.items() if key not in ("$schema", "$id", "$defs")}}
    schema = json.loads(json.dumps(schema).replace("result.schema.json", "#/$defs/result"))
    for script, options in [("echo 1 > one", ["--verify", "true"]), ("exit 1", ["--verify", "true"]), ("echo 1 > .envrc", ["--verify", "true"]), ("", [])]:
        jsonschema.validate(shadow_json(post, tree, script, *options)[1], schema)


def test_killed_at_any_moment_it_is_one_or_the_other(post, tree, who):
    for number in range(150):
        (tree / f"file{number}").write_text(f"old {number}\n")
    own(tree, who)
    before = picture(tree)
    script = "for f in file*; do echo new > $f; done; rm README; mkdir made; echo x > made/x"
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    started = time.monotonic()
    assert shadow(post, tree, script, "--verify", "test -e made/x").returncode == 0
    whole = time.monotonic() - started
    after = picture(tree)
    assert post.run("undo", "-w", "shadow-1").returncode == 0 and picture(tree) == before
    seen = {"discarded": 0, "applied": 0, "broken": 0}
    for round_ in range(KILLS):
        with post.start("shadow", "--workspace", tree, "--verify", "test -e made/x", "--", "sh", "-c", script) as run:
            # Half of them where it is applied.
            time.sleep(whole * (chance.uniform(0, 1.1) if round_ % 2 else chance.uniform(0.75, 1.05)))
            run.kill()
            run.communicate()
        for _ in range(100):  # who cleans up after the launcher holds the layer for a moment
            assert post.run("gc").returncode == 0
            names = [name for name in left(post) if not name.startswith("shadow-")]
            shadows = [name for name in left(post) if name.startswith("shadow-")]
            if shadows or not names:
                break
            time.sleep(0.05)
        what = f"seed {seed}, round {round_}: {shadows} {names}"
        if not shadows:
            assert picture(tree) == before and not names, what
            seen["discarded"] += 1
            continue
        assert len(shadows) == 1, what
        is_broken = '"applying": 1' in (state(post) / "workspaces" / shadows[0] / "ledger.json").read_text()
        seen["broken" if is_broken else "applied"] += 1
        if is_broken and round_ % 3 == 0:
            done = post.run("apply", "-w", shadows[0])
            assert done.returncode == 0 and picture(tree) == after, what + done.stderr
        elif not is_broken:
            assert picture(tree) == after, what
        done = post.run("undo", "-w", shadows[0])
        assert done.returncode == 0 and picture(tree) == before, what + done.stderr
        assert post.run("gc").returncode == 0 and left(post) == [], what
    print(f"seed {seed}: {seen}")


def test_a_name_that_is_no_text_is_told_exactly(post, tree):
    _, report = shadow_json(post, tree, "printf x > \"$(printf 'n\\377')\"", "--verify", "true")
    row, = [row for row in report["changes"] if row["path"].startswith("n")]
    assert row["path_base64"] == "bv8="
