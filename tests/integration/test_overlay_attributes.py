"""Attributes of overlayfs in a workspace's directory hide files from boxes: such a directory is refused, and what a lookup finds is named."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import watchers  # noqa: E402 # a place with a state folder of its own

pytestmark = pytest.mark.usefixtures("as_who")
MOST = 20000  # entries that are looked at
NOT_VERIFIED = 2


@pytest.fixture
def post(ringfort, public, who, request):
    folder = public / f"attributes-{abs(hash(request.node.name)) % 10**8}"
    with watchers.Post(ringfort, who, folder) as place:
        yield place
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tree(post, who):
    top = post.top / "tree"
    (top / "src/deep").mkdir(parents=True)
    (top / "src/deep/check").write_text("must not change\n")
    (top / "README").write_text("read me\n")
    give(top, who)
    return top


def give(top, who):
    if watchers.IS_ROOT and who == "user":
        subprocess.run(["chown", "-R", f"{watchers.USER_ID}:{watchers.USER_ID}", top], check=True)


def lay(path, name="user.overlay.metacopy", value=b""):
    try:
        os.setxattr(path, name, value)
    except OSError as error:
        pytest.skip(f"{name} can't be set here: {error}")


LAID = [("src/deep/check", "metacopy", b""), ("src/deep/check", "whiteout", b"y"), ("src/deep", "opaque", b"x"), ("src", "redirect", b"/README"),
        (".", "opaque", b"y"), ("README", "origin", b"x"), ("README", "anything.else", b"x")]


@pytest.mark.parametrize("path, name, value", LAID, ids=[f"{name} {path}" for path, name, _ in LAID])
def test_a_directory_with_such_an_attribute_is_refused_and_the_file_named(post, tree, path, name, value):
    lay(tree / path, f"user.overlay.{name}", value)
    said = "the directory" if path == "." else path
    done = post.run("create", "--name", "w", "--workspace", tree)
    assert done.returncode != 0 and f"{said} has the attribute user.overlay.{name}" in done.stderr and "setfattr -x" in done.stderr
    assert "w" not in post.run("workspaces").stdout.split()
    done = post.run("shadow", "--workspace", tree, "--verify", "true", "--", "sh", "-c", "echo it ran")
    assert done.returncode != 0 and f"{said} has the attribute user.overlay.{name}" in done.stderr and "it ran" not in done.stdout
    done = post.run("agent", "create", "bot", "--workspace", tree)
    assert done.returncode != 0 and f"{said} has the attribute user.overlay.{name}" in done.stderr
    os.removexattr(tree / path, f"user.overlay.{name}")
    assert post.run("create", "--name", "w", "--workspace", tree).returncode == 0


def test_those_of_other_mounts_are_seen_by_root(post, tree, who):
    if who != "root":
        pytest.skip("nobody else can set or see them")
    lay(tree / "src", "trusted.overlay.opaque", b"y")
    done = post.run("create", "--name", "w", "--workspace", tree)
    assert done.returncode != 0 and "src has the attribute trusted.overlay.opaque" in done.stderr


def test_a_file_closed_to_its_owner_and_a_link_are_looked_at_and_not_followed(post, tree, who):
    (tree / "link").symlink_to(post.top / "elsewhere")
    (post.top / "elsewhere").write_text("x")
    lay(post.top / "elsewhere")
    assert post.run("create", "--name", "one", "--workspace", tree).returncode == 0
    lay(tree / "README")
    (tree / "README").chmod(0)
    done = post.run("create", "--name", "two", "--workspace", tree)
    assert done.returncode != 0 and "README has the attribute user.overlay.metacopy" in done.stderr


@pytest.mark.parametrize("mode", [0o300, 0o600, 0])
def test_a_folder_that_can_not_be_looked_into_is_said(post, tree, who, mode):
    lay(tree / "src/deep/check")
    (tree / "src/deep").chmod(mode)
    (tree / "empty").mkdir(mode=0)
    give(tree / "empty", who)
    create = post.run("create", "--name", "w", "--workspace", tree)
    shadow = post.run("shadow", "--workspace", tree, "--verify", "test ! -e src/deep/check", "--", "sh", "-c", "echo x > new")
    (tree / "src/deep").chmod(0o755)
    (tree / "empty").chmod(0o755)
    for done in create, shadow:
        if who == "root":
            assert done.returncode != 0 and "src/deep/check has the attribute" in done.stderr
        else:
            assert done.returncode == 0, done.stderr
            assert "is closed to you: whether attributes in it hide files" in done.stderr and "nor in others" in done.stderr


def test_a_tree_that_is_too_deep_for_a_path_is_looked_at_up_to_there(post, tree):
    here = os.open(tree, os.O_PATH)
    for _ in range(40):
        os.mkdir("d" * 200, dir_fd=here)
        here, before = os.open("d" * 200, os.O_PATH, dir_fd=here), here
        os.close(before)
    os.close(here)
    done = post.run("create", "--name", "w", "--workspace", tree)
    assert done.returncode == 0 and "files and folders were looked at" in done.stderr, done.stderr
    subprocess.run(["rm", "-rf", tree], check=True)


# Which file, with what, and what a box does that makes diff look it up; before or after the attribute is laid.
LATER = {
    "changed before": ("src/deep/check", "metacopy", b"", "echo changed > src/deep/check", ""),
    "deleted before": ("src/deep/check", "metacopy", b"", "rm -r src", ""),
    "its folder": ("src/deep", "opaque", b"x", "", "echo changed > src/deep/check"),
    "made where one is hidden": ("empty", "whiteout", b"y", "", "test ! -e empty && echo made > empty"),
}


@pytest.mark.parametrize("path, name, value, before, after", LATER.values(), ids=LATER)
def test_what_is_laid_later_is_named_by_diff_and_apply_which_fail(post, tree, who, path, name, value, before, after):
    (tree / "empty").touch()
    give(tree, who)
    assert post.run("create", "--name", "w", "--workspace", tree).returncode == 0
    assert post.run("exec", "w", "--", "sh", "-c", f"echo more > new; {before}").returncode == 0
    lay(tree / path, f"user.overlay.{name}", value)
    done = post.run("exec", "w", "--", "sh", "-c", f"echo more > newer; {after}")
    assert done.returncode == 0, done.stderr
    assert not after or f"{path} has the attribute" in done.stderr  # and what it did is kept
    for words in (["diff", "-w", "w"], ["diff", "-w", "w", "--json"], ["apply", "-w", "w"]):
        done = post.run(*words)
        assert done.returncode != 0 and f"{path} has the attribute user.overlay.{name}" in done.stderr, (words, done)
    assert (tree / "src/deep/check").read_text() == "must not change\n" and not (tree / "new").exists()
    os.removexattr(tree / path, f"user.overlay.{name}")
    done = post.run("diff", "-w", "w")
    assert done.returncode == 0 and "newer" in done.stdout and "new" in done.stdout


def test_a_verification_that_could_not_see_a_file_does_not_count(post, tree):
    """The attribute is laid while the program is verified, by somebody else."""
    words = ["shadow", "--workspace", tree, "--verify", "echo ready; sleep 3; test ! -e src/deep/check", "--", "sh", "-c", "echo x > new; rm -r src"]
    with post.start(*words, text=True) as shadow:
        while "ready" not in shadow.stdout.readline():
            assert shadow.poll() is None
        lay(tree / "src/deep/check")
        _, said = shadow.communicate(timeout=60)
    assert shadow.returncode == NOT_VERIFIED, said
    assert "not verified" in said and "src/deep/check has the attribute user.overlay.metacopy" in said
    assert not (tree / "new").exists() and (tree / "src/deep/check").exists()


def test_the_look_is_bounded_and_says_so(post, tree, who):
    for number in range(MOST):
        if number % 1000 == 0:
            folder = tree / f"many/{number // 1000}"
            folder.mkdir(parents=True)
        os.link(tree / "src/deep/check", folder / str(number))  # which is quicker than to make one
    last = tree / "many/0/behind/all/of/them"
    last.mkdir(parents=True)
    (last / "check").write_text("x")
    give(tree, who)
    lay(last / "check")
    done = post.run("create", "--name", "w", "--workspace", tree)
    assert done.returncode == 0 and f"the first {MOST} files and folders were looked at" in done.stderr
    assert post.run("exec", "w", "--", "sh", "-c", "cd many/0/behind/all/of/them && echo y > check; true").returncode == 0
    lay(tree / "README")
    done = post.run("create", "--name", "other", "--workspace", tree)
    assert done.returncode != 0 and "README has the attribute" in done.stderr, "the top is looked at first"
