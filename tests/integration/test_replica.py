"""Workspaces where overlayfs can't be had: the same commands, over a copy; as root and as an ordinary user."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import watchers  # noqa: E402 # a place with a state folder of its own

pytestmark = pytest.mark.usefixtures("as_who")


@pytest.fixture
def post(ringfort, public, who, request, monkeypatch):
    monkeypatch.setenv("RF_POST_DISK", "1")
    folder = public / f"copy-{abs(hash(request.node.name)) % 10**8}"
    with watchers.Post(f"{ringfort}-unwalled", who, folder) as place:
        yield place
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tree(post, who):
    top = post.top / "tree"
    (top / "a/b/c").mkdir(parents=True)
    (top / "d").mkdir()
    for path in ("x", "a/x", "a/b/x", "a/b/c/x", "d/x", "a/y", "d/y"):
        (top / path).write_text(f"{path}\n")
    os.symlink("a/x", top / "link")
    (top / "a/b").chmod(0o750)
    if watchers.IS_ROOT and who == "user":
        subprocess.run(["chown", "-Rh", f"{watchers.USER_ID}:{watchers.USER_ID}", top], check=True)
    return top


def run_json(post, *args):
    done = post.run(*args)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def listing(post, name):
    look = "find . -mindepth 1 -printf '%P %y %m %l\\n' | sort; find . -type f | sort | xargs cat"
    return post.run("exec", name, "--", "sh", "-c", look).stdout


def script_of(seed):
    """Something that programs do to a tree; harmless where names are not there."""
    rand = random.Random(seed)
    folders = [".", "a", "a/b", "a/b/c", "d", "e", "a/e"]
    lines = []
    for _ in range(25):
        one, two = rand.choice(folders), rand.choice(folders)
        name, other = rand.choice("xyz"), rand.choice("xyz")
        lines.append(rand.choice([
            f"echo {rand.random()} > {one}/{name}", f"rm -f {one}/{name}", f"mv {one}/{name} {two}/{other}",
            f"chmod {rand.choice(['600', '755', '640'])} {one}/{name}", f"mkdir -p {one}/e", f"rm -rf {one}/e",
            f"mv {one} {two}/moved", f"cp -r d a/{name}1", f"ln -sfn {name} {one}/l", f"chmod 711 {one}",
            f"rm -rf {two}/b; mkdir {two}/b; echo again > {two}/b/x", f"ln -f {one}/{name} {two}/l2",
        ]))
    return "exec 2> /dev/null\n" + "\n".join(lines) + "\ntrue\n"


def test_the_box_works_on_a_copy_and_the_result_says_so(post, tree):
    post.env["RINGFORT_TEST_WITHOUT"] = "overlay"
    result = run_json(post, "run", "--json", "--workspace", tree, "--", "sh", "-c", "echo new > a/x; rm d/x; cat link")
    assert result["status"] == "ok" and result["stdout"] == "new\n", result
    assert any("copied" in text for text in result["warnings"])
    assert (result["isolation"]["limits"]["disk"], result["isolation"]["limits"]["inodes"]) == ("sampled", "none")
    assert {(row["path"], row["change"]) for row in result["workspace"]["changes"]} == {("a/x", "changed"), ("d/x", "deleted")}
    assert (tree / "a/x").read_text() == "a/x\n" and (tree / "d/x").exists()


def test_a_box_on_a_copy_is_known_by_its_name_and_runs_what_the_policy_names(post, tree):
    """It is the second that is made: what was said of the first holds for it."""
    post.env["RINGFORT_TEST_WITHOUT"] = "overlay"
    watcher = post.stand()
    words = ["--workspace", tree, "--", "sh", "-c", "echo ran; /usr/bin/id"]
    result = run_json(post, "run", "--json", "--command", "sh", *words)
    assert result["stdout"] == "ran\n" and "not found" in result["stderr"], result
    assert {event["box"] for event in post.events() if "box" in event} == {result["id"]}
    watcher.send_signal(signal.SIGSTOP)
    try:
        done = post.run("run", "--audit", "required", *words)
    finally:
        watcher.send_signal(signal.SIGCONT)
    assert done.returncode == 126 and "ran" not in done.stdout, done


@pytest.mark.parametrize("seed", range(6))
def test_a_copy_comes_to_the_same_as_layers(post, tree, seed):
    seen = {}
    for without in ("", "overlay"):
        post.env["RINGFORT_TEST_WITHOUT"] = without
        name = f"w{len(seen)}"
        assert post.run("create", "--name", name, "--workspace", tree).returncode == 0
        for step in range(3):
            done = post.run("exec", name, "--", "sh", "-c", script_of(seed * 10 + step).replace("mv . ", ": "))
            assert done.returncode == 0, done.stderr
        post.env["RINGFORT_TEST_WITHOUT"] = ""
        seen[without] = listing(post, name), json.loads(post.run("diff", "-w", name, "--json").stdout)
    assert seen["overlay"][0] == seen[""][0]
    assert [(row["path"], row["change"]) for row in seen["overlay"][1]] == [(row["path"], row["change"]) for row in seen[""][1]]


def test_what_was_done_on_a_copy_is_undone_forked_and_applied(post, tree):
    post.env["RINGFORT_TEST_WITHOUT"] = "overlay"
    post.run("create", "--name", "w", "--workspace", tree)
    assert post.run("exec", "w", "--", "sh", "-c", "echo one > one").returncode == 0
    assert post.run("checkpoint", "-w", "w", "first").returncode == 0
    assert post.run("exec", "w", "--", "sh", "-c", "rm -r a; mkdir a; echo two > a/two; mv d e").returncode == 0
    assert post.run("fork", "-w", "w", "f").returncode == 0
    assert post.run("undo", "-w", "w").returncode == 0
    assert post.run("exec", "w", "--", "cat", "one", "a/x").stdout == "one\na/x\n"
    assert post.run("exec", "f", "--", "sh", "-c", "cat a/two e/x; ls a").stdout == "two\nd/x\ntwo\n"
    done = post.run("apply", "-w", "f")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tree.iterdir()) == ["a", "e", "link", "one", "x"] and (tree / "a/two").exists()
    assert post.run("undo", "-w", "f").returncode == 0 and (tree / "a/b/c/x").exists()


def test_what_is_closed_to_its_owner_is_in_the_copy_and_stays_closed(post, tree, as_who):
    post.env["RINGFORT_TEST_WITHOUT"] = "overlay"
    post.run("create", "--name", "w", "--workspace", tree)
    done = post.run("exec", "w", "--", "sh", "-c", "mkdir n; echo in > n/f; chmod 0 n; chmod 0 d; chmod 500 a/b")
    assert done.returncode == 0, done.stderr
    done = post.run("exec", "w", "--", "sh", "-c", "stat -c %a a/b n; cat a/b/x; ls -d n d")
    assert done.stdout == "500\n0\na/b/x\nd\nn\n", done
    post.env["RINGFORT_TEST_WITHOUT"] = ""
    done = post.run("exec", "w", "--", "sh", "-c", "stat -c %a n d a/b; chmod 700 n d; cat n/f d/x a/b/x")
    assert done.stdout == "0\n0\n500\nin\nd/x\na/b/x\n", done


FORGE = r"""
import os
def forge(path):
    for note in ("opaque", "whiteout", "redirect", "metacopy", "origin"):
        os.setxattr(path, "user.overlay." + note, b"x" if note == "opaque" else b"y")
    os.setxattr(path, "user.mine", b"kept")
