"""The files of a workspace, from outside: what is read is what a box sees, what is written a box sees, and nothing leads out."""
import json
import os
import pathlib
import pty
import random
import shutil
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import watchers  # noqa: E402 # a place with a state folder of its own

pytestmark = pytest.mark.usefixtures("as_who")
HISTORIES = int(os.environ.get("RF_HISTORIES", "5"))

# Inside a box: random things done to the current directory, with names that come and go as files, folders and links.
RANDOM = r"""
import os, random, shutil, sys
r = random.Random(int(sys.argv[1]))
def all_of():
    return [os.path.join(p, n)[2:] for p, d, f in os.walk(".") for n in d + f]
for _ in range(40):
    have = all_of()
    folders = ["."] + [p for p in have if os.path.isdir(p) and not os.path.islink(p)]
    path = os.path.join(r.choice(folders), r.choice(["a", "b", "\u00e4", "n\nl"]) + str(r.randrange(2)))
    old = r.choice(have) if have else None
    what = r.randrange(7)
    try:
        if what < 2: open(path, "w").write(str(r.random()))
        elif what == 2: os.mkdir(path)
        elif what == 3: os.symlink(r.choice(["/etc", "a0"]), path)
        elif what < 6 and old: os.remove(old) if not os.path.isdir(old) or os.path.islink(old) else shutil.rmtree(old)
        elif old: shutil.move(old, path)
    except OSError:
        pass
"""
PICTURE = r"""
import json, os
seen = {}
for p, d, f in os.walk("."):
    for n in d + f:
        at = os.path.join(p, n); st = os.lstat(at)
        seen[at[2:]] = ["%06o" % st.st_mode, os.readlink(at) if os.path.islink(at) else open(at, "rb").read().hex() if os.path.isfile(at) else ""]
print(json.dumps(seen))
"""


@pytest.fixture
def post(ringfort, public, who, request):
    folder = public / f"post-{abs(hash(request.node.name)) % 10**8}"
    with watchers.Post(ringfort, who, folder) as place:
        yield place
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tree(post, who):
    top = post.top / "tree"
    (top / "src/deep").mkdir(parents=True)
    (top / "src/main.c").write_text("one\ntwo needle\nthree\n")
    (top / "src/deep/more.c").write_text("needle\n")
    (top / "data.bin").write_bytes(b"\0needle\xff")
    (top / "closed").write_text("mode\n")
    (top / "closed").chmod(0o640)
    os.symlink("/etc/passwd", top / "link")
    os.symlink("src", top / "way")
    if watchers.IS_ROOT and who == "user":
        subprocess.run(["chown", "-hR", f"{watchers.USER_ID}:{watchers.USER_ID}", top], check=True)
    if watchers.IS_ROOT and who == "root":  # root works on somebody else's directory
        subprocess.run(["chown", "-hR", "4321:4321", top], check=True)
    assert post.run("create", "--name", "fix", "--workspace", top).returncode == 0
    return top


def file(post, verb, *args, stdin=b""):
    return subprocess.run([*post.before, str(post.ringfort), "file", verb, *map(str, args)], env=post.env, input=stdin,
                          capture_output=True, cwd=post.top, check=False)


