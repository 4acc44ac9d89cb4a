"""What has changed in a workspace can be seen: as a list, by how much, as a patch that others can apply, and as JSON."""
import base64
import json
import os
import pathlib
import pty
import random
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import watchers  # noqa: E402 # a place with a state folder of its own

pytestmark = pytest.mark.usefixtures("as_who")
ROUNDS = int(os.environ.get("RF_PATCHES", "12"))  # 1000 for the whole of it

# Makes, or changes, a random tree of texts in the current directory.
RANDOM = r"""
import os, random, shutil, sys
r = random.Random(int(sys.argv[1]))
names = ["a", "b", "two words", "\u00e4", "q\"uote", "back\\slash", "-rf", "tab\tbed", "x" * 80, ".gitignore", "n.c"]
if sys.argv[3] == "odd":
    names += [b"\xff\xfe".decode("utf-8", "surrogateescape"), "new\nline", "\x1b[31m"]
def text():
    words = [r.choice(["one", "two", "three", "", "+++ b/x", "--- a/x", "@@ -1 +1 @@", "\\ No newline", "diff --git a/x b/x",
                       "\ttab", " blank", "\x1b[2J", "\u00e4", "end\r"]) for _ in range(r.randrange(30))]
    return ("\n".join(words) + r.choice(["", "\n"])).encode()
def all_of():
    return [os.path.join(p, n)[2:] for p, d, f in os.walk(".") for n in d + f]
def is_text(path):
    return os.path.isfile(path) and not os.path.islink(path)
for _ in range(int(sys.argv[2])):
    have = all_of()
    folders = ["."] + [p for p in have if os.path.isdir(p) and not os.path.islink(p)]
    old = r.choice(have) if have else None
    what = r.randrange(12)
    name = r.choice(names) + str(r.randrange(3))
    if sys.argv[3] == "plain":  # patch(1) refuses a name that becomes something of another type
        kind = os.lstat(old).st_mode >> 12 if old and what == 8 else {4: 4, 5: 10}.get(what, 8)
        name = {4: "folder ", 10: "link ", 8: ""}[kind] + name
    path = os.path.join(r.choice(folders), name)
    try:
        if what < 4: open(path, "xb").write(text())
        elif what == 4: os.mkdir(path)
        elif what == 5: os.symlink(r.choice(["/etc/passwd", "a0", "../..", "two words"]), path)
        elif what == 6 and old: os.remove(old) if not os.path.isdir(old) or os.path.islink(old) else shutil.rmtree(old)
        elif what == 7 and old and is_text(old): os.chmod(old, r.choice([0o755, 0o644]))
        elif what == 8 and old: shutil.move(old, path)
        elif what > 8 and old and is_text(old):
            lines = open(old, "rb").read().split(b"\n")
            at = r.randrange(len(lines))
            lines[at:at + r.randrange(3)] = [b"new %d" % r.randrange(5)] * r.randrange(3)
            open(old, "wb").write(b"\n".join(lines))
    except OSError:
        pass
"""


@pytest.fixture
def post(ringfort, public, who, request):
    folder = public / f"post-{abs(hash(request.node.name)) % 10**8}"
    with watchers.Post(ringfort, who, folder) as place:
        yield place
    shutil.rmtree(folder, ignore_errors=True)


def own(who, *paths):
    if watchers.IS_ROOT and who == "user":
        subprocess.run(["chown", "-hR", f"{watchers.USER_ID}:{watchers.USER_ID}", *paths], check=True)


@pytest.fixture
def tree(post, who):
    top = post.top / "tree"
    (top / "src").mkdir(parents=True)
    (top / "src/main.c").write_text("".join(f"line {i}\n" for i in range(20)))
    (top / "data.bin").write_bytes(bytes(range(256)))
    (top / "run.sh").write_text("#!/bin/sh\n")
    os.symlink("src", top / "link")
    own(who, top)
    assert post.run("create", "--name", "fix", "--workspace", top).returncode == 0
    return top


