"""What a workspace changed is written back to its directory: whole, atomically, undoably, and never against the user."""
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from sampling import often  # noqa: E402
import watchers  # noqa: E402 # a place with a state folder of its own

pytestmark = pytest.mark.usefixtures("as_who")
KILLS = int(os.environ.get("RF_APPLY_KILLS", often(12)))  # 200 for the whole of it
HISTORIES = int(os.environ.get("RF_HISTORIES", "6"))  # 1000 likewise

# Inside a box: does so many random things to the current directory.
RANDOM = r"""
import os, random, shutil, sys
r = random.Random(int(sys.argv[1]))
def all_of():
    return [os.path.join(p, n)[2:] for p, d, f in os.walk(".") for n in d + f]
def name():
    return r.choice(["a", "b", "c", "\u00e4 b", "x" * 100, "-rf", "n\nl"]) + str(r.randrange(4))
for _ in range(int(sys.argv[2])):
    have = all_of()
    folders = ["."] + [p for p in have if os.path.isdir(p) and not os.path.islink(p)]
    path = os.path.join(r.choice(folders), name())
    old = r.choice(have) if have else None
    try:
        what = r.randrange(9)
        if what < 3: open(path, "w").write(str(r.random()) * r.randrange(50))
        elif what == 3: os.mkdir(path)
        elif what == 4: os.symlink(r.choice(["/etc/passwd", "a0", "../.."]), path)
        elif what == 5 and old: os.remove(old) if not os.path.isdir(old) or os.path.islink(old) else shutil.rmtree(old)
        elif what == 6 and old and not os.path.islink(old): os.chmod(old, r.choice([0o755, 0o700, 0o744]))
        elif what == 7 and old: shutil.move(old, path)
        elif what == 8 and old and os.path.isfile(old) and not os.path.islink(old):
            with open(old, "r+") as f: f.seek(r.randrange(5000)); f.write("hole")
    except OSError:
        pass
"""
# Inside or outside: prints what there is.
PICTURE = r"""
import json, os, sys
seen = {}
for p, d, f in os.walk(sys.argv[1]):
    for n in d + f:
        at = os.path.join(p, n); st = os.lstat(at)
        what = os.readlink(at) if os.path.islink(at) else open(at, "rb").read().hex() if os.path.isfile(at) else ""
        seen[os.path.relpath(at, sys.argv[1])] = [st.st_mode if not os.path.islink(at) else 0, what]
print(json.dumps(seen, sort_keys=True))
"""


@pytest.fixture
def post(ringfort, public, who, request):
    folder = public / f"apply-{abs(hash(request.node.name)) % 10**8}"
    with watchers.Post(ringfort, who, folder) as place:
        yield place
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tree(post, who):
    top = post.top / "tree"
    (top / "src").mkdir(parents=True)
    (top / "src/main.c").write_text("int main;\n")
    (top / "README").write_text("read me\n")
    (top / "script").write_text("#!/bin/sh\n")
    own(top, who)
    return top


def own(top, who):
    if watchers.IS_ROOT and who == "user":
        subprocess.run(["chown", "-R", f"{watchers.USER_ID}:{watchers.USER_ID}", top], check=True)


def picture(top):
    done = subprocess.run(["/usr/bin/python3", "-c", PICTURE, top], capture_output=True, check=True)
    return json.loads(done.stdout)


def inside(post, name="fix"):
    done = post.run("exec", name, "--", "python3", "-c", PICTURE, ".")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def made(post, tree, *scripts):
    assert post.run("create", "--name", "fix", "--workspace", tree).returncode == 0
    for script in scripts:
        done = post.run("exec", "fix", "--", "sh", "-c", script)
        assert done.returncode == 0, done.stderr


def all_named(post):
    """Words that name each change that acts later, and everything else."""
    rows = json.loads(post.run("diff", "-w", "fix", "--json").stdout)
    return [word for path in [".", *(row["path"] for row in rows if row["protected"])] for word in ("--only", path)]


def test_what_is_applied_is_there_and_can_be_taken_back(post, tree):
    before = picture(tree)
    made(post, tree, "echo new > src/new.c; rm README; chmod 755 script; ln -s main.c src/link; mkdir d",
         "echo more >> src/new.c; rm -r d; echo file > d")
    wanted = inside(post)
    done = post.run("apply", "-w", "fix", *all_named(post))
    assert done.returncode == 0, done.stderr
    assert picture(tree) == wanted
    assert json.loads(post.run("diff", "-w", "fix", "--json").stdout) == []
    assert post.run("undo", "-w", "fix").returncode == 0
    assert picture(tree) == before
    assert inside(post) == wanted  # the workspace has it still
    assert post.run("undo", "-w", "fix").returncode == 0  # and now goes back a run
    assert (tree / "README").exists() and "README" not in inside(post)


