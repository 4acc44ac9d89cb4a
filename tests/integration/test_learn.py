"""`ringfort policy learn`, files and programs: what it writes lets the same run pass again, and not much more."""
import pathlib
import textwrap

import pytest

pytestmark = pytest.mark.usefixtures("as_who")


@pytest.fixture
def project(workdir):
    """A folder with data, that every caller may read and write."""
    for name in ("data", "out", "many"):
        (workdir / name).mkdir()
        (workdir / name).chmod(0o777)
    for name in ("a", "b"):
        (workdir / "data" / name).write_text(name)
    for i in range(30):
        (workdir / "many" / f"f{i}").write_text(str(i))
    return workdir


def learn(call, where, *words, rc=0):
    """Learns into a new file; returns its path and its text."""
    number = len(list(where.parent.glob(where.name + "-*.yaml")))
    path = where.parent / f"{where.name}-{number}.yaml"
    done = call("policy", "learn", *words, cwd=where)
    assert done.code == rc, done.err
    path.write_bytes(done.out)
    path.chmod(0o644)
    return path, done.out.decode()


@pytest.fixture(autouse=True)
def clean(workdir):
    yield
    for path in workdir.parent.glob(workdir.name + "-*.yaml"):
        path.unlink()


def rules(text):
    return [line.strip()[2:].strip('"') for line in text.splitlines() if line.strip().startswith("- ")]


def test_what_was_learnt_lets_the_run_pass_and_not_what_lies_beside(call, project):
    script = "cat data/a && echo new > out/x && mv out/x out/y && head -c 1 out/y"
    policy, text = learn(call, project, "--read", "data", "--write", "out", "--", "sh", "-c", script)
    assert f"{project}/data/a" in rules(text) and f"{project}/out" in rules(text)
    assert f"{project}/data" not in rules(text) and "current: none" in text
    assert {"sh", "cat", "mv", "head"} <= set(rules(text))
    (project / "out" / "y").unlink()
    again = call("run", "--policy", policy, "--", "sh", "-c", script, cwd=project)
    assert (again.code, again.out) == (0, b"an"), again.err
    for beside in ("cat data/b", "cat many/f1", "ls data/..; ls many", "tail -c 1 data/a", "echo x > data/a"):
        other = call("run", "--policy", policy, "--", "sh", "-c", beside, cwd=project)
        assert other.code != 0, (beside, other.out)


def test_a_folder_that_was_listed_or_of_which_many_were_read_is_granted_as_one(call, project):
    policy, text = learn(call, project, "--", "sh", "-c", "cat " + " ".join(f"many/f{i}" for i in range(20)) + " > /dev/null")
    assert f"{project}/many" in rules(text) and "current: none" in text
    assert call("run", "--policy", policy, "--", "cat", "many/f29", cwd=project).out == b"29"
    assert call("run", "--policy", policy, "--", "cat", "data/a", cwd=project).code != 0
    policy, text = learn(call, project, "--", "sh", "-c", "ls data")
    assert f"{project}/data" in rules(text)
    assert call("run", "--policy", policy, "--", "ls", "data", cwd=project).out == b"a\nb\n"


def test_the_walls_stand_while_it_learns_and_what_was_refused_is_learnt(call, project):
    inner = project / "inner"
    inner.mkdir()
    inner.chmod(0o777)
    before = sorted(path.name for path in inner.iterdir())
    script = f"cat {project}/data/a; echo x > made; cat {project}/data/a made"
    policy, text = learn(call, inner, "--", "sh", "-c", script, rc=1)
    assert sorted(path.name for path in inner.iterdir()) == before  # the current directory is read-only
    assert "# Asked for, which is new" in text and "# Asked to write, which is new" in text
    assert f"{project}/data/a" in rules(text) and str(inner) in rules(text)
    again = call("run", "--policy", policy, "--", "sh", "-c", script, cwd=inner)
    assert (again.code, again.out) == (0, b"aax\n"), again.err
    assert (inner / "made").read_text() == "x\n"
    assert call("run", "--policy", policy, "--", "cat", f"{project}/data/b", cwd=inner).code != 0


