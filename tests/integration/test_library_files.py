"""The files of a workspace by libringfort: the same as by `ringfort file`, and nothing of the caller's is changed.

library/filer.c is the program; here it is run, and compared with what a box sees.
"""
import errno
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import watchers  # noqa: E402 # a place with a state folder of its own

pytestmark = pytest.mark.usefixtures("as_who")
ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def filer(public):
    library = next((path for folder in ("build-lib", "build") for path in (ROOT / folder).glob("src/lib/libringfort.a")), None)
    if not library:
        pytest.skip("there is no library here: run `make build`")
    path = public / "filer"
    subprocess.run(["cc", "-g", "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", "-o", path,
                    ROOT / "tests/integration/library/filer.c", library, "-lyaml", "-pthread"], check=True)
    return path


@pytest.fixture
def post(ringfort, public, who, request):
    folder = public / f"post-{abs(hash(request.node.name)) % 10**8}"
    with watchers.Post(ringfort, who, folder) as place:
        yield place
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tree(post, who):
    top = post.top / "tree"
    (top / "src").mkdir(parents=True)
    (top / "src/main.c").write_text("one\ntwo needle\nthree\n")
    (top / "data.bin").write_bytes(b"\0needle\xff")
    os.symlink("/etc/passwd", top / "link")
    os.symlink("src", top / "way")
    if watchers.IS_ROOT:
        owner = watchers.USER_ID if who == "user" else 4321
        subprocess.run(["chown", "-hR", f"{owner}:{owner}", top], check=True)
    assert post.run("create", "--name", "fix", "--workspace", top).returncode == 0
    return top


@pytest.fixture
def ask(post, filer):
    def run(*words, at="", stdin=b""):
        done = subprocess.run([*post.before, str(filer), "fix", at, *map(str, words)], env=post.env, input=stdin, cwd=post.top,
                              capture_output=True, check=False)
        return done.returncode, done.stdout.decode() + done.stderr.decode()

    return run


def in_box(post, script):
    done = post.run("exec", "fix", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_box_and_the_library_see_the_same_files(post, tree, ask):
    before = sorted(path.name for path in tree.rglob("*"))
    in_box(post, "echo box > new; rm data.bin; mkdir -m 700 mine")
    assert ask("ls", ".") == (0, "link link 0777 11 -> /etc/passwd\nfolder mine 0700 0\nfile new 0644 4\nfolder src 0755 0\n"
                                 "link way 0777 3 -> src\n")
    assert ask("cat", "new") == (0, "box\n")
    assert ask("write", "src/deep/er", "written") == (0, "") and in_box(post, "cat src/deep/er; stat -c %a src/deep/er") == "written640\n"
    assert ask("put", "new", stdin=b"again\n") == (0, "") and in_box(post, "cat new") == "again\n"
    assert ask("find", ".", "*.c", "needle") == (0, "file src/main.c 0644 21 2:two needle\n")
    assert ask("stat", "link") == (0, "link link 0777 11 -> /etc/passwd\n")
    assert ask("rm", "src")[0] == 1 and ask("rm", "src", "with all") == (0, "") and in_box(post, "ls") == "link\nmine\nnew\nway\n"
    assert ask("cat", "new", at="@1") == (0, "box\n") and ask("ls", ".", at="nowhere")[0] == 1
    assert post.run("undo", "-w", "fix", "3").returncode == 0 and ask("cat", "new") == (0, "box\n")
    assert sorted(path.name for path in tree.rglob("*")) == before


def test_no_path_leads_out_and_nothing_beyond_the_limit_comes_in(post, tree, ask):
    for path in ("/etc/passwd", "../state", "src/../../x", "link", "way/main.c", ""):
        code, said = ask("cat", path)
        assert code == 1 and "root:" not in said and int(said.split()[0]) in (-errno.EINVAL, -errno.ELOOP, -errno.ENOENT, -errno.EXDEV), said
        assert ask("write", path, "x")[0] == 1 and ask("rm", path, "all")[0] == (0 if path == "link" else 1), path
    code, said = ask("put", "big", 10, stdin=b"x" * 11)
    assert code == 1 and said.startswith(f"{-errno.EDQUOT} ")
    assert ask("put", "big", 10, stdin=b"x" * 10)[0] == 0
    with post.start("exec", "fix", "--", "sh", "-c", "echo ready; sleep 30") as run:
        assert run.stdout.readline() == b"ready\n"
        assert ask("write", "busy", "x")[1].startswith(f"{-errno.EBUSY} ")
        run.kill()


def test_the_process_that_asks_stays_as_it_was(post, tree, ask):
    in_box(post, "mkdir dark; echo x > dark/deep; chmod 0 dark")
    assert ask() == (0, "no trace\n")