def test_files_keep_their_owner_times_holes_and_attributes(post, tree, who):
    script = ("printf x | dd of=holes bs=1 seek=5000000 2>/dev/null; echo a > told; touch -d 2020-01-02 told; "
              "python3 -c 'import os; os.setxattr(\"told\", \"user.note\", b\"kept\")'")
    made(post, tree, script)
    assert post.run("apply", "-w", "fix").returncode == 0
    told, holes = (tree / "told").stat(), (tree / "holes").stat()
    assert told.st_uid == tree.stat().st_uid and told.st_mtime == 1577923200
    assert holes.st_size == 5000001 and holes.st_blocks * 512 < 1000000
    assert os.getxattr(tree / "told", "user.note") == b"kept"
    assert not [name for name in os.listxattr(tree / "told") if "overlay" in name]


@pytest.mark.parametrize("word", ["a/b", "a/b/", "./a/b", "././a/b//"])
def test_only_what_is_named(post, tree, word):
    made(post, tree, "mkdir -p a/b; echo 1 > a/b/one; echo 2 > a/two; echo 3 > three")
    assert post.run("apply", "-w", "fix", "--only", word).returncode == 0
    assert sorted(picture(tree)) == ["README", "a", "a/b", "a/b/one", "script", "src", "src/main.c"]
    assert post.run("apply", "-w", "fix").returncode == 0
    assert (tree / "three").exists() and (tree / "a/two").exists()


@pytest.mark.parametrize("name", [".git/hooks/pre-commit", ".vscode/tasks.json", ".envrc", ".mcp.json",
                                  ".github/workflows/ci.yml"])
def test_what_acts_later_has_to_be_named(post, tree, name):
    before = picture(tree)
    made(post, tree, f"mkdir -p $(dirname {name}); echo x > {name}; echo y > plain")
    done = post.run("apply", "-w", "fix")
    assert done.returncode == 125 and name in done.stdout and "act later" in done.stderr
    assert picture(tree) == before
    assert post.run("apply", "-w", "fix", "--only", "plain").returncode == 0
    assert not (tree / name).exists() and (tree / "plain").exists()
    folder = name.rpartition("/")[0]
    if folder:  # its folder does not name it
        assert post.run("apply", "-w", "fix", "--only", folder).returncode == 125
    assert post.run("apply", "-w", "fix", "--only", name).returncode == 0
    assert (tree / name).read_text() == "x\n"


def test_what_changed_beneath_is_a_conflict(post, tree, who):
    made(post, tree, "echo theirs > README; echo theirs > new; rm script")
    (tree / "README").write_text("ours\n")
    (tree / "new").write_text("ours\n")
    own(tree, who)
    before = picture(tree)
    done = post.run("apply", "-w", "fix", "--json")
    assert done.returncode == 125
    assert {row["path"]: row["became"] for row in json.loads(done.stdout)} == {
        "README": "conflict", "new": "conflict", "script": "made"}
    assert picture(tree) == before  # nothing was half done
    assert post.run("apply", "-w", "fix", "--ours").returncode == 0
    assert (tree / "README").read_text() == "ours\n" and not (tree / "script").exists()
    assert post.run("apply", "-w", "fix", "--theirs").returncode == 0
    assert (tree / "README").read_text() == "theirs\n"
    assert post.run("undo", "-w", "fix").returncode == 0
    assert (tree / "README").read_text() == "ours\n" and (tree / "new").read_text() == "ours\n"


def test_a_file_that_was_only_touched_beneath_is_no_conflict(post, tree):
    made(post, tree, "echo theirs > README")
    os.utime(tree / "README")
    (tree / "README").chmod(0o644)
    assert post.run("apply", "-w", "fix").returncode == 0


def test_what_changed_while_the_run_went_on_is_a_conflict(post, tree):
    post.run("create", "--name", "fix", "--workspace", tree)
    with post.start("exec", "fix", "--", "sh", "-c", "echo ready; read x; echo theirs > README",
                    stdin=subprocess.PIPE) as run:
        assert run.stdout.readline() == b"ready\n"
        (tree / "README").write_text("ours, meanwhile\n")
        run.communicate(b"go\n")
    assert post.run("apply", "-w", "fix").returncode == 125
    assert (tree / "README").read_text() == "ours, meanwhile\n"


def test_what_was_changed_after_an_apply_is_not_undone_over(post, tree):
    made(post, tree, "echo theirs > README")
    post.run("apply", "-w", "fix")
    (tree / "README").write_text("ours, afterwards\n")
    assert post.run("undo", "-w", "fix").returncode == 125
    assert (tree / "README").read_text() == "ours, afterwards\n"