def test_credentials_are_named_and_never_granted(call, project):
    inner = project / "inner"
    inner.mkdir()
    (project / ".ssh").mkdir()
    (project / ".ssh").chmod(0o755)
    for name in (".ssh/id_rsa", ".env"):
        (project / name).write_text("secret")
        (project / name).chmod(0o644)
    _, text = learn(call, inner, "--", "sh", "-c", f"cat {project}/.ssh/id_rsa {project}/.env; ls {project}/.ssh; true")
    assert "secret" not in text and not any(".ssh" in rule or ".env" in rule for rule in rules(text))
    assert f"not allowed: {project}/.ssh/id_rsa, which is where credentials are kept" in text
    assert f"not allowed: {project}/.env, which is where credentials are kept" in text


def test_real_programs_pass_again(call, project):
    (project / "m.c").write_text('#include "m.h"\nint main(void) { return M; }\n')
    (project / "m.h").write_text("#define M 0\n")
    (project / "unused.h").write_text("#define U 0\n")
    script = ("set -e; gcc -c -o out/m.o m.c; git init -q out/repo; cd out/repo; git config user.name a; git config user.email a@b.example;"
              " echo x > x; git add x; git commit -qm x; cd ../..; python3 -I -c 'import json, subprocess; print(subprocess.run([\"uname\"]).returncode)'")
    policy, text = learn(call, project, "--write", "out", "--", "sh", "-c", script)
    assert {"sh", "gcc", "git", "python3", "uname"} <= set(rules(text)) and f"{project}/m.h" in rules(text)
    assert not any("unused" in rule or "cc1" in rule or "git-core" in rule for rule in rules(text)), text
    for path in sorted((project / "out").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    again = call("run", "--policy", policy, "--", "sh", "-c", script, cwd=project)
    assert again.code == 0, again.err
    assert call("run", "--policy", policy, "--", "cat", "unused.h", cwd=project).code != 0


def test_a_program_that_it_makes_keeps_programs_from_being_named(call, project):
    script = "printf '#!/bin/sh\\necho ran\\n' > /tmp/tool && chmod +x /tmp/tool && /tmp/tool"
    policy, text = learn(call, project, "--", "sh", "-c", script)
    assert "commands:" not in text.replace("# commands", "") and "# commands: not said" in text
    assert call("run", "--policy", policy, "--", "sh", "-c", script, cwd=project).out == b"ran\n"


def test_links_lead_where_they_did(call, project):
    (project / "to").symlink_to("data/a")
    (project / "many" / "up").symlink_to("../data")
    script = "cat to many/up/b"
    policy, _ = learn(call, project, "--read", ".", "--", "sh", "-c", script)
    assert call("run", "--policy", policy, "--", "sh", "-c", script, cwd=project).out == b"ab"


def test_a_program_that_fools_around_ends_in_time(call, project):
    script = textwrap.dedent("""
        import ctypes, os, threading
        libc = ctypes.CDLL(None, use_errno=True)
        for bad in (0, 1, 8, 2**47 - 1, 2**64 - 1):
            libc.syscall(257, -100, ctypes.c_void_p(bad), 0)          # openat
            libc.syscall(59, ctypes.c_void_p(bad), None, None)        # execve
        for path in ("a/" * 3000, "x" * 5000, "\\n# files: {}", "/proc/self/fd/0", "/proc/1/root/etc", "", "//..//../data/a"):
            for way in (os.stat, os.listdir, os.readlink, lambda p: open(p).close()):
                try: way(path)
                except (OSError, ValueError): pass
        name = ctypes.create_string_buffer(b"data/a" + bytes(64))
        def change():
            for i in range(2000): name.raw = (b"data/a", b"data/b" * 9)[i % 2].ljust(70, bytes(1))
        threads = [threading.Thread(target=change)]
        threads += [threading.Thread(target=lambda: [libc.open(name, 0) for _ in range(200)]) for _ in range(3)]
        for one in threads: one.start()
        for one in threads: one.join()
    """)
    _, text = learn(call, project, "--", "python3", "-c", script)
    assert "python3" in rules(text) and "\n# files: {}" not in text
    done = call("policy", "learn", "--time", "1s", "--", "sh", "-c", "while :; do [ -e /x ]; done", cwd=project)
    assert done.code == 124


def test_where_it_goes(call, project):
    to = project / "learnt.yaml"
    done = call("policy", "learn", "-o", to, "--", "cat", "data/a", cwd=project)
    assert done.code == 0 and done.out == b"a"
    assert pathlib.Path(to).read_text().splitlines()[-1].strip() == "- cat"
    assert call("policy", "check", to).code == 0