def change(post, script):
    done = post.run("exec", "fix", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr


def raw(post, *args):
    """Standard output as bytes: a patch carries whatever was in the files."""
    return subprocess.run([*post.before, str(post.ringfort), *map(str, args)], env=post.env, capture_output=True,
                          cwd=post.top, check=False)


def exact(row):
    return os.fsdecode(base64.b64decode(row["path_base64"])) if "path_base64" in row else row["path"]


def files(top):
    """All that a patch can carry: files by content and whether they can be run, and links."""
    seen = {}
    for folder, folders, names in os.walk(os.fsencode(top)):
        for name in folders + names:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, os.fsencode(top))
            if os.path.islink(path):
                seen[key] = ("link", os.readlink(path))
            elif os.path.isfile(path):
                seen[key] = (bool(os.stat(path).st_mode & 0o100), open(path, "rb").read())
    return seen


def apply_with(tool, top, patch):
    command = {"git": ["git", "apply", "--whitespace=nowarn", "-"], "patch": ["patch", "-p1", "--no-backup-if-mismatch", "-s"]}
    env = {"PATH": watchers.PATH, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(top), "GIT_CEILING_DIRECTORIES": str(top.parent),
           "LANG": "C.UTF-8"}
    return subprocess.run(command[tool], cwd=top, input=patch, env=env, capture_output=True, check=False)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_patch_makes_the_workspace_of_the_directory(post, who, seed):
    tool = ("git", "patch")[seed % 2]
    if not shutil.which(tool):
        pytest.skip(f"no {tool} on this machine")
    top, result = post.top / "tree", post.top / "result"
    top.mkdir()
    names = "odd" if tool == "git" else "plain"  # patch(1) refuses a newline in a name, too
    subprocess.run([sys.executable, "-c", RANDOM, str(seed), "60", names], cwd=top, check=True)
    own(who, top)
    assert post.run("create", "--name", "fix", "--workspace", top).returncode == 0
    for more in range(3):
        done = post.run("exec", "fix", "--", "/usr/bin/python3", "-c", RANDOM, str(seed * 7 + more + 100), "25", names)
        assert done.returncode == 0, done.stderr
    made = raw(post, "diff", "-w", "fix", "--patch")
    assert made.returncode == 0, made.stderr
    # What the workspace is, by applying it to one copy of the directory; what the patch makes of another.
    shutil.copytree(top, result, symlinks=True)
    named = [word for row in json.loads(raw(post, "diff", "-w", "fix", "--json").stdout) if row["protected"]
             for word in ("--only", exact(row))]
    applied = raw(post, "apply", "-w", "fix", "--theirs", *([*named, "--only", "."] if named else []))
    assert applied.returncode == 0, applied.stderr + applied.stdout
    done = apply_with(tool, result, made.stdout)
    assert done.returncode == 0, (seed, done.stderr, made.stdout)
    assert files(result) == files(top), (seed, made.stdout)


def test_how_much_has_changed(post, tree):
    change(post, "sed -i 's/line 3/LINE 3/; s/line 17/LINE/' src/main.c; printf '\\0x' > data.bin; chmod 600 run.sh; echo 1 > new")
    out = post.run("diff", "-w", "fix", "--stat").stdout.splitlines()
    rows = {line.split()[1]: line.split("|")[1].split() for line in out[:-1]}
    assert rows["src/main.c"] == ["4", "++--"] and rows["new"] == ["1", "+"]
    assert rows["data.bin"] == "binary 256 -> 2 bytes".split() and rows["run.sh"] == "mode 0644 -> 0600".split()
    assert out[-1].strip() == "4 changed, 3 lines added, 2 deleted"


def test_holes_cost_nothing(post, tree):
    change(post, "for i in $(seq 200); do truncate -s 1000M hollow$i; done; printf '\\0x' > data.bin")
    for form in ("--stat", "--patch", "--json"):  # an hour, if all of them were read
        done = post.run("diff", "-w", "fix", form)
        assert done.returncode == 0, done.stderr
    rows = {row["path"]: row["after"] for row in json.loads(done.stdout)}
    assert rows["hollow7"]["sha256"] is None and rows["hollow7"]["size"] == 1000 << 20 and len(rows["data.bin"]["sha256"]) == 64