def exec_(post, script, name="fix"):
    done = post.run("exec", name, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr


def test_what_an_earlier_run_hid_and_the_user_changed_is_a_conflict(post, tree, who):
    """A run that takes a file up and leaves it as it was hides what the user writes to it afterwards."""
    made(post, tree, "touch README; echo x > other; rm -rf src")
    with open(tree / "README", "a", encoding="utf-8") as file:
        file.write("ours\n")
    (tree / "src/new.c").write_text("ours\n")
    own(tree, who)
    exec_(post, "echo theirs >> README; mkdir src; echo theirs > src/new.c")
    done = post.run("apply", "-w", "fix")
    assert done.returncode == 125 and "README" in done.stdout and "src/new.c" in done.stdout
    assert "ours" in (tree / "README").read_text() and (tree / "src/new.c").read_text() == "ours\n"


def test_a_fork_knows_what_was_seen(post, tree, who):
    made(post, tree, "echo theirs >> README")
    assert post.run("fork", "-w", "fix", "other").returncode == 0
    (tree / "README").write_text("ours\n")
    own(tree, who)
    exec_(post, "echo more >> README", "other")
    assert post.run("apply", "-w", "other").returncode == 125
    assert (tree / "README").read_text() == "ours\n"


def test_what_lies_in_a_folder_that_is_not_made_is_not_made_either(post, tree, who):
    made(post, tree, "rm README; mkdir README; echo x > README/x; echo y > README-y")  # which sorts between the two
    (tree / "README").write_text("ours, and dear\n")
    own(tree, who)
    for _ in range(3):
        assert post.run("apply", "-w", "fix", "--ours").returncode == 0
        assert (tree / "README").read_text() == "ours, and dear\n"


def test_access_control_lists_are_kept_both_ways(post, tree, who, need):
    need("setfacl")
    subprocess.run(["setfacl", "-m", "u:2000:rw,g::---", tree / "README"], check=True)

    def rights():
        return subprocess.run(["getfacl", "-cn", "--absolute-names", tree / "README"], capture_output=True, check=True).stdout

    before = rights()
    # A name that root's box can't map, nor anybody's layer in memory: overlayfs does not take the file up, and it stays.
    post.run("create", "--name", "fix", "--workspace", tree)
    assert post.run("exec", "fix", "--", "sh", "-c", "echo more >> README").returncode != 0
    assert rights() == before
    if post.is_room:
        return
    done = post.run("exec", "--disk", "1G", "fix", "--", "sh", "-c", "echo more >> README")
    assert done.returncode == 0, done.stderr
    assert post.run("apply", "-w", "fix").returncode == 0 and (tree / "README").read_text().endswith("more\n")
    assert b"group::---" in rights() and rights() == before
    assert post.run("undo", "-w", "fix").returncode == 0 and rights() == before


def test_an_apply_that_is_killed_goes_on_over_a_folder_that_became_a_file(post, tree):
    made(post, tree, "rm -r src; echo file > src; for n in $(seq 150); do echo $n > z$n; done")
    wanted = inside(post)
    for _ in range(KILLS):
        with post.start("apply", "-w", "fix") as apply:
            while apply.poll() is None and not (tree / "src").is_file():
                time.sleep(0.0005)
            apply.kill()
            apply.communicate()
        done = post.run("apply", "-w", "fix")
        assert done.returncode == 0, done.stderr
        assert picture(tree) == wanted
        assert post.run("undo", "-w", "fix").returncode == 0


def test_what_changes_while_it_is_applied_is_left(post, tree, who):
    made(post, tree, "echo theirs > a; head -c 150M /dev/zero | tr '\\0' x > m; echo theirs > script")
    with post.start("apply", "-w", "fix") as apply:
        while apply.poll() is None and not list(tree.glob(".ringfort-*")):
            time.sleep(0.001)
        (tree / "script").write_text("ours, meanwhile\n")
        apply.communicate()
    assert (tree / "script").read_text() == "ours, meanwhile\n" and apply.returncode == 125


@pytest.mark.parametrize("script", ["ln -s x .git", "echo 'gitdir: x' > .git", "mkdir -p a/b; echo 'gitdir: x' > a/b/.git", "ln -s x .GIT",
                                    "mkdir -p a/objects a/refs; echo ref: refs/heads/x > a/HEAD; echo '[core] fsmonitor = evil' > a/config"])
def test_a_git_that_leads_elsewhere_has_to_be_named(post, tree, script):
    made(post, tree, script)
    done = post.run("apply", "-w", "fix")
    assert done.returncode == 125 and "git repository" in done.stdout


def test_a_file_that_can_not_be_read_does_not_stop_an_apply_halfway(post, tree, who):
    made(post, tree, "echo a > a; echo m > m; chmod 000 m; echo z > z")
    done = post.run("apply", "-w", "fix")
    assert done.returncode == 0 and (tree / "a").exists() and (tree / "z").exists()
    assert (tree / "m").exists() == (who == "root")
    assert post.run("undo", "-w", "fix").returncode == 0
    assert not (tree / "a").exists() and not (tree / "z").exists()


@pytest.mark.parametrize("mode", ["0", "0311", "0644"])
def test_a_folder_that_is_closed_hides_itself_alone(post, tree, who, mode):
    if who == "root" and watchers.IS_ROOT:
        pytest.skip("nothing is closed to root")
    made(post, tree, f"mkdir closed; echo x > closed/f; echo new > open; echo y > src/new; chmod {mode} closed src")
    done = post.run("diff", "-w", "fix")
    assert done.returncode == 0 and {"added    closed", "added    open", "mode     src"} <= set(done.stdout.splitlines()), done
    assert post.run("file", "find", "-w", "fix").returncode == 0
    done = post.run("apply", "-w", "fix")
    assert done.returncode == 0 and (tree / "open").exists() and not (tree / "closed").exists(), done.stderr
    assert (tree / "src").stat().st_mode & 0o777 == 0o755 and not (tree / "src/new").exists()
    assert post.run("file", "rm", "-r", "-w", "fix", "closed").returncode == 0


def test_what_was_named_is_taken_back_without_being_named_again(post, tree):
    made(post, tree, "echo x > .envrc")
    assert post.run("apply", "-w", "fix", "--only", ".envrc").returncode == 0
    assert post.run("undo", "-w", "fix").returncode == 0
    assert not (tree / ".envrc").exists()


def test_folders_that_deny_writing_are_applied(post, tree):
    made(post, tree, "mkdir m; echo x > m/x; chmod 555 m")
    assert post.run("apply", "-w", "fix").returncode == 0
    assert (tree / "m/x").exists() and (tree / "m").stat().st_mode & 0o777 == 0o555
    (tree / "m").chmod(0o755)


def test_a_run_with_a_folder_that_can_not_be_listed_is_kept(post, tree):
    post.run("create", "--name", "fix", "--workspace", tree)
    done = post.run("exec", "fix", "--", "sh", "-c", "echo x > x; mkdir m; chmod 000 m")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(post.run("log", "-w", "fix", "--json").stdout)["points"]) == 1
    assert post.run("undo", "-w", "fix").returncode == 0


