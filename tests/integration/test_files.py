"""What a box sees of the host's files: the current directory, --read, --write, and where it starts."""
import os
import shutil
import signal
import subprocess
import tempfile

import pytest

from helpers import USER_ID

pytestmark = pytest.mark.usefixtures("as_who")


# ------------------------------------------------------------- names and places

def test_the_working_directory_can_be_chosen(run_box):
    assert run_box("--workdir", "/usr/bin", "--", "pwd").out == b"/usr/bin\n"


@pytest.mark.parametrize("path", ["/no/such/place", "relative", "/etc/passwd"])
def test_a_working_directory_that_is_none_is_an_error(run_box, path):
    done = run_box("--workdir", path, "--", "true")
    assert done.code == 125 and path.encode() in done.err


def test_the_host_has_a_name_of_its_own(run_box):
    assert run_box("--", "uname", "-n").out == b"box\n"
    assert run_box("--hostname", "fort-1", "--", "uname", "-n").out == b"fort-1\n"
    assert run_box("--hostname", "fort_1", "--", "true").code == 125
    assert run_box("--hostname", "x" * 64, "--", "true").code == 125


# ------------------------------------------------------------- the current directory

def test_the_current_directory_is_shown_at_its_own_path_read_only(run_box, workdir):
    (workdir / "file").write_text("content")
    done = run_box("--", "sh", "-c", "pwd; cat file; touch new || echo x > file || rm file || exit 9")
    assert done.out.startswith(f"{workdir}\ncontent".encode())
    assert done.code == 9 and b"Read-only file system" in done.err
    assert os.listdir(workdir) == ["file"]


@pytest.mark.parametrize("cwd", ["/", "/etc", "/tmp", "/var/lib", "/proc", "/dev",
                                 "/root", "/home"])
def test_a_current_directory_that_would_show_too_much_is_not_shown(run_box, run_json, cwd, as_who):
    if not os.path.isdir(cwd):
        pytest.skip(f"no {cwd} on this machine")
    done = run_box("--", "pwd", cwd=cwd)
    assert (done.code, done.out) == (0, b"/home/box\n")
    if cwd == "/root" and as_who == "user":
        return  # its name can't even be read
    assert cwd.encode() in done.err and b"--read" in done.err
    assert len(run_json("--", "true", cwd=cwd)["warnings"]) == 1


@pytest.mark.parametrize("name", [".ssh", ".aws", ".gnupg", ".kube/cache", ".config/gcloud"])
def test_a_folder_of_credentials_is_not_shown(run_box, workdir, name):
    (workdir / name).mkdir(parents=True)
    (workdir / name / "key").write_text("secret")
    for folder in (workdir / name, (workdir / name).parent):
        os.chmod(folder, 0o755)
    done = run_box("--", "sh", "-c", f"pwd; cat '{workdir / name}/key'", cwd=workdir / name)
    assert done.out == b"/home/box\n" and b"credentials" in done.err and b"--read" in done.err


def test_naming_the_current_directory_shows_it_all_the_same(run_box, workdir):
    (workdir / ".ssh").mkdir(mode=0o755)
    (workdir / ".ssh/config").write_text("x")
    done = run_box("--read", ".", "--", "cat", "config", cwd=workdir / ".ssh")
    assert (done.code, done.out) == (0, b"x")


def test_the_current_directory_can_be_left_out(run_box, workdir):
    done = run_box("--current", "none", "--", "sh", "-c", f"pwd; ls {workdir}")
    assert done.out == b"/home/box\n" and done.code == 2


def test_a_current_directory_that_was_removed_is_no_obstacle(command, environment, workdir):
    gone = workdir / "gone"
    gone.mkdir()
    done = subprocess.run(["sh", "-c", f'cd {gone} && rmdir {gone} && exec "$@"', "sh",
                           *command("run", "--", "pwd")], env=environment, capture_output=True,
                          timeout=20, check=False)
    assert (done.returncode, done.stdout) == (0, b"/home/box\n"), done