def test_a_patch_says_what_it_cannot_carry(post, tree):
    change(post, "printf '\\0x' > data.bin; chmod 600 run.sh; mkdir empty; mkfifo pipe; echo x > new")
    done = post.run("diff", "-w", "fix", "--patch")
    notes = [line for line in done.stdout.splitlines() if line.startswith("#")]
    digest = subprocess.run(["sha256sum"], input=b"\0x", capture_output=True, check=True).stdout.split()[0].decode()
    assert any("data.bin" in line and f"binary of 2 bytes sha256 {digest}" in line for line in notes), notes
    assert any("mode of run.sh: 0644 -> 0600" in line for line in notes)
    assert any("empty: nothing -> folder" in line for line in notes) and any("pipe" in line for line in notes)
    assert "4 changes are told" in done.stderr and "+x\n" in done.stdout


def test_what_lies_in_a_repository_is_shown_and_does_not_spoil_the_patch(post, tree):
    change(post, "mkdir -p .git/hooks; printf '#!/bin/sh\\necho evil\\n' > .git/hooks/pre-commit; echo x > new")
    patch = raw(post, "diff", "-w", "fix", "--patch").stdout
    assert b"# +echo evil\n" in patch
    assert apply_with("git", tree, patch).returncode == 0
    assert (tree / "new").read_text() == "x\n" and not (tree / ".git").exists()


def test_names_that_were_changed_are_found(post, tree):
    change(post, "mv src/main.c moved.c; mv data.bin picture; cp run.sh kept; mv kept run.sh; sed -i 's/line 7$/seven/' moved.c")
    rows = {row["path"]: row for row in json.loads(post.run("diff", "-w", "fix", "--json").stdout)}
    assert set(rows) == {"moved.c", "picture"}
    assert (rows["moved.c"]["change"], rows["moved.c"]["from"]) == ("renamed", "src/main.c")
    assert rows["moved.c"]["lines"] == {"added": 1, "deleted": 1}
    assert (rows["picture"]["change"], rows["picture"]["from"]) == ("renamed", "data.bin")
    assert "renamed  data.bin -> picture" in post.run("diff", "-w", "fix").stdout
    patch = raw(post, "diff", "-w", "fix", "--patch").stdout
    assert b"rename from data.bin\nrename to picture\n" in patch and b"similarity index 100%" in patch
    assert apply_with("git", tree, patch).returncode == 0
    assert (tree / "picture").read_bytes() == bytes(range(256)) and "seven" in (tree / "moved.c").read_text()


def test_links_modes_and_attributes_are_shown(post, tree):
    change(post, "ln -sfn /etc link; chmod 755 run.sh; "
                 "/usr/bin/python3 -c 'import os; os.setxattr(\"src/main.c\", \"user.note\", b\"new\"); "
                 "os.setxattr(\"src\", \"user.note\", b\"folder\")'")
    rows = {row["path"]: row for row in json.loads(post.run("diff", "-w", "fix", "--json").stdout)}
    assert rows["link"]["before"]["target"] == "src" and rows["link"]["after"]["target"] == "/etc"
    assert (rows["run.sh"]["change"], rows["run.sh"]["after"]["mode"]) == ("mode", "100755")
    assert (rows["src/main.c"]["change"], rows["src/main.c"]["attributes"]) == ("attributes", ["user.note"])
    assert rows["src"]["attributes"] == ["user.note"]
    assert "attribute user.note of src/main.c: 0 bytes -> 3 bytes" in post.run("diff", "-w", "fix", "--patch").stdout