@pytest.mark.parametrize("way", ["apply", "undo"])
def test_an_undo_that_is_killed_goes_on_or_back(post, tree, way):
    for number in range(200):
        (tree / f"file{number}").write_text(f"old {number}\n")
    own(tree, "user" if not post.is_room else "root")
    before = picture(tree)
    made(post, tree, "for n in $(seq 0 199); do echo new $n > file$n; done")
    wanted = inside(post)
    for _ in range(KILLS):
        assert post.run("apply", "-w", "fix").returncode == 0
        with post.start("undo", "-w", "fix") as undo:
            time.sleep(random.random() * 0.05)
            undo.kill()
            undo.communicate()
        now = picture(tree)
        assert now in (before, wanted) or post.run("rm", "fix").returncode == 125
        done = post.run(way, "-w", "fix")
        assert done.returncode == 0, done.stderr
        if way == "apply":
            assert picture(tree) == wanted
            assert post.run("undo", "-w", "fix").returncode == 0
        post.run("undo", "-w", "fix", "@1")  # where it had ended, the second one went back a run
        assert picture(tree) == before


def test_links_on_the_host_are_not_followed(post, tree, who):
    """The directory is changed so that a change would be written elsewhere."""
    outside = post.top / "outside"
    outside.mkdir()
    (outside / "main.c").write_text("untouched\n")
    own(outside, who)
    made(post, tree, "echo theirs > src/main.c; echo theirs > src/other.c")
    shutil.rmtree(tree / "src")
    (tree / "src").symlink_to(outside)
    for options in ([], ["--theirs"], ["--ours"]):
        post.run("apply", "-w", "fix", *options)
        assert sorted(path.name for path in outside.iterdir()) == ["main.c"]
        assert (outside / "main.c").read_text() == "untouched\n"


def test_setuid_and_pipes_do_not_get_out(post, tree):
    made(post, tree, "mkfifo pipe; cp /bin/true tool; chmod 755 tool; chmod u+s tool 2>/dev/null; echo x > plain")
    done = post.run("apply", "-w", "fix", "--json", *all_named(post))
    became = {row["path"]: row["became"] for row in json.loads(done.stdout)}
    assert done.returncode == 0 and became["pipe"] == "no file" and not (tree / "pipe").exists()
    assert (tree / "tool").stat().st_mode & 0o7777 == 0o755