open("a/x", "a").write("more\n")
os.makedirs("new/in/here")
for path in ("new/f", "new/in/f", "new/in/here/f"):
    open(path, "w").write(path + "\n")
for path in ("a", "a/x", "d/y", "new", "new/f", "new/in", "new/in/f", "new/in/here", "new/in/here/f"):
    forge(path)
os.chmod("new/in/f", 0o444); os.chmod("new/in/here/f", 0); os.chmod("new/in/here", 0o500); os.chmod("new/in", 0o111)
os.rename("d", "e"); os.mkdir("d"); forge("d")
os.mkdir("deep"); os.chdir("deep")
for n in range(200): os.mkdir("d"); os.chdir("d")
open("f", "w").write("x"); forge("f"); forge(".")
"""


def test_a_box_on_a_copy_forges_no_notes_of_overlayfs(post, tree):
    post.env["RINGFORT_TEST_WITHOUT"] = "overlay"
    post.run("create", "--name", "w", "--workspace", tree)
    done = post.run("exec", "w", "--", "/usr/bin/python3", "-c", FORGE)
    assert done.returncode == 0, done.stderr
    post.env["RINGFORT_TEST_WITHOUT"] = ""
    look = ("cat a/x a/y e/y new/f; ls d; chmod 700 new/in; stat -c %a new/in/f new/in/here new/in/here/f; cat new/in/f; "
            "python3 -c 'import os; print(os.listxattr(\"new\"), os.listxattr(\"a/x\"), os.listxattr(\"new/in/f\"))'")
    done = post.run("exec", "w", "--", "sh", "-c", look)
    assert done.stdout == ("a/x\nmore\na/y\nd/y\nnew/f\n444\n500\n0\nnew/in/f\n['user.mine'] ['user.mine'] ['user.mine']\n"), done
    deep = "import os\nfor n in range(201): os.chdir('d' if n else 'deep')\nprint(os.listdir('.'), os.listxattr('f'))"
    assert post.run("exec", "w", "--", "/usr/bin/python3", "-c", deep).stdout == "['f'] ['user.mine']\n"


def test_a_living_program_on_a_copy_is_not_taken_for_one_that_changed_nothing(post, tree):
    post.env["RINGFORT_TEST_WITHOUT"] = "overlay"
    post.run("create", "--name", "w", "--workspace", tree)
    run = post.start("exec", "w", "--", "sh", "-c", "echo now > now; echo ready; sleep 4")
    assert run.stdout.readline() == b"ready\n"
    done = post.run("checkpoint", "--live", "-w", "w")
    assert done.returncode != 0 and "works on a copy" in done.stderr, done.stderr
    assert run.wait() == 0 and post.run("file", "cat", "-w", "w", "now").stdout == "now\n"


def test_a_tree_that_overlayfs_refuses_is_copied_by_itself(ringfort, public, who, monkeypatch):
    """Overlayfs over overlayfs over overlayfs is one too many for the kernel."""
    if not watchers.IS_ROOT:
        pytest.skip("mounts are root's")
    monkeypatch.setenv("RF_POST_DISK", "1")
    folder = public / f"stacked-{who}"
    with watchers.Post(ringfort, who, folder) as post:
        enter = post.before if post.is_room else []
        script = f"""set -e; mount -t tmpfs none {folder}/run; cd {folder}/run; mkdir l1 u1 w1 m1 l2 u2 w2 m2; echo deep > l1/f
        chown -R {0 if who == 'root' else watchers.USER_ID} . ; chmod 755 .
        mount -t overlay -o lowerdir=l1,upperdir=u1,workdir=w1 none m1; mount -t overlay -o lowerdir=m1,upperdir=u2,workdir=w2 none m2"""
        (folder / "run2").mkdir(mode=0o700)
        os.chown(folder / "run2", *([0, 0] if who == "root" else [watchers.USER_ID] * 2))
        post.env["XDG_RUNTIME_DIR"] = str(folder / "run2")
        done = subprocess.run([*enter, "sh", "-c", script], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(done.stderr)
        try:
            result = run_json(post, "run", "--json", "--weaker", "allow", "--workspace", folder / "run/m2", "--", "sh", "-c", "cat f; echo 1 > g")
            assert result["status"] == "ok" and result["stdout"] == "deep\n", result
            assert any("copied" in text for text in result["warnings"]), result
        finally:
            subprocess.run([*enter, "umount", "-R", "-l", f"{folder}/run"], check=False)
    shutil.rmtree(folder, ignore_errors=True)
