"""Extended attributes where a tree of the host is writable: none are set, and programs work all the same."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import watchers  # noqa: E402 # who is an ordinary user

pytestmark = pytest.mark.usefixtures("as_who")

# Each call of the family by its number; the last two are newer than most kernels.
FAMILY = r"""
import ctypes, errno, os, platform
libc = ctypes.CDLL(None, use_errno=True)
numbers = dict(setxattr=188, lsetxattr=189, fsetxattr=190, removexattr=197, lremovexattr=198, fremovexattr=199,
               setxattrat=463, removexattrat=466)
if platform.machine() == "aarch64":
    numbers.update(setxattr=5, lsetxattr=6, fsetxattr=7, removexattr=14, lremovexattr=15, fremovexattr=16)
name, value = b"user.overlay.metacopy", b"x"
fd = os.open("f", os.O_RDWR | os.O_CREAT)
for call, number in numbers.items():
    first = (fd,) if call.startswith("f") else (-100, b"f", 0) if call.endswith("at") else (b"f",)
    rest = (name, value, 1, 0) if "set" in call else (name,)
    code = libc.syscall(number, *first, *rest)
    print(call, "done" if code == 0 else errno.errorcode[ctypes.get_errno()], flush=True)
print("left", os.listxattr("f"))
"""
REFUSED = {"setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"}


@pytest.fixture
def tree(public, who, request):
    """A tree of the caller's own on a disk."""
    top = public / f"attributes-{abs(hash(request.node.name)) % 10**8}"
    top.mkdir()
    if who == "user" and watchers.IS_ROOT:
        os.chown(top, watchers.USER_ID, watchers.USER_ID)
    yield top
    shutil.rmtree(top, ignore_errors=True)


def attempts(run_box, tree, *options):
    done = run_box("--write", tree, "--workdir", str(tree), *options, "--", "python3", "-c", FAMILY)
    return dict(line.split(" ", 1) for line in done.out.decode().splitlines())


def test_a_box_leaves_no_attributes_in_a_tree_of_the_host(run_box, tree):
    said = attempts(run_box, tree)
    assert {call for call, how in said.items() if how == "ENOTSUP"} == REFUSED, said
    assert said["setxattrat"] == said["removexattrat"] == "ENOSYS", said
    assert said["left"] == "[]" and os.listxattr(tree / "f") == []


def test_a_file_of_a_box_is_not_hidden_from_a_later_workspace(post, tree):
    script = f"import os; open('{tree}/seen', 'w').write('seen'); os.setxattr('{tree}/seen', 'user.overlay.metacopy', b'')"
    assert "not supported" in post.run("run", "--write", tree, "--", "python3", "-c", script).stderr
    assert os.listxattr(tree / "seen") == []
    assert post.run("run", "--workspace", tree, "--", "cat", tree / "seen").stdout == "seen"


def test_a_policy_can_keep_attributes(run_box, tree):
    said = attempts(run_box, tree, "--attributes", "keep")
    if said["setxattr"] == "ENOTSUP":
        pytest.skip("the tree's file system has no user attributes")
    assert said["fsetxattr"] == said["removexattr"] == "done", said


def test_where_nothing_of_the_host_is_writable_attributes_can_be_set(run_box, post, tree):
    done = run_box("--workdir", "/tmp", "--", "python3", "-c", FAMILY)
    assert b"removexattr ENOTSUP" not in done.out, done.out  # scratch has them from Linux 6.6 on
    done = post.run("run", "--workspace", tree, "--workdir", str(tree), "--", "python3", "-c",
                    "import os; open('f', 'w'); os.setxattr('f', 'user.mine', b'1'); print(os.getxattr('f', 'user.mine'))")
    assert done.stdout == "b'1'\n", done


def test_a_floor_with_a_profile_sets_none_either(run_box, tree, public):
    profile = public / "all.json"
    profile.write_text(json.dumps({"defaultAction": "SCMP_ACT_ALLOW"}))
    os.chmod(profile, 0o644)
    said = attempts(run_box, tree, "--syscalls", "floor", "--seccomp", str(profile))
    assert {call for call, how in said.items() if how == "ENOTSUP"} == REFUSED | {"setxattrat", "removexattrat"}, said


def test_why_names_the_key_and_explain_shows_it(call, tree):
    done = call("policy", "why", "--write", tree, "syscall", "setxattr")
    assert b"EOPNOTSUPP" in done.out and b"--attributes keep" in done.out, done
    plan = json.loads(call("policy", "explain", "--json", "--write", tree).out)
    assert plan["attributes"] == "refuse"
    plan = json.loads(call("policy", "explain", "--json", "--attributes", "keep").out)
    assert plan["attributes"] == "keep"


PROGRAMS = {
    "cp": "mkdir a; echo 1 > a/f; chmod 640 a/f; cp -a a b; cp -a --preserve=all a c; cmp a/f c/f; mv a d; install -m 600 d/f e",
    "tar": "mkdir a; echo 1 > a/f; tar --xattrs --acls -cf t.tar a; mkdir o; tar --xattrs --acls -xf t.tar -C o; cmp a/f o/a/f",
    "rsync": "mkdir a; echo 1 > a/f; rsync -a a/ b/; cmp a/f b/f",
    "git": "git init -q r; cd r; git config user.email a@b.c; git config user.name n; echo 1 > f; git add f; git commit -qm 1; "
           "git gc -q; cd ..; git clone -q r s; cmp r/f s/f",
    "npm": "mkdir p; cd p; echo '{\"name\":\"p\",\"version\":\"1.0.0\"}' > package.json; npm pack >/dev/null; npm install --offline "
           "--no-audit --no-fund >/dev/null; test -e p-1.0.0.tgz",
    "python3": "python3 -m venv v; v/bin/python -c 'import sys'; mkdir m; echo 'from setuptools import setup; setup(name=\"m\")' > m/setup.py; "
               "python3 -c 'import shutil; shutil.copytree(\"v\", \"w\", symlinks=True); shutil.copy2(\"m/setup.py\", \"n.py\")'",
    "sqlite3": "sqlite3 d.db 'pragma journal_mode=wal; create table t(a); insert into t values(1); vacuum; select * from t'",
    "sed": "echo a > f; sed -i s/a/b/ f; grep -q b f",
    "gcc": "echo 'int main(void){return 0;}' > m.c; gcc -o m m.c; ./m; strip m; objcopy m n; ./n",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_work_in_a_tree_of_the_host(run_box, tree, program):
    if not shutil.which(program):
        pytest.skip(f"no {program}")
    done = run_box("--write", tree, "--workdir", str(tree), "--memory", "1G", "--", "sh", "-ec", PROGRAMS[program])
    assert done.code == 0, done


def test_a_setfacl_says_that_it_cannot(run_box, tree):
    if not shutil.which("setfacl"):
        pytest.skip("no setfacl")
    done = run_box("--write", tree, "--workdir", str(tree), "--", "sh", "-c", "echo > f; setfacl -m u:1:r f")
    assert done.code != 0 and b"not supported" in done.err, done
    assert subprocess.run(["getfacl", "-cs", tree / "f"], capture_output=True, check=True).stdout == b""