def test_a_folder_in_the_place_of_a_link_is_applied_and_taken_back(post, tree):
    (tree / "place").symlink_to("src")
    before = picture(tree)
    made(post, tree, "rm place; mkdir place; echo new > place/file")
    done = post.run("apply", "-w", "fix")
    assert done.returncode == 0, done.stderr
    assert (tree / "place/file").read_text() == "new\n" and not (tree / "src/file").exists()
    assert post.run("undo", "-w", "fix").returncode == 0
    assert picture(tree) == before


def test_random_histories_are_found_and_applied_exactly(post, tree):
    seed = int(os.environ.get("RF_SEED", random.randrange(10**6)))
    before, points = picture(tree), []
    assert post.run("create", "--name", "fix", "--workspace", tree).returncode == 0
    points.append(inside(post))
    for step in range(HISTORIES):
        done = post.run("exec", "fix", "--", "python3", "-c", RANDOM, str(seed + step), "25")
        assert done.returncode == 0, done.stderr
        points.append(inside(post))
        rows = json.loads(post.run("diff", "-w", "fix", "--json").stdout)
        found = {row[name] for row in rows for name in ("path", "from") if name in row}
        wanted = {path for path in {*points[0], *points[-1]} if points[0].get(path) != points[-1].get(path)}
        assert found == wanted, f"RF_SEED={seed}"
    done = post.run("apply", "-w", "fix", *all_named(post))
    assert done.returncode == 0, f"RF_SEED={seed}: {done.stdout} {done.stderr}"
    assert picture(tree) == points[-1], f"RF_SEED={seed}"
    assert post.run("undo", "-w", "fix").returncode == 0
    assert picture(tree) == before, f"RF_SEED={seed}"


@pytest.mark.parametrize("way", ["on", "back"])
def test_an_apply_that_is_killed_goes_on_or_back(post, tree, way):
    for number in range(200):
        (tree / f"file{number}").write_text(f"old {number}\n" * 20)
    own(tree, "user" if not post.is_room else "root")
    before = picture(tree)
    made(post, tree, "for n in $(seq 0 199); do echo new $n > file$n; done; for n in $(seq 200 260); do mkdir d$n; "
                     "echo $n > d$n/file; done; rm README")
    wanted = inside(post)
    for _ in range(KILLS):
        with post.start("apply", "-w", "fix") as apply:
            time.sleep(random.random() * 0.08)
            apply.kill()
            apply.communicate()
        now = {path: what for path, what in picture(tree).items() if ".ringfort-" not in path}
        assert all(what in (before.get(path), wanted.get(path)) for path, what in now.items())
        if way == "on":
            done = post.run("apply", "-w", "fix")
            assert done.returncode == 0, done.stderr
            assert picture(tree) == wanted
        if post.run("undo", "-w", "fix").returncode == 0:
            assert picture(tree) == before
        post.run("undo", "-w", "fix", "@1")
        assert picture(tree) == before


@pytest.mark.parametrize("target, leads_out", [
    ("/etc/passwd", True), ("../..", True), ("../../x", True), ("d/../../..", True), ("./../../x", True), ("..//..", True),
    ("../README", False), ("main.c", False), ("./main.c", False), ("..", False), ("../src/main.c", False), ("..x/y", False)])
def test_a_link_that_leads_out_is_not_applied_by_the_way(post, tree, target, leads_out):
    made(post, tree, f"ln -s '{target}' src/out; echo more > src/more")
    row, = [row for row in json.loads(post.run("diff", "--json", "-w", "fix").stdout) if row["path"] == "src/out"]
    assert row["protected"] == ("link that leads out" if leads_out else None)
    done = post.run("apply", "-w", "fix")
    assert (done.returncode != 0) == leads_out and (tree / "src/more").exists() != leads_out
    if leads_out:
        assert post.run("apply", "-w", "fix", "--only", "src/out").returncode == 0
    assert os.readlink(tree / "src/out") == target


def test_what_everybody_could_write_to_is_not_applied_by_the_way(post, tree):
    made(post, tree, "chmod 666 README; mkdir open sticky; chmod 777 open; chmod 1777 sticky")
    rows = {row["path"]: row["protected"] for row in json.loads(post.run("diff", "--json", "-w", "fix").stdout)}
    assert rows == {"README": "writable by everybody", "open": "writable by everybody", "sticky": None}
    assert post.run("apply", "-w", "fix").returncode != 0 and not (tree / "open").exists()


