"""A hidden file that is replaced on the host stays hidden, or nothing runs.

The kernel detaches a mount whose mount point is replaced or removed in another mount namespace: an editor's save takes
the mask off every box that is there.  So a box is looked at right before a program is started in it, whether it was
built a moment ago or has waited in a warden.
"""
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import threading

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from wardens import IS_ROOT, USER_ID, Warden  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

SECRET = b"the-secret-of-this-test"


@pytest.fixture
def here(public):
    path = pathlib.Path(tempfile.mkdtemp(prefix="replaced-", dir=public))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def wardens(ringfort, public):
    found = {}
    yield lambda who: found.get(who) or found.setdefault(who, Warden(ringfort, who, public / f"replaced-{who}"))
    for warden in found.values():
        warden.close()


@pytest.fixture
def warden(wardens, as_who):
    return wardens(as_who)


def give(top):
    """Hands a tree to whoever runs the box as an ordinary user."""
    if not IS_ROOT:
        return
    os.lchown(top, USER_ID, USER_ID)
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            os.lchown(os.path.join(folder, name), USER_ID, USER_ID)


def write(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(SECRET + b"\n")


def save(path):
    """As `sed -i` and most editors do."""
    new = path.with_name(path.name + ".new")
    write(new)
    os.replace(new, path)


def make_again(path):
    """Often with the number of the old file."""
    path.unlink()
    write(path)


def move_away(path):
    """The mask goes along with the old one."""
    os.rename(path, path.with_name(path.name + "~"))
    write(path)


def replace_parent(path):
    os.rename(path.parent, path.parent.with_name("moved"))
    write(path)


def make_parent_again(path):
    shutil.rmtree(path.parent)
    write(path)


FILES = [("save", save), ("unlink and make", make_again), ("move away", move_away)]
FOLDERS = [*FILES, ("replace the folder", replace_parent), ("remove the folder", make_parent_again)]
CASES = [*((".env", name, how) for name, how in FILES), *((".aws/credentials", name, how) for name, how in FOLDERS),
         *((".config/gh/hosts.yml", name, how) for name, how in FOLDERS)]


@pytest.mark.parametrize("right", ["--read", "--write"])
@pytest.mark.parametrize("name, how, replace", CASES, ids=[f"{name} {how}" for name, how, _ in CASES])
def test_a_ready_box_hides_what_it_says_it_hides(name, how, replace, right, warden, here):
    path = here / name
    write(path)
    give(here)
    words = ["run", right, here, "--workdir", "/", "--", "cat", path]
    before = set(warden.waiting)
    first = warden.run(*words)
    assert SECRET not in first.stdout and b"hidden" in first.stderr
    assert warden.wait_for_ready(lambda pids: set(pids) - before)
    replace(path)
    give(here)
    done = warden.run(*words)
    assert SECRET not in done.stdout, how
    assert b"hidden" in done.stderr and done.returncode == 1, done.stderr


def test_a_ready_box_whose_hidden_files_were_left_alone_is_used(warden, here):
    """The look costs no box: what waits is what is handed out."""
    for name in (".env", ".aws/credentials", ".ssh/id_rsa"):
        write(here / name)
    give(here)
    words = ["run", "--write", here, "--workdir", "/", "--", "cat", here / ".env"]
    before = set(warden.waiting)
    warden.run(*words)
    waiting = set(warden.wait_for_ready(lambda pids: set(pids) - before)) - before
    warden.run(*words)
    assert not waiting & set(warden.waiting), "it was not given out"
    os.utime(here / ".env")  # a change of the file itself takes no mask away
    with (here / ".env").open("ab") as file:
        file.write(SECRET)
    before = set(warden.waiting)
    assert SECRET not in warden.run(*words).stdout


@pytest.mark.parametrize("name, how, replace", CASES, ids=[f"{name} {how}" for name, how, _ in CASES])
def test_a_box_that_is_being_made_starts_nothing_without_its_masks(name, how, replace, post, here):
    """A launcher of its own, held up between the walls and the start by a watcher that does not answer."""
    path = here / name
    write(path)
    give(here)
    watcher = post.stand()
    neighbour = post.start("run", "--no-warden", "--audit", "off", "--", "sleep", "60")
    try:
        assert eventually(lambda: has_a_box(neighbour.pid))
        watcher.send_signal(signal.SIGSTOP)
        run = post.start("run", "--no-warden", "--audit", "required", "--write", here, "--workdir", "/", "--", "cat", path)
        assert eventually(lambda: has_a_box(run.pid)), "no box was built"
        replace(path)
        give(here)
        watcher.send_signal(signal.SIGCONT)
        out, err = run.communicate(timeout=20)
    finally:
        watcher.send_signal(signal.SIGCONT)
        neighbour.kill()
        neighbour.communicate()
    assert SECRET not in out, how
    if run.returncode != 126:  # 126: the machine was so slow that the watcher was too late
        assert run.returncode == 1 and b"hidden" in err, err  # of another box, which hides what is there now


def test_nothing_starts_while_a_hidden_file_is_replaced_again_and_again(post, here):
    """An editor's one save is met by another box; what goes on for longer than three of them is refused."""
    write(here / ".env")
    give(here)
    is_over = threading.Event()

    def save_on():
        while not is_over.is_set():
            save(here / ".env")

    saver = threading.Thread(target=save_on)
    saver.start()
    try:
        words = ["run", "--no-warden", "--read", here, "--workdir", "/", "--", "true"]
        refused = [done for done in (post.run(*words) for _ in range(10)) if done.returncode != 0]
    finally:
        is_over.set()
        saver.join()
    assert refused, "each was made within one save and the next"
    for done in refused:
        assert done.returncode == 125 and "/.env" in done.stderr and "try again" in done.stderr, done


def has_a_box(launcher):
    """Whether a launcher has a box, up to its pid 1; it shares the launcher's name until then."""
    try:
        children = pathlib.Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
        return any(os.readlink(f"/proc/{pid}/exe").endswith("/ringfort-init") for pid in children)
    except OSError:
        return False


@pytest.mark.parametrize("who", ["a launcher", "a warden"])
def test_a_place_within_a_tree_is_what_the_policy_puts_there(who, post, warden, here):
    """A folder that is shown read-only within a writable one: without its mount the box could write there."""
    tree = here / "tree"
    (tree / "kept").mkdir(parents=True)
    give(here)
    words = ["--write", tree, "--read", tree / "kept", "--workdir", "/", "--", "touch", tree / "kept/new"]

    def replace():
        os.rename(tree / "kept", here / "old")
        (tree / "kept").mkdir()
        give(here)

    if who == "a warden":
        before = set(warden.waiting)
        assert warden.run("run", *words).returncode == 1
        assert warden.wait_for_ready(lambda pids: set(pids) - before)
        replace()
        assert warden.run("run", *words).returncode == 1
    else:
        watcher = post.stand()
        neighbour = post.start("run", "--no-warden", "--audit", "off", "--", "sleep", "60")
        assert eventually(lambda: has_a_box(neighbour.pid))
        watcher.send_signal(signal.SIGSTOP)
        run = post.start("run", "--no-warden", "--audit", "required", *words)
        assert eventually(lambda: has_a_box(run.pid)), "no box was built"
        replace()
        watcher.send_signal(signal.SIGCONT)
        _, err = run.communicate(timeout=20)
        neighbour.kill()
        neighbour.communicate()
        assert run.returncode in (1, 126), err  # made once more, with the folder that is there now
    assert not (tree / "kept/new").exists()