# ------------------------------------------------------------- --read and --write

@pytest.fixture
def trees(workdir, as_who):
    """Three folders beside the current directory, in a folder of whoever runs."""
    base = tempfile.mkdtemp(prefix="trees-", dir=workdir.parent)
    os.chmod(base, 0o755)
    for name in ("a", "b", "c"):
        os.mkdir(f"{base}/{name}")
        with open(f"{base}/{name}/file", "w", encoding="ascii") as file:
            file.write(name)
    if as_who == "user" and os.geteuid() == 0:
        for folder, below, files in os.walk(base):
            for path in (folder, *(f"{folder}/{f}" for f in files)):
                os.chown(path, USER_ID, USER_ID)
    yield base
    shutil.rmtree(base)


def test_read_shows_a_folder_at_its_own_path_or_elsewhere(run_box, trees):
    done = run_box("--read", f"{trees}/a", "--read", f"{trees}/b:/data/b", "--", "cat",
                   f"{trees}/a/file", "/data/b/file")
    assert done == (0, b"ab", b"")
    assert run_box("--read", f"{trees}/a", "--", "ls", trees).out == b"a\n", "and nothing beside it"


@pytest.mark.parametrize("attempt", ["touch /d/new", "echo x >/d/file", "rm /d/file", "mkdir /d/sub",
                                     "chmod 777 /d/file", "mv /d/file /d/other"])
def test_what_read_shows_cannot_be_changed(run_box, trees, attempt):
    done = run_box("--read", f"{trees}/a:/d", "--", "sh", "-c", attempt)
    assert done.code != 0
    assert os.listdir(f"{trees}/a") == ["file"] and open(f"{trees}/a/file").read() == "a"


def test_read_shows_a_single_file(run_box, trees):
    done = run_box("--read", f"{trees}/a/file:/data/one", "--", "sh", "-c", "cat /data/one; ls /data")
    assert done == (0, b"aone\n", b"")


def test_write_lets_a_single_file_be_changed(run_box, trees):
    assert run_box("--write", f"{trees}/a/file", "--", "sh", "-c", f"echo new > {trees}/a/file").code == 0
    assert open(f"{trees}/a/file").read() == "new\n"


def test_relative_sources_count_from_the_current_directory(run_box, trees):
    done = run_box("--current", "none", "--read", "a", "--write", "./b:/b", "--", "sh", "-c",
                   f"cat {trees}/a/file /b/file; touch /b/new", cwd=trees)
    assert done == (0, b"ab", b"") and os.path.exists(f"{trees}/b/new")


def test_files_made_in_a_written_folder_belong_to_its_owner(run_box, trees):
    done = run_box("--write", f"{trees}/a", "--", "sh", "-c",
                   f"cd {trees}/a && echo more >> file && touch new && mkdir -p sub/sub && touch sub/sub/f")
    assert done == (0, b"", b"")
    owner = os.stat(f"{trees}/a")
    for name in ("file", "new", "sub", "sub/sub/f"):
        made = os.stat(f"{trees}/a/{name}")
        assert (made.st_uid, made.st_gid) == (owner.st_uid, owner.st_gid), name


@pytest.mark.parametrize("owner", [USER_ID, 23456])
def test_roots_box_writes_into_anothers_folder_as_that_other(run_box, trees, as_who, owner):
    if as_who != "root":
        pytest.skip("needs root")
    for path in ("a", "a/file"):
        os.chown(f"{trees}/{path}", owner, owner)
    os.chmod(f"{trees}/a", 0o700)
    os.chmod(f"{trees}/a/file", 0o600)
    done = run_box("--write", f"{trees}/a:/a", "--", "sh", "-c",
                   "cat /a/file && echo more > /a/file && touch /a/new && stat -c %U /a /a/new")
    assert done == (0, b"abox\nbox\n", b"")
    assert os.stat(f"{trees}/a/new").st_uid == os.stat(f"{trees}/a/new").st_gid == owner
    assert os.stat(f"{trees}/a/file").st_uid == owner