def test_what_acts_by_another_name_has_to_be_named(post, tree, who):
    for folder in ("conf", "docs", "tools", "sub/settings", ".git/hooks", "one", "plain"):
        (tree / folder).mkdir(parents=True)
    for link, target in ((".claude", "conf"), ("CLAUDE.md", "docs/agents.md"), (".git/hooks/pre-commit", "../../tools/hook"),
                         ("sub/.vscode", "settings"), (".cursor", f"{tree}/way/deep"), ("way", "one"), (".idea", "later"),
                         ("ordinary", "plain"), (".codex", "/etc"), (".gemini", "../outside")):
        os.symlink(target, tree / link)
    for name in ("conf/settings.json", "docs/agents.md", "docs/other.md", "tools/hook", "plain/x"):
        (tree / name).write_text("old\n")
    if watchers.IS_ROOT and who == "user":
        subprocess.run(["chown", "-hR", f"{watchers.USER_ID}:{watchers.USER_ID}", tree], check=True)
    made(post, tree, "mkdir -p one/deep later two/deep new sub/other && for f in conf/settings.json docs/agents.md docs/other.md tools/hook "
                     "sub/settings/tasks.json sub/settings/more.txt sub/other/tasks.json one/deep/rules two/deep/rules later/run.xml "
                     "plain/x new/y; do echo new > $f; done; rm .idea way; ln -s two way; ln -s new .windsurf")
    rows = {row["path"]: row["protected"] for row in json.loads(post.run("diff", "--json", "-w", "fix").stdout)}
    assert {path for path, what in rows.items() if what} == {
        "conf/settings.json", "docs/agents.md", "tools/hook", "sub/settings/tasks.json", "one/deep/rules", "two/deep/rules", "way",
        "later/run.xml", ".windsurf", "new/y"}, rows
    assert rows["conf/settings.json"] == "agent settings" and rows["tools/hook"] == "git hook"
    assert post.run("apply", "-w", "fix", "--only", "conf", "--only", "docs").returncode != 0
    assert (tree / "conf/settings.json").read_text() == "old\n" and (tree / "docs/agents.md").read_text() == "old\n"
    assert post.run("apply", "-w", "fix", "--only", "conf/settings.json", "--only", "plain").returncode == 0
    assert (tree / "conf/settings.json").read_text() == (tree / "plain/x").read_text() == "new\n"


def test_which_names_are_protected_is_the_owners_to_say(post, tree, who):
    (tree / ".github/workflows").mkdir(parents=True)
    if watchers.IS_ROOT and who == "user":
        subprocess.run(["chown", "-R", f"{watchers.USER_ID}:{watchers.USER_ID}", tree], check=True)
    settings = post.top / "settings.yaml"
    post.env["RINGFORT_CONFIG"] = str(settings)
    settings.write_text("protected: [src/*.c]\nunprotected: [.github/workflows/**]\n")
    if watchers.IS_ROOT and who == "user":
        os.chown(settings, watchers.USER_ID, watchers.USER_ID)
    made(post, tree, "echo new > src/main.c; echo new > src/text; echo on > .github/workflows/ci.yml")
    rows = {row["path"]: row["protected"] for row in json.loads(post.run("diff", "--json", "-w", "fix").stdout)}
    assert rows == {".github/workflows/ci.yml": None, "src/main.c": "protected by your settings", "src/text": None}
    assert post.run("apply", "-w", "fix", "--only", "src").returncode != 0 and not (tree / "src/text").exists()
    settings.write_text("protected: [/etc]\n")
    for words in (["apply", "--only", "src/main.c"], ["diff"]):
        refused = post.run(*words, "-w", "fix")
        assert refused.returncode == 125 and "names no file of a directory" in refused.stderr, refused.stderr
    settings.write_text("unprotected: [.github/workflows/**]\n")
    assert post.run("apply", "-w", "fix").returncode == 0 and (tree / ".github/workflows/ci.yml").exists()


def repository(path, *settings):
    """A repository without a work tree of its own, with settings."""
    subprocess.run(["git", "init", "-q", "--bare", path], check=True)
    subprocess.run(["git", "config", "-f", path / "config", "core.bare", "false"], check=True)
    for name, value in settings:
        subprocess.run(["git", "config", "-f", path / "config", name, value], check=True)