def test_attributes_are_applied_and_taken_back(post, tree, who):
    os.setxattr(tree / "src", "user.old", b"old")
    change(post, "/usr/bin/python3 -c 'import os; os.setxattr(\"src/main.c\", \"user.note\", b\"new\"); "
                 "os.removexattr(\"src\", \"user.old\"); os.setxattr(\"src\", \"user.note\", b\"folder\")'")
    done = post.run("apply", "-w", "fix")
    assert done.returncode == 0, done.stderr
    assert os.getxattr(tree / "src/main.c", "user.note") == b"new"
    assert os.listxattr(tree / "src") == ["user.note"]
    assert post.run("undo", "-w", "fix").returncode == 0
    assert os.listxattr(tree / "src/main.c") == [] and os.getxattr(tree / "src", "user.old") == b"old"
    assert os.listxattr(tree / "src") == ["user.old"]


def test_what_was_made_executable_is_shown_apart_and_refused_until_it_is_named(post, tree):
    change(post, "chmod +x run.sh; printf '#!/bin/sh\\n' > tool; chmod 700 tool; echo x > new")
    shown = post.run("diff", "-w", "fix").stdout
    plain, apart = shown.split("these act later, on whoever uses the directory:\n")
    assert plain.split() == ["added", "new"]
    assert apart.splitlines() == ["mode     run.sh  (executable)", "added    tool  (executable)"]
    refused = post.run("apply", "-w", "fix")
    assert refused.returncode == 125 and "2 of the changes act later" in refused.stderr
    assert not (tree / "new").exists()
    assert post.run("apply", "-w", "fix", "--only", "tool", "--only", "new").returncode == 0
    assert os.access(tree / "tool", os.X_OK) and not (tree / "run.sh").stat().st_mode & 0o111
    # What could be run before is a file like any other.
    assert post.run("apply", "-w", "fix", "--only", "run.sh").returncode == 0
    change(post, "echo echo >> run.sh")
    assert json.loads(post.run("diff", "-w", "fix", "--json").stdout)[0]["protected"] is None


def on_terminal(post, *args):
    """What a terminal is sent."""
    leader, follower = pty.openpty()
    with subprocess.Popen([*post.before, str(post.ringfort), *map(str, args)], env={**post.env, "TERM": "xterm"}, cwd=post.top,
                          stdin=subprocess.DEVNULL, stdout=follower, stderr=subprocess.DEVNULL) as process:
        os.close(follower)
        sent = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:
                break
            if not piece:
                break
            sent += piece
        process.wait()
    os.close(leader)
    return sent


@pytest.mark.parametrize("form", [[], ["--stat"], ["--patch"]])
def test_nothing_of_a_box_steers_a_terminal(post, tree, form):
    change(post, r"""printf 'a\033[2Jb\007\rc\tt\302\233d\n\342\200\256e\n' > text; printf x > "$(printf 'n\033]0;evil\007')"; """
                 r"""ln -s "$(printf 'to\033[5m')" link2; printf '\n' > "$(printf 'sp\nlit')" """)
    sent = on_terminal(post, "diff", "-w", "fix", *form)
    assert b"text" in sent
    for hostile in (b"\x1b[2J", b"\x07", b"\x1b]0", b"\x1b[5m", b"\xc2\x9b", b"\xe2\x80\xae", b"b\r", b"\rc"):
        assert hostile not in sent, (hostile, sent)


def test_a_name_that_is_no_text_is_exact_in_json(post, tree):
    change(post, r"""printf x > "$(printf 'n\377')" """)
    row, = json.loads(post.run("diff", "-w", "fix", "--json").stdout)
    assert row["path_base64"] == "bv8="


def test_one_form_at_a_time(post, tree):
    done = post.run("diff", "-w", "fix", "--stat", "--patch")
    assert done.returncode == 125 and "one way at a time" in done.stderr


def test_a_link_in_the_place_of_a_folder_is_not_followed(post, tree):
    """The box swaps a folder for a link to the host's; nothing of that shows."""
    change(post, "rm -rf src; ln -s /etc src; mkdir deep; ln -s /etc/hostname deep/name")
    patch = raw(post, "diff", "-w", "fix", "--patch").stdout
    assert b"+/etc/hostname" in patch and b"root:" not in patch
    assert pathlib.Path("/etc/hostname").read_bytes().strip() not in patch.replace(b"/etc/hostname", b"")