def test_two_written_folders_of_different_owners_keep_them(run_box, trees, as_who):
    if as_who != "root":
        pytest.skip("needs root")
    os.chown(f"{trees}/b", USER_ID, USER_ID)
    assert run_box("--write", f"{trees}/a:/a", "--write", f"{trees}/b:/b", "--", "touch", "/a/new",
                   "/b/new") == (0, b"", b"")
    assert os.stat(f"{trees}/a/new").st_uid == 0 and os.stat(f"{trees}/b/new").st_uid == USER_ID


def test_no_setuid_file_can_be_planted(run_box, trees):
    done = run_box("--write", f"{trees}/a:/a", "--", "sh", "-c",
                   "cp /usr/bin/id /a/id; chmod 4755 /a/id; chmod 2755 /a/id; chmod u+s /a/id; true")
    assert done.code == 0
    assert os.stat(f"{trees}/a/id").st_mode & 0o6000 == 0


def test_a_source_that_is_a_symbolic_link_is_refused_by_its_name(run_box, trees):
    os.symlink(f"{trees}/b", f"{trees}/link")
    for option in ("--read", "--write"):
        done = run_box(option, f"{trees}/link", "--", "true")
        assert done.code == 125
        assert f"{trees}/link".encode() in done.err and b"readlink -f" in done.err
        assert f"{trees}/b".encode() not in done.err  # who laid the link learns nothing of where it leads


def test_a_source_that_is_missing_is_named(run_box, trees):
    for option in ("--read", "--write"):
        done = run_box(option, f"{trees}/nowhere", "--", "true")
        assert done.code == 125 and f"{trees}/nowhere".encode() in done.err


@pytest.mark.parametrize("source", ["/dev/null", "/proc/self", "/sys", "/", "/run/ringfort"])
def test_sources_that_are_never_shown_are_refused(run_box, source, as_who):
    if source == "/run/ringfort" and as_who == "user":
        pytest.skip("is root's")
    done = run_box("--read", f"{source}:/data", "--", "true")
    assert done.code == 125 and done.err.startswith(b"ringfort: ")


def test_a_fifo_is_not_shown(run_box, trees):
    os.mkfifo(f"{trees}/a/pipe")
    done = run_box("--read", f"{trees}/a/pipe:/pipe", "--", "true")
    assert done.code == 125 and b"pipe" in done.err


def test_a_read_only_hole_in_a_written_folder_holds(run_box, trees):
    os.mkdir(f"{trees}/a/data")
    os.chown(f"{trees}/a/data", os.stat(trees).st_uid, os.stat(trees).st_gid)
    done = run_box("--write", f"{trees}/a", "--read", f"{trees}/a/data", "--", "sh", "-c",
                   f"cd {trees}/a; touch ok; touch data/no; mv data other; rmdir data")
    assert sorted(os.listdir(f"{trees}/a")) == ["data", "file", "ok"]
    assert os.listdir(f"{trees}/a/data") == [] and done.code != 0


def test_write_beneath_read_is_writable(run_box, trees):
    done = run_box("--read", f"{trees}/a", "--write", f"{trees}/b:{trees}/c", "--read", f"{trees}/c:/c",
                   "--", "sh", "-c", f"touch {trees}/c/new && ! touch /c/new")
    assert done.code == 0 and os.path.exists(f"{trees}/b/new") and not os.path.exists(f"{trees}/c/new")


@pytest.mark.parametrize("place", ["/usr", "/usr/share/x", "/", "/etc", "/etc/passwd", "/proc/x", "/dev/x",
                                   "/lib", "/sys", "relative", "/a/../b", ""])