def hook(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\nexit 0\n")
    path.chmod(0o755)


def beside(tree):
    repository(tree / ".bare")
    (tree / ".git").write_text("gitdir: ./.bare\n")


def nested(tree):
    repository(tree / "sub/store")
    (tree / "sub/proj").mkdir()
    (tree / "sub/proj/.git").write_text("gitdir: ../store\n")


def nested_with_settings(tree):
    nested(tree)
    subprocess.run(["git", "config", "-f", tree / "sub/store/config", "include.path", "../team"], check=True)
    (tree / "sub/team").write_text("")


def own_hooks(tree):
    repository(tree / ".git", ("core.hooksPath", "gh"))
    hook(tree / "gh/pre-commit")
    hook(tree / "scripts/lint")
    os.symlink("../scripts/lint", tree / "gh/pre-push")


def hooks_by_a_whole_path(tree):
    repository(tree / ".git", ("core.hooksPath", str(tree / "gh")))
    hook(tree / "gh/pre-commit")


def hooks_by_a_link(tree):
    repository(tree / ".git", ("core.hooksPath", "current/hooks"))
    hook(tree / "one/hooks/pre-commit")
    os.symlink("one", tree / "current")


def included(tree):
    repository(tree / ".git", ("include.path", "../team.gitconfig"), ("includeIf.onbranch:x.path", "../branch.gitconfig"))
    (tree / "team.gitconfig").write_text("[include]\n\tpath = more/settings\n")
    (tree / "branch.gitconfig").write_text("[filter \"x\"] clean = \"python3 tools/clean.py %f\" ; not now\n")
    (tree / "tools").mkdir()
    (tree / "tools/clean.py").write_text("")


def worktrees(tree):
    repository(tree / ".store", ("core.hooksPath", "gh"))
    side = tree / ".store/worktrees/main"
    side.mkdir(parents=True)
    (side / "HEAD").write_text("ref: refs/heads/main\n")
    (side / "commondir").write_text("../..\n")
    (side / "gitdir").write_text(f"{tree}/main/.git\n")
    hook(tree / "main/gh/pre-commit")
    (tree / "main/.git").write_text(f"gitdir: {side}\n")


def a_common_folder_without_head(tree):
    repository(tree / "common")
    os.rename(tree / "common/HEAD", tree / "HEAD.old")
    (tree / "real").mkdir()
    (tree / "real/HEAD").write_text("ref: refs/heads/main\n")
    (tree / "real/commondir").write_text("../common\n")
    (tree / ".git").write_text("gitdir: real\n")


def the_repository_is_elsewhere(tree):
    store = tree.parent / "store"
    repository(store, ("core.hooksPath", "gh"))
    hook(tree / "gh/pre-commit")
    (tree / ".git").write_text("gitdir: ../store\n")


def above(tree):
    repository(tree.parent / ".git", ("core.hooksPath", f"{tree.name}/gh"), ("core.attributesFile", f"{tree.name}/attrs"))
    hook(tree / "gh/pre-commit")


def users_settings(tree):
    repository(tree / ".git")
    hook(tree / "gh/pre-commit")
    (tree.parent / "home").mkdir(exist_ok=True)
    (tree.parent / "home/.gitconfig").write_text(f"[core]\n\thooksPath = gh\n[includeIf \"gitdir:x\"]\n\tpath = {tree}/mine\n")


def a_branch_of_that_name(tree):
    repository(tree / ".git")
    (tree / ".git/refs/remotes/o").mkdir(parents=True)
    (tree / ".git/refs/remotes/o/HEAD").write_text("ref: refs/remotes/o/main\n")


EVIL = "printf '[core]\\n\\tfsmonitor = \"touch /tmp/x; false\"\\n' >>"


@pytest.mark.parametrize("layout, script, found", [
    (beside, f"{EVIL} .bare/config; echo '* filter=x' > .bare/info/attributes; echo x >> .bare/description",
     {".bare/config": "git settings", ".bare/info/attributes": "git settings"}),
    (beside, "mkdir -p .bare/modules/m/hooks; echo x > .bare/modules/m/hooks/update", {".bare/modules/m/hooks/update": "git hook"}),
    (beside, "echo x > .bare/hooks/pre-commit; mkdir hooks; echo x > hooks/pre-commit; echo x > config", {".bare/hooks/pre-commit": "git hook"}),
    (nested, f"{EVIL} sub/store/config; echo x > sub/proj/config", {"sub/store/config": "git settings"}),
    (nested_with_settings, f"{EVIL} sub/team; echo x > team", {"sub/team": "git settings"}),
    (own_hooks, "echo x >> gh/pre-commit; echo x >> scripts/lint; echo x > scripts/other",
     {"gh/pre-commit": "git hook", "scripts/lint": "git hook"}),
    (hooks_by_a_whole_path, "echo x >> gh/pre-commit", {"gh/pre-commit": "git hook"}),
    (hooks_by_a_link, "echo x >> one/hooks/pre-commit; echo x > one/y", {"one/hooks/pre-commit": "git hook"}),
    (hooks_by_a_link, "mkdir -p two/hooks; echo x > two/hooks/pre-commit; ln -sfn two current",
     {"two/hooks/pre-commit": "git hook", "current": "git hook"}),
    (included, f"{EVIL} team.gitconfig; {EVIL} branch.gitconfig; mkdir more; {EVIL} more/settings; echo x > tools/clean.py; echo x > more/other",
     {"team.gitconfig": "git settings", "branch.gitconfig": "git settings", "more/settings": "git settings", "tools/clean.py": "git hook"}),
    (worktrees, f"echo x >> main/gh/pre-commit; {EVIL} .store/config; echo x > main/x",
     {"main/gh/pre-commit": "git hook", ".store/config": "git settings"}),
    (worktrees, "echo x > .store/worktrees/main/config.worktree", {".store/worktrees/main/config.worktree": "git settings"}),
    (a_common_folder_without_head, f"{EVIL} common/config", {"common/config": "git settings"}),
    (the_repository_is_elsewhere, "echo x >> gh/pre-commit", {"gh/pre-commit": "git hook"}),
    (above, "echo x >> gh/pre-commit; echo x > attrs; echo x > attrs2", {"gh/pre-commit": "git hook", "attrs": "git settings"}),
    (users_settings, "echo x >> gh/pre-commit; echo x > mine", {"gh/pre-commit": "git hook", "mine": "git settings"}),
    (a_branch_of_that_name, "echo x > .git/refs/remotes/o/config", {}),
    (lambda tree: None, "git init -q; git config core.hooksPath gh; mkdir gh; echo x > gh/pre-commit; rm -rf .git/hooks",
     {".git/config": "git settings", "gh/pre-commit": "git hook"}),
], ids=lambda value: getattr(value, "__name__", None))
def test_what_git_is_told_to_use_has_to_be_named(post, tree, who, layout, script, found):
    layout(tree)
    post.env["HOME"] = str(tree.parent / "home")
    if watchers.IS_ROOT and who == "user":
        subprocess.run(["chown", "-hR", f"{watchers.USER_ID}:{watchers.USER_ID}", tree.parent], check=True)
    made(post, tree, script)
    rows = {row["path"]: row["protected"] for row in json.loads(post.run("diff", "--json", "-w", "fix").stdout)}
    assert {path: what for path, what in rows.items() if what} == found, rows
    done = post.run("apply", "-w", "fix")
    assert (done.returncode == 125) == bool(found), done.stdout + done.stderr


def test_settings_that_include_each_other_are_read_for_a_bounded_time(post, tree):
    """Each ten times, ten deep, and large."""
    made(post, tree, "git init -q; for i in 1 2 3 4 5 6 7 8 9 10; do printf '[include]\\npath = config\\n'; done >> .git/config; "
                     "yes '# much' | head -c 900000 >> .git/config; echo x > README")
    began = time.monotonic()
    done = post.run("apply", "-w", "fix")
    assert time.monotonic() - began < 15 and done.returncode == 125 and "perhaps git's" in done.stdout, done.stdout


def test_settings_that_are_too_large_to_read_hold_everything(post, tree, who):
    repository(tree / ".git")
    with open(tree / ".git/config", "a") as settings:
        settings.write("# much\n" * 200000)
    if watchers.IS_ROOT and who == "user":
        subprocess.run(["chown", "-hR", f"{watchers.USER_ID}:{watchers.USER_ID}", tree], check=True)
    made(post, tree, "echo x > README")
    done = post.run("apply", "-w", "fix")
    assert done.returncode == 125 and "perhaps git's" in done.stdout, done.stdout
    assert post.run("apply", "-w", "fix", "--only", "README").returncode == 0


DEEP = "import os\nfor i in range({}):\n    os.path.isdir('d') or os.mkdir('d')\n    os.chdir('d')\n"


def test_folders_in_folders_are_kept_as_they_were_and_taken_back(post, tree, who):
    at = tree
    for i in range(120):
        at = at / "d"
        at.mkdir(mode=0o750 if i % 2 else 0o755)
        (at / "old").write_text(str(i))
        if i % 7 == 0:
            (at / "gone").mkdir()
            (at / "gone/x").write_text("x")
    own(tree, who)
    before = picture(tree)
    made(post, tree, "python3 - <<'END'\n" + DEEP.format(120) +
         "    open('new', 'w').write('n'); open('old', 'a').write('more'); os.path.exists('gone') and (os.remove('gone/x'), os.rmdir('gone'))\nEND")
    wanted = inside(post)
    assert post.run("apply", "-w", "fix").returncode == 0 and picture(tree) == wanted != before
    assert post.run("undo", "-w", "fix").returncode == 0 and picture(tree) == before


def test_what_lies_deep_is_applied_and_exported_in_time(post, tree, who):
    made(post, tree, "python3 - <<'END'\n" + DEEP.format(1000) + "    open('f', 'w').write('x')\nEND")
    for words, most in ((["export", "fix"], 6), (["apply", "-w", "fix"], 12), (["undo", "-w", "fix"], 12)):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = post.run(*words, wrap=("sh", "-c", 'exec "$@" > /dev/null', "sh"))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode == 0, done.stderr
        assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < most, words
    assert post.run("rm", "fix").returncode == 0