def run_in(post, script):
    done = post.run("exec", "fix", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    return done.stdout


def inside(post):
    return json.loads(post.run("exec", "fix", "--", "/usr/bin/python3", "-c", PICTURE).stdout)


def outside(post):
    """The same picture, from outside."""
    seen = {}
    for row in json.loads(file(post, "find", "-w", "fix", "--json").stdout):
        what, = json.loads(file(post, "stat", "-w", "fix", "--json", row["path"]).stdout)
        content = what.get("target", "")
        if row["type"] == "file":
            content = file(post, "cat", "-w", "fix", row["path"]).stdout.hex()
        seen[row["path"]] = [what["mode"], content]
    return seen


def test_what_is_read_is_what_a_box_sees(post, tree):
    seed = int(os.environ.get("RF_SEED", random.randrange(10**6)))
    for step in range(HISTORIES):
        done = post.run("exec", "fix", "--", "/usr/bin/python3", "-c", RANDOM, str(seed + step))
        assert done.returncode == 0, done.stderr
        assert outside(post) == inside(post), f"RF_SEED={seed} step {step}"


def test_files_are_printed_listed_and_found(post, tree):
    run_in(post, "rm src/main.c; echo new > src/new.c; printf 'four\\nneedle here\\n' > found")
    done = file(post, "cat", "-w", "fix", "data.bin", "found")
    assert done.stdout == b"\0needle\xfffour\nneedle here\n", done.stderr
    assert file(post, "ls", "-w", "fix").stdout.decode().split() == ["closed", "data.bin", "found", "link", "src/", "way"]
    assert file(post, "ls", "-w", "fix", "src").stdout.decode().split() == ["deep/", "new.c"]
    assert file(post, "ls", "-w", "fix", "--at", "@0", "src").stdout.decode().split() == ["deep/", "main.c"]
    assert file(post, "cat", "-w", "fix", "--at", "@0", "src/main.c").stdout == b"one\ntwo needle\nthree\n"
    found = file(post, "find", "-w", "fix", "--name", "*.c").stdout.decode().split()
    assert found == ["src/new.c", "src/deep/more.c"]
    assert file(post, "find", "-w", "fix", "--name", "src/*.c").stdout.decode().split() == ["src/new.c"]
    assert file(post, "find", "-w", "fix", "./src//").stdout.decode().split() == ["src/deep/", "src/new.c", "src/deep/more.c"]
    assert file(post, "find", "-w", "fix", "../tree").returncode == 125
    hits = json.loads(file(post, "find", "-w", "fix", "--content", "needle", "--json").stdout)
    assert [(row["path"], row.get("line"), row["text"]) for row in hits] == [
        ("data.bin", 1, None), ("found", 2, "needle here"), ("src/deep/more.c", 1, "needle")]
    what, = json.loads(file(post, "stat", "-w", "fix", "--json", "link").stdout)
    assert (what["type"], what["target"]) == ("link", "/etc/passwd")


def test_the_first_word_can_be_left_out(post, tree):
    assert post.run("cat", "-w", "fix", "src/main.c").stdout == file(post, "cat", "-w", "fix", "src/main.c").stdout.decode()
    for word in ("ls", "stat", "find"):
        assert post.run(word, "-w", "fix").stdout == file(post, word, "-w", "fix").stdout.decode() != ""
    refused = post.run("rm", "fix:src/main.c")
    assert refused.returncode == 125 and "ringfort file rm -w fix src/main.c" in refused.stderr
    assert post.run("workspaces").stdout.startswith("fix ")


def test_what_is_written_is_there_for_the_box_and_can_be_undone(post, tree, who):
    before = inside(post)
    assert file(post, "cp", "-w", "fix", "-", ":made/on/the/way", stdin=b"put\n").returncode == 0
    source = post.top / "source"
    source.write_text("replaced\n")
    source.chmod(0o755)
    assert file(post, "cp", source, "fix:closed").returncode == 0
    assert file(post, "cp", source, "fix:src/").returncode == 0
    now = inside(post)
    assert now["made/on/the/way"] == ["100644", b"put\n".hex()] and now["made"][0] == "040755"
    assert now["closed"] == ["100640", b"replaced\n".hex()]  # as a shell's > would
    assert now["src/source"] == ["100755", b"replaced\n".hex()] and now["src/main.c"] == before["src/main.c"]
    assert outside(post) == now
    what, = json.loads(file(post, "stat", "-w", "fix", "--json", "made/on/the/way").stdout)
    assert what["uid"] == tree.stat().st_uid
    assert run_in(post, "echo more >> made/on/the/way; cat made/on/the/way") == "put\nmore\n"
    assert sorted(path.name for path in tree.iterdir()) == ["closed", "data.bin", "link", "src", "way"]
    assert (tree / "closed").read_text() == "mode\n"
    assert post.run("undo", "-w", "fix", "4").returncode == 0
    assert inside(post) == before
    log = json.loads(post.run("log", "-w", "fix", "--json").stdout)["points"]
    assert [point["command"] for point in log[:2]] == ["file cp - :made/on/the/way", f"file cp {source} :closed"]


def test_what_is_deleted_is_gone_for_the_box_and_only_there(post, tree):
    assert file(post, "rm", "-w", "fix", "src/main.c", "link").returncode == 0
    assert set(inside(post)) == {"src", "src/deep", "src/deep/more.c", "data.bin", "closed", "way"}
    refused = file(post, "rm", "-w", "fix", "src")
    assert refused.returncode == 125 and b"--recursive" in refused.stderr
    assert file(post, "rm", "-w", "fix", "-r", "src").returncode == 0
    assert "src" not in inside(post) and (tree / "src/deep/more.c").exists() and (tree / "link").is_symlink()
    # What is put in its place afterwards does not bring back what lay there.
    assert file(post, "cp", "-w", "fix", "-", ":src/only", stdin=b"x").returncode == 0
    assert {path for path in inside(post) if path.startswith("src/")} == {"src/only"}
    assert outside(post).keys() == inside(post).keys()


def test_all_of_it_or_nothing(post, tree):
    before = post.run("log", "-w", "fix", "--json").stdout
    done = file(post, "rm", "-w", "fix", "closed", "nothing")
    assert done.returncode == 1 and b"nothing" in done.stderr
    assert post.run("log", "-w", "fix", "--json").stdout == before and "closed" in inside(post)


def test_the_same_again_makes_no_point(post, tree):
    done = file(post, "cp", "-w", "fix", "-", ":closed", stdin=b"mode\n")
    assert done.returncode == 0 and b"had it so already" in done.stderr
    assert json.loads(post.run("log", "-w", "fix", "--json").stdout)["points"] == []


@pytest.mark.parametrize("path", ["/etc/passwd", "../tree/closed", "src/../closed", "src/../../x", "link", "way/main.c", "..",
                                  "src/../..", "closed/x", ""])
def test_no_path_leads_out(post, tree, path):
    """By `..`, from the root, through a link to a folder or to a file: all refused, and nothing is read or written."""
    for args, stdin in ((["cat", "-w", "fix", path], b""), (["cp", "-w", "fix", "-", f":{path}"], b"x"),
                        (["cp", f"fix:{path}", post.top / "out"], b"")):
        done = file(post, *args, stdin=stdin)
        assert done.returncode in (1, 125) and b"root:" not in done.stdout, args
        assert b"hint" in done.stderr or b"No such file" in done.stderr, done.stderr
    assert not (post.top / "out").exists() and json.loads(post.run("log", "-w", "fix", "--json").stdout)["points"] == []
    assert (tree / "src/main.c").read_text().startswith("one")


def test_links_that_a_box_makes_are_not_followed(post, tree):
    run_in(post, "rm -rf src; ln -s /etc src; ln -sf /etc/hostname closed; mkdir new; ln -s ../../../../etc new/up")
    for path in ("src/passwd", "closed", "new/up/passwd"):
        assert file(post, "cat", "-w", "fix", path).returncode in (1, 125)
        assert file(post, "cp", "-w", "fix", "-", f":{path}", stdin=b"x").returncode == 125
    assert "/etc/passwd" not in file(post, "find", "-w", "fix", "--content", "root:").stdout.decode()
    assert file(post, "rm", "-w", "fix", "closed").returncode == 0  # the link itself
    assert pathlib.Path("/etc/hostname").exists()


def test_a_mount_in_the_directory_is_not_entered(post, tree, who):
    if not post.is_room:
        pytest.skip("needs root, to mount")
    done = subprocess.run([*post.before, "sh", "-c", f"mount -t tmpfs none {tree}/src/deep && echo secret > {tree}/src/deep/in && "
                           f"{post.ringfort} file cat -w fix src/deep/in; {post.ringfort} file ls -w fix src/deep; "
                           f"umount {tree}/src/deep"], env=post.env, capture_output=True, text=True, check=False)
    assert "secret" not in done.stdout and "mounted" in done.stderr, done


def test_nothing_of_a_box_steers_a_terminal(post, tree):
    run_in(post, r"""printf 'a\033[2Jb\007\302\233c' > text; printf needle > "$(printf 'n\033]0;evil\007')"; """)
    for args in (["cat", "text"], ["ls"], ["ls", "-l"], ["find"], ["find", "--content", "b"]):
        leader, follower = pty.openpty()
        with subprocess.Popen([*post.before, str(post.ringfort), "file", args[0], "-w", "fix", *args[1:]], env=post.env, cwd=post.top,
                              stdin=subprocess.DEVNULL, stdout=follower, stderr=subprocess.DEVNULL) as process:
            os.close(follower)
            process.wait()
        sent = os.read(leader, 65536)
        os.close(leader)
        for hostile in (b"\x1b[2J", b"\x07", b"\x1b]0", b"\xc2\x9b"):
            assert hostile not in sent, (args, sent)


def test_copying_out_replaces_a_link_and_follows_none(post, tree, who):
    victim, place = post.top / "victim", post.top / "place"
    victim.write_text("untouched\n")
    place.symlink_to(victim)
    folder = post.top / "folder"
    folder.mkdir()
    if watchers.IS_ROOT and who == "user":
        os.chown(folder, watchers.USER_ID, watchers.USER_ID)
    run_in(post, "cp /bin/true tool; chmod 4755 tool 2>/dev/null || chmod 755 tool")
    assert file(post, "cp", "fix:src/main.c", place).returncode == 0
    assert victim.read_text() == "untouched\n" and not place.is_symlink() and place.read_text().startswith("one")
    assert file(post, "cp", "fix:tool", folder).returncode == 0
    assert (folder / "tool").stat().st_mode & 0o7777 == 0o755
    assert os.listdir(folder) == ["tool"]


def test_a_time_of_no_calendar_is_shown(post, tree):
    done = post.run("exec", "fix", "--", "python3", "-c", "import os; open('odd', 'w'); os.utime('odd', (2**62, 2**62))")
    assert done.returncode == 0, done.stderr
    for verb in ("ls", "stat"):
        done = file(post, verb, "-w", "fix", *(["-l"] if verb == "ls" else ["odd"]))
        assert done.returncode == 0 and b"odd" in done.stdout, done


def test_a_deep_tree_is_searched_in_no_time_as_far_as_paths_reach(post, tree):
    deep = "import os\nfor i in range(5000): os.mkdir('d'); os.chdir('d')\nopen('needle', 'w')"
    assert post.run("exec", "fix", "--", "python3", "-c", deep).returncode == 0
    began = watchers.time.monotonic()
    done = file(post, "find", "-w", "fix", "--name", "d")
    assert done.returncode == 0 and b"1 files and folders were not looked into" in done.stderr, done.stderr
    assert len(done.stdout.splitlines()) == 2049
    assert watchers.time.monotonic() - began < 30  # some minutes, if each were looked for from the top
    assert post.run("undo", "-w", "fix").returncode == 0 and post.run("gc").returncode == 0


def test_one_at_a_time(post, tree):
    with post.start("exec", "fix", "--", "sleep", "30") as holder:
        try:
            watchers.time.sleep(0.5)
            done = file(post, "rm", "-w", "fix", "closed")
            assert done.returncode == 125 and b"somebody works on workspace" in done.stderr
        finally:
            holder.kill()
            holder.communicate()


@pytest.mark.parametrize("args, word", [
    (["cat"], "which file"), (["rm"], "which file"), (["cp", "a", "b"], "colon"), (["cp", ":a", "fix:b"], "colon"), (["cp", "a"], "colon"),
    (["cp", "--at", "@0", "-", "fix:a"], "without --at"), (["cat", "-w", "fix", "--at", "nowhere", "x"], "has no point"),
    (["ls", "-w", "none"], "no workspace"), (["find", "-w", "fix", "--name", "a\\"], "--name"),
])
def test_what_is_wrong_is_said(post, tree, args, word):
    done = file(post, *args)
    assert done.returncode in (1, 125) and word in done.stderr.decode(), done.stderr


def test_what_was_written_is_recorded(post, tree):
    post.stand()
    assert file(post, "cp", "-w", "fix", "-", ":new", stdin=b"x").returncode == 0
    told, = post.events("--kind", "checkpoint")
    assert told["kind"] == "checkpoint" and "fix" in json.dumps(told), told


def test_cp_takes_no_more_than_it_may(post, tree, who):
    big = post.top / "big"
    with open(big, "wb") as out:
        out.write(b"b" * (2 << 20))
    big.chmod(0o644)
    post.run("create", "--name", "q", "--workspace", tree)
    done = post.run("file", "cp", "-w", "q", "--max-bytes", "1M", big, ":big")
    assert done.returncode != 0 and "--max-bytes" in done.stderr, done.stderr
    assert "big" not in post.run("file", "ls", "-w", "q").stdout
    assert post.run("file", "cp", "-w", "q", "--max-bytes", "2M", big, ":big").returncode == 0


def test_cp_leaves_holes_holes_both_ways(post, tree, who):
    sparse, back = post.top / "sparse", post.top / "back"
    with open(sparse, "wb") as out:
        out.seek(1 << 30)
        out.write(b"end")
    sparse.chmod(0o644)
    post.run("create", "--name", "q", "--workspace", tree)
    done = post.run("file", "cp", "-w", "q", sparse, ":sparse")
    assert done.returncode == 0, done.stderr
    done = post.run("file", "cp", "-w", "q", ":sparse", back)
    assert done.returncode == 0, done.stderr
    st = back.stat()
    assert st.st_size == (1 << 30) + 3 and st.st_blocks * 512 < 1 << 20, st


def test_who_copies_a_file_is_not_taken_for_a_program(post, tree, who):
    post.run("create", "--name", "q", "--workspace", tree)
    with post.start("file", "cp", "-w", "q", "-", ":late", stdin=subprocess.PIPE) as slow:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            done = post.run("checkpoint", "-w", "q", "now")
            if "a program runs" in done.stderr or "wait for" in done.stderr:  # else it has not begun
                break
            time.sleep(0.05)
        assert "a program runs" not in done.stderr and "wait for the other command" in done.stderr, done.stderr
        slow.communicate(b"late\n")


def test_find_does_not_read_holes(post, tree, who, need):
    need("strace")
    with open(tree / "sparse", "wb") as out:
        out.seek(48 << 20)
        out.write(b"needle\n")
    post.run("create", "--name", "q", "--workspace", tree)
    done = post.run("file", "find", "-w", "q", "--content", "needle", wrap=["strace", "-f", "-e", "trace=read,pread64"])
    assert "sparse" in done.stdout, done.stderr
    sizes = [int(line.rsplit("= ", 1)[1]) for line in done.stderr.splitlines() if line.startswith(("read(", "pread64(")) and
             line.rsplit("= ", 1)[-1].isdigit()]
    assert sizes and sum(sizes) < 1 << 20, sum(sizes)
