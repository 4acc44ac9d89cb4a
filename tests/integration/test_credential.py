"""ringfort credential: what is kept for a server's tenants, and that its value is shown nowhere."""
import contextlib
import json
import os
import subprocess

import pytest

from wardens import IS_ROOT, PATH, USER_ID, become


@pytest.fixture(params=["root", "user"])
def own(request, ringfort, tmp_path_factory):
    """`ringfort credential ...` with a state of its own; gives the run, and the folder that the files are in."""
    who = request.param
    if who == "root" and not IS_ROOT:
        pytest.skip("needs root")
    folder = tmp_path_factory.mktemp("state")
    folder.chmod(0o700)
    before, kept = become(who), folder / "state/ringfort/credentials"
    if who == "root":  # whose state has one place: with another one there
        before = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                  'mount -t tmpfs none /var/lib && mkdir -p -m 700 /var/lib/ringfort && mount --bind "$0" /var/lib/ringfort && exec "$@"', str(folder)]
        kept = folder / "credentials"
    elif IS_ROOT:
        os.chown(folder, USER_ID, USER_ID)
        for path in folder.parents:
            with contextlib.suppress(OSError):
                if path.stat().st_mode & 0o77 == 0:
                    path.chmod(path.stat().st_mode | 0o11)

    def run(*words, typed="", **variables):
        env = {"PATH": PATH, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "LANG": "C.UTF-8", **variables}
        return subprocess.run([*before, ringfort, "credential", *words], env=env, cwd="/", input=typed, capture_output=True,
                              text=True, timeout=30, check=False)

    return run, kept


def test_a_credential_is_kept_for_its_owner_alone_and_listed_without_its_value(own):
    run, folder = own
    done = run("set", "--tenant", "acme", "github", "hosts=api.github.com,*.github.dev", "env=GH", typed="first-value\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    file = folder / "acme@github"
    assert folder.stat().st_mode & 0o777 == 0o700 and file.stat().st_mode & 0o777 == 0o600
    assert file.read_text().endswith("\n\nfirst-value")
    listed = json.loads(run("ls", "--json").stdout)
    assert [(one["name"], one["tenant"], one["hosts"], one["header"], one["env"]) for one in listed] == \
        [("github", "acme", ["api.github.com", "*.github.dev"], "Authorization: Bearer {}", "GH")]
    assert "first-value" not in json.dumps(listed) + run("ls").stdout
    assert json.loads(run("ls", "--json", "--tenant", "other").stdout) == []


def test_its_value_is_a_line_typed_a_variable_or_a_file_and_another_one_replaces_it(own):
    run, folder = own
    home = next(path for path in folder.parents if path.exists())
    (home / "key").write_text("from-a-file\n")
    (home / "key").chmod(0o600)
    os.chown(home / "key", home.stat().st_uid, -1)
    for words, value in ((["from=env:TOKEN"], "from-a-variable"), ([f"from=file:{home}/key"], "from-a-file"), ([], "typed")):
        done = run("set", "x", "hosts=a.example", *words, typed="typed\nand more\n", TOKEN="from-a-variable")
        assert done.returncode == 0, done.stderr
        assert (folder / "local@x").read_text().endswith("\n\n" + value)
    assert [path.name for path in folder.iterdir()] == ["local@x"]


@pytest.mark.parametrize("words,why", [
    (["x"], "hosts: missing"), (["x", "hosts=*"], "bound to names"), (["x", "ghp_0123456789"], "is no FIELD=VALUE"),
    (["x", "hosts=a.example", "from=ghp_0123456789"], "where the value comes from"), (["../x", "hosts=a.example"], "not the name"),
    (["--tenant", "a/b", "x", "hosts=a.example"], "can't be a name"), (["x", "hosts=a.example", "value=1"], "unknown key"),
    (["x", "hosts=a.example", "from=env:NONE"], "there is no variable NONE"), ([], "called"),
    (["x", "hosts=a.example", "header=Host: {}"], "is not a header")])
def test_what_is_wrong_is_refused_before_anything_is_kept(own, words, why):
    run, folder = own
    done = run("set", *words, typed="value\n")
    assert done.returncode == 125 and why in done.stderr and "ghp_0123456789" not in done.stderr
    assert not folder.exists() or not list(folder.iterdir())


def test_one_is_removed_and_there_is_none_then(own):
    run, folder = own
    assert run("set", "x", "hosts=a.example", typed="v\n").returncode == 0
    assert run("rm", "--tenant", "other", "x").returncode == 1
    assert run("rm", "x").returncode == 0 and list(folder.iterdir()) == []
    done = run("rm", "x")
    assert done.returncode == 1 and "has no credential `x`" in done.stderr