def test_a_place_over_what_every_box_has_is_refused(run_box, trees, place):
    done = run_box("--read", f"{trees}/a:{place}", "--", "true")
    assert done.code == 125 and b"files.read" in done.err and b"hint" in done.err


def test_two_sources_at_one_place_are_refused(run_box, trees):
    done = run_box("--read", f"{trees}/a:/d", "--read", f"{trees}/b:/d", "--", "true")
    assert done.code == 125 and b"/d" in done.err


@pytest.mark.parametrize("place", ["/tmp/d", "/home/box/d", "/run/d", "/var/tmp/d", "/d", "/srv/deep/er"])
def test_places_of_the_boxs_own_may_be_chosen(run_box, trees, place):
    assert run_box("--read", f"{trees}/a:{place}", "--", "cat", f"{place}/file") == (0, b"a", b"")


def test_names_with_spaces_and_odd_bytes_work(run_box, workdir):
    folder = os.path.join(os.fsencode(workdir), "sp ace ü".encode())
    os.mkdir(folder, 0o755)
    with open(folder + b"/f", "wb") as file:
        file.write(b"odd")
    assert run_box(b"--read", folder + b":/d", "--", "cat", "/d/f").out == b"odd"


def test_programs_in_a_shown_folder_can_be_run(run_box, trees):
    os.symlink("/usr/bin/id", f"{trees}/a/linked")
    with open(f"{trees}/a/tool", "w", encoding="ascii") as file:
        file.write("#!/bin/sh\necho ran\n")
    os.chmod(f"{trees}/a/tool", 0o755)
    assert run_box("--read", f"{trees}/a:/a", "--", "/a/tool").out == b"ran\n"
    assert run_box("--read", f"{trees}/a:/a", "--", "/a/linked").code == 0


def test_a_place_in_a_writable_tree_can_not_be_moved_away(run_box, workdir):
    """Renaming a directory above it would let another one take its name."""
    hooks = workdir / "tree/.git/hooks"
    hooks.mkdir(parents=True)
    for path in (hooks, hooks.parent, hooks.parent.parent):
        os.chown(path, workdir.stat().st_uid, workdir.stat().st_gid)
    code, _, err = run_box("--write", "tree", "--read", "tree/.git/hooks", "--", "sh", "-c",
                           "cd tree && touch .git/fine && mv .git other")
    assert code != 0 and b"busy" in err
    assert (workdir / "tree/.git/fine").exists() and hooks.is_dir()
    assert not (workdir / "tree/other").exists()


def test_the_program_may_use_every_processor_of_its_caller(run_box):
    """The box is built on one; what counts is what the program gets."""
    code, out, _ = run_box("--", "python3", "-c", "import os; print(sorted(os.sched_getaffinity(0)))")
    assert (code, out.decode().strip()) == (0, str(sorted(os.sched_getaffinity(0))))


def test_neighbours_in_a_writable_tree_do_not_uncover_each_other(run_box, workdir):
    """Two places beneath one directory: the second one's pin must not hide the first."""
    hooks, config = workdir / "tree/.git/hooks", workdir / "tree/.git/config"
    hooks.mkdir(parents=True)
    config.write_text("as it was")
    for path in (config, hooks, hooks.parent, hooks.parent.parent):
        os.chown(path, workdir.stat().st_uid, workdir.stat().st_gid)
    for order in ((hooks, config), (config, hooks)):
        code, _, err = run_box("--write", "tree", "--read", str(order[0]), "--read", str(order[1]), "--",
                               "sh", "-c", "echo evil > tree/.git/config; echo evil > tree/.git/hooks/x")
        assert code != 0 and err.count(b"Read-only") == 2
    assert config.read_text() == "as it was" and not list(hooks.iterdir())


def test_a_caller_that_ignores_its_children_gets_its_result(command, workdir, environment):
    done = subprocess.run(command("run", "--time", "5s", "--", "sh", "-c", "exit 7"), cwd=workdir, timeout=10,
                          env=environment, check=False,
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.returncode == 7
