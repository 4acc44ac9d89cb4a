"""What a box does not see of the trees that it is shown: files.deny, and credentials by default."""
import json
import os
import subprocess
import time

import pytest

from helpers import USER_ID, eventually

pytestmark = pytest.mark.usefixtures("as_who")

SECRET = "the-secret-of-this-test"


@pytest.fixture
def tree(workdir, as_who):
    """A folder `w` in the current directory, with secrets at several depths."""
    top = workdir / "w"
    (top / "a/b/c").mkdir(parents=True)
    for path in (".env", "a/.env", "a/b/c/.env", "a/key.pem", "a/b/secret"):
        (top / path).write_text(SECRET)
    (top / "a/plain").write_text("plain")
    give(top, as_who)
    return top


def give(top, who):
    """Hands a tree to whoever runs the box."""
    if who != "user" or os.geteuid() != 0:
        return
    os.lchown(top, USER_ID, USER_ID)
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            os.lchown(os.path.join(folder, name), USER_ID, USER_ID)


def listing(top):
    """Everything about a tree that a placeholder or a change would alter."""
    found = []
    for folder, folders, files in os.walk(top):
        for name in [".", *folders, *files]:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            found.append((path, st.st_ino, st.st_mode, st.st_size, st.st_ctime_ns, st.st_nlink))
    return sorted(found)


def cat(*paths):
    return ("sh", "-c", "for f; do cat \"$f\" || ls -d \"$f\"; done", "sh", *map(str, paths))


# ------------------------------------------------------------- paths and patterns

@pytest.mark.parametrize("pattern, hidden, seen", [
    ("w/.env", [".env"], ["a/.env", "a/b/c/.env"]),
    ("{top}/a/b", ["a/b/secret", "a/b/c/.env"], [".env", "a/.env"]),
    ("**/.env", [".env", "a/.env", "a/b/c/.env"], ["a/plain"]),
    ("w/*/.env", ["a/.env"], [".env", "a/b/c/.env"]),
    ("w/**/.env", [".env", "a/.env", "a/b/c/.env"], ["a/key.pem"]),
    ("**/*.pem", ["a/key.pem"], ["a/plain"]),
    ("w/a/[jk]ey.???", ["a/key.pem"], ["a/plain"]),
    ("w/a/[!k]*", ["a/.env", "a/plain", "a/b/secret"], ["a/key.pem"]),
    ("w/a/b/**", ["a/b/secret", "a/b/c/.env"], ["a/.env"]),
    (".env", [], [".env"]),
])
@pytest.mark.parametrize("right", ["--read", "--write"])
def test_what_is_denied_can_not_be_opened_and_the_rest_can(run_box, tree, pattern, hidden, seen, right):
    pattern = pattern.format(top=tree)
    before = listing(tree)
    code, out, err = run_box("--credentials", "show", right, "w", "--deny", pattern, "--", *cat(
        *(tree / path for path in hidden)))
    assert SECRET.encode() not in out and err.count(b"Permission denied") >= len(hidden), (out, err)
    out = run_box("--credentials", "show", right, "w", "--deny", pattern, "--", *cat(
        *(tree / path for path in seen))).out
    assert out.decode() == "".join((tree / path).read_text() for path in seen)
    assert listing(tree) == before


def test_a_denied_folder_is_there_and_can_be_neither_listed_nor_entered(run_box, tree):
    done = run_box("--write", "w", "--deny", "w/a/b", "--", "sh", "-c",
                   f"cd {tree}/a; ls -d b && ! ls b && ! cd b && ! touch b/x && ! rmdir b && ! chmod 777 b")
    assert done.code == 0, done


def test_the_file_at_another_place_and_in_two_trees_is_hidden_in_each(run_box, tree):
    done = run_box("--read", "w:/one", "--read", "w/a:/two", "--write", "w/a/b:/three", "--deny",
                   "w/a/b/c/.env", "--", *cat("/one/a/b/c/.env", "/two/b/c/.env", "/three/c/.env",
                                              f"{tree}/a/b/c/.env"))
    assert SECRET.encode() not in done.out and done.err.count(b"Permission denied") == 4


def test_a_place_over_a_part_of_a_tree_is_judged_by_what_it_shows(run_box, tree, workdir, as_who):
    (workdir / "other").mkdir()
    (workdir / "other/.env").write_text("harmless")
    give(workdir / "other", as_who)
    done = run_box("--credentials", "show", "--read", "w:/t", "--read", "other:/t/a", "--deny", "w/a/.env",
                   "--", "cat", "/t/a/.env")
    assert (done.code, done.out) == (0, b"harmless")


def test_a_policy_file_denies_relative_to_its_folder(run_box, tree, workdir):
    (workdir / "sub").mkdir(mode=0o755)
    (workdir / "w/p.yaml").write_text("files: { read: [.], deny: [a/.env, 'a/*.pem'] }\n")
    os.chmod(workdir / "w/p.yaml", 0o644)
    done = run_box("--policy", "w/p.yaml", "--", *cat(f"{tree}/a/.env", f"{tree}/a/key.pem",
                                                      f"{tree}/a/plain"))
    assert done.out.startswith(f"{tree}/a/.env\n{tree}/a/key.pem\n".encode()) and b"plain" in done.out


def test_a_folder_with_a_wildcard_in_its_name_is_taken_literally(run_box, workdir, as_who):
    odd = workdir / "odd[1]*"
    odd.mkdir()
    (odd / "secret").write_text(SECRET)
    give(odd, as_who)
    done = run_box("--deny", "secret", "--", "cat", "secret", cwd=odd)
    assert done.code == 1 and b"Permission denied" in done.err


def test_deny_wins_over_read_of_another_source_and_contradicts_one_of_its_own(run_box, run_json, tree, workdir):
    (workdir / "p.yaml").write_text("files: { deny: [w/a] }\n")
    os.chmod(workdir / "p.yaml", 0o644)
    result = run_json("--policy", "p.yaml", "--read", "w/a/b:/b", "--", "ls", "/b")
    assert result["status"] == "failed" and "files.deny" in result["warnings"][0]
    done = run_box("--deny", "w/a", "--read", "w/a/b", "--", "true")
    assert done.code == 125 and b"files.deny" in done.err and b"files.read" in done.err


def test_the_current_directory_is_not_shown_when_it_is_denied(run_box, workdir):
    done = run_box("--deny", workdir, "--", "pwd")
    assert (done.code, done.out) == (0, b"/home/box\n") and b"files.deny" in done.err


# ------------------------------------------------------------- links

def test_a_link_of_a_denied_name_hides_what_it_leads_to(run_json, tree, as_who):
    os.symlink("b/secret", tree / "a/link.env")
    os.symlink("folder/secret", tree / "a/far.env")
    os.symlink("b", tree / "a/folder")
    os.symlink("/nowhere/at/all", tree / "a/lost.env")
    os.symlink("/usr/bin/env", tree / "a/usr.env")
    give(tree, as_who)
    for name in ("link.env", "far.env"):
        result = run_json("--read", "w", "--deny", f"w/a/{name}", "--", *cat(
            tree / "a" / name, tree / "a/b/secret", tree / "a/folder/secret"))
        assert SECRET not in result["stdout"]
        assert any("link" in warning for warning in result["warnings"]), result
    for name in ("lost.env", "usr.env"):
        assert run_json("--read", "w", "--deny", f"w/a/{name}", "--", "cat",
                        tree / "a/b/secret")["stdout"] == SECRET
    assert run_json("--deny", "w/a/usr.env", "--", tree / "a/usr.env", "true")["status"] == "ok"


@pytest.mark.parametrize("target", ["{top}/a/b/secret", "b/secret"])
def test_what_a_denied_link_leads_to_is_hidden_in_each_tree_that_shows_it(run_box, tree, as_who, target):
    (tree / "a/link").symlink_to(target.format(top=tree))
    give(tree, as_who)
    done = run_box("--current", "none", "--read", "w:/one", "--read", "w/a/b:/two", "--deny", "w/a/link", "--",
                   *cat("/one/a/b/secret", "/two/secret"))
    assert SECRET.encode() not in done.out and done.err.count(b"Permission denied") == 2, done


def test_links_that_lead_in_a_circle_or_upwards_are_no_obstacle(run_json, tree, as_who):
    os.symlink("two.env", tree / "one.env")
    os.symlink("one.env", tree / "two.env")
    os.symlink("../../../../../../../../../../etc", tree / "up.env")
    os.symlink(".", tree / "dot.env")
    give(tree, as_who)
    assert run_json("--read", "w", "--deny", "w/*.env", "--", "ls", tree)["status"] == "ok"


def test_a_pattern_never_goes_through_a_link(run_box, tree, workdir, as_who):
    (workdir / "beside").mkdir()
    (workdir / "beside/.env").write_text("beside")
    os.symlink("../beside", tree / "there")
    give(tree, as_who)
    done = run_box("--credentials", "show", "--deny", "w/there/.env", "--", "cat", "beside/.env")
    assert (done.code, done.out) == (0, b"beside")


@pytest.mark.parametrize("pattern", ["{top}/alias/a/.env", "{top}/alias/**/.env", "{top}/alias"])
def test_a_denied_path_that_leads_through_a_link_to_what_is_shown_is_refused(run_box, tree, workdir, as_who, pattern):
    os.symlink("w", workdir / "alias")
    pattern = pattern.format(top=workdir)
    done = run_box("--current", "none", "--read", "w", "--deny", pattern, "--", "cat", tree / "a/.env")
    assert done.code == 125 and done.out == b"" and str(tree).encode() in done.err, done
    (tree / "v").mkdir(mode=0o755)
    (workdir / "v").mkdir(mode=0o755)
    assert run_box("--current", "none", "--read", "v", "--deny", pattern, "--", "true").code == 0
    beside = run_box("--current", "none", "--read", "w/v", "--deny", pattern, "--", "true")
    assert beside.code == (0 if pattern.endswith("a/.env") else 125), beside


def test_a_second_name_of_a_hidden_file_is_warned_of(run_json, tree, as_who):
    os.link(tree / "a/.env", tree / "a/another")
    give(tree, as_who)
    result = run_json("--read", "w", "--deny", "**/.env", "--", "true")
    assert [w for w in result["warnings"] if "2 names" in w and "a/.env" in w], result["warnings"]


# ------------------------------------------------------------- nothing is made, nothing is left

def test_a_denied_path_that_is_not_there_is_never_made(start, tree):
    before = listing(tree)
    process = start("--write", "w", "--deny", "w/none", "--deny", "w/a/none/at/all", "--deny", "**/.env",
                    "--", "sh", "-c", "echo up; sleep 1")
    assert process.stdout.readline() == b"up\n"
    assert listing(tree) == before
    assert process.wait(10) == 0 and listing(tree) == before


def test_a_box_may_make_a_file_of_a_denied_name_itself(run_box, tree):
    done = run_box("--write", "w", "--deny", "**/mine", "--", "sh", "-c", f"echo x > {tree}/mine && cat {tree}/mine")
    assert (done.code, done.out) == (0, b"x\n")


def test_folders_above_a_hidden_file_can_not_be_moved_away(run_box, tree):
    (tree / "z").mkdir()
    give(tree, "user" if os.stat(tree).st_uid else "root")
    before = listing(tree)
    script = """if True:
        import os, sys
        os.chdir(sys.argv[1])
        for deed in ("os.rename('a', 'x')", "os.rename('a/b', 'x')", "os.rename('a/b/c', 'x')",
                     "os.rename('a/b/c/.env', 'x')", "os.unlink('a/b/c/.env')", "os.rmdir('a/b/c')",
                     "os.rename('a/plain', 'a/b/c/.env')", "os.rename('z', 'a/b')",
                     "os.link('a/b/c/.env', 'x')", "os.chmod('a/b/c/.env', 0o777)",
                     "open('a/b/c/.env', 'w')", "open('a/b/c/.env')", "os.truncate('a/b/c/.env', 0)",
                     "os.utime('a/b/c/.env')"):
            try:
                exec(deed)
                print("done:", deed)
            except OSError:
                pass
    """
    done = run_box("--write", "w", "--deny", "w/a/b/c/.env", "--", "python3", "-c", script, tree)
    assert done[:2] == (0, b"")
    assert listing(tree) == before


def test_files_beside_a_hidden_one_can_be_changed(run_box, tree):
    done = run_box("--write", "w", "--deny", "**/.env", "--", "sh", "-c",
                   f"cd {tree}/a && echo new > plain && touch fresh && mkdir deep && mv fresh deep/")
    assert done.code == 0 and (tree / "a/plain").read_text() == "new\n" and (tree / "a/deep/fresh").exists()


def test_a_tree_that_changes_all_the_time_stays_hidden(run_box, tree, as_who):
    """Renames beside the denied file, by a process of the host, while boxes are being made."""
    script = (f"import os, time\nend = time.time() + 4\nos.chdir({str(tree)!r})\n"
              "while time.time() < end:\n"
              " os.rename('a/b', 'a/q'); os.rename('a/q', 'a/b')\n"
              " os.symlink('/etc', 'a/l'); os.unlink('a/l')\n")
    changer = subprocess.Popen(["/usr/bin/python3", "-c", script])
    try:
        while changer.poll() is None:
            done = run_box("--write", "w", "--deny", "w/a/.env", "--", "cat", tree / "a/.env")
            assert SECRET.encode() not in done.out, done
            assert done.code in (1, 125), done
    finally:
        changer.kill()
        changer.wait()


# ------------------------------------------------------------- bounds

def test_a_pattern_that_matches_thousands_of_files_is_refused_by_name(run_box, workdir, as_who):
    many = workdir / "many"
    many.mkdir()
    for i in range(4200):
        (many / f"{i}.log").touch()
    give(many, as_who)
    begin = time.monotonic()
    done = run_box("--deny", "**/*.log", "--", "true")
    assert done.code == 125 and b"*.log" in done.err and b"4096" in done.err and b"hint" in done.err
    assert time.monotonic() - begin < 5
    assert run_box("--deny", "many", "--", "true").code == 0
    assert run_box("--deny", "**/1*.log", "--", "cat", many / "1.log").code == 1


def test_a_large_tree_is_looked_through_in_bounded_time(run_json, workdir, as_who):
    """Tens of thousands of entries, one of them denied."""
    for folder in range(60):
        (workdir / f"t/{folder}").mkdir(parents=True)
        for i in range(500):
            os.mknod(workdir / f"t/{folder}/{i}", 0o644)
    (workdir / "t/59/499.env").write_text(SECRET)
    give(workdir / "t", as_who)
    begin = time.monotonic()
    result = run_json("--deny", "**/*.env", "--", "cat", "t/59/499.env")
    assert time.monotonic() - begin < 5
    assert result["status"] == "failed" and [m["path"] for m in result["masked"]] == [
        str(workdir / "t/59/499.env")]


def test_a_folder_that_can_be_searched_and_not_listed_is_hidden_as_a_whole(run_box, tree, as_who):
    if as_who == "root" or os.geteuid() != 0:
        pytest.skip("needs a folder of another user")
    closed = tree / "a/b"
    os.chown(closed, 0, 0)
    closed.chmod(0o711)
    os.chmod(closed / "secret", 0o644)
    assert run_box("--read", "w", "--", "cat", closed / "secret").out == SECRET.encode()
    done = run_box("--read", "w", "--deny", "**/secret", "--", "cat", closed / "secret")
    assert done.code == 1 and SECRET.encode() not in done.out
    closed.chmod(0o700)
    assert run_box("--read", "w", "--deny", "**/secret", "--", "cat", tree / "a/plain").out == b"plain"


# ------------------------------------------------------------- our own state

@pytest.mark.parametrize("options, closed, secret", [
    (["--deny", "**/secret"], "a/b", "a/b/secret"),
    (["--deny", "**/secret"], "a", "a/b/secret"),
    (["--deny", "w/a/b/secret"], "a/b", "a/b/secret"),
    (["--deny", "w/a/b/secret"], "a", "a/b/secret"),
    (["--deny", "w/link"], "a/b", "a/b/secret"),
    ([], ".config", ".config/gh/hosts.yml"),
    ([], ".local", ".local/share/keyrings/login"),
])
@pytest.mark.parametrize("mode", [0o000, 0o600])
def test_a_closed_folder_of_the_callers_own_is_not_opened_by_chmod(run_box, tree, as_who, options, closed, secret,
                                                                   mode):
    (tree / secret).parent.mkdir(parents=True, exist_ok=True)
    (tree / secret).write_text(SECRET)
    (tree / "link").symlink_to("a/b/secret")
    give(tree, as_who)
    (tree / closed).chmod(mode)
    done = run_box("--write", "w", *options, "--", "sh", "-c", f"cd w; chmod 700 {closed}; cat {secret}")
    (tree / closed).chmod(0o700)
    assert done.code == 1 and SECRET.encode() not in done.out and b"Permission denied" in done.err, done


def test_a_closed_folder_that_is_shown_itself_is_refused_as_its_credentials_are_not_known(run_box, tree, as_who):
    if as_who == "root":
        pytest.skip("closed to no root")
    tree.chmod(0)
    done = run_box("--current", "none", "--write", "w", "--", "sh", "-c", f"chmod 700 {tree}; cat {tree}/.env")
    tree.chmod(0o700)
    assert done.code != 0 and done.out == b"" and b"hide the credentials" in done.err, done


def test_our_own_state_in_a_shown_home_is_hidden(run_box, workdir, as_who):
    state = workdir / "home/.local/state/ringfort"
    state.mkdir(parents=True, mode=0o700)
    (state / "x").write_text(SECRET)
    give(workdir / "home", as_who)
    for right in ("--read", "--write"):
        done = run_box(right, "home", "--", "sh", "-c", f"cat {state}/x; mv {state} x; mv home/.local y",
                       env={"XDG_STATE_HOME": str(state.parent)})
        assert SECRET.encode() not in done.out and done.code != 0, done
    assert (state / "x").exists()


# ------------------------------------------------------------- credentials

def test_well_known_credentials_at_the_top_of_a_tree_are_hidden_and_said(run_box, run_json, workdir, as_who):
    names = [".env", ".env.local", ".netrc", ".npmrc", ".aws/credentials", ".config/gh/hosts.yml",
             ".docker/config.json", ".cargo/credentials.toml", "id_ed25519"]
    for name in names:
        (workdir / name).parent.mkdir(parents=True, exist_ok=True)
        (workdir / name).write_text(SECRET)
    (workdir / ".docker/php.ini").write_text("fine")
    (workdir / ".env.example").write_text("fine")
    give(workdir, as_who)
    os.chmod(workdir, 0o755)
    before = listing(workdir)
    done = run_box("--", *cat(*names))
    assert SECRET.encode() not in done.out
    line = [line for line in done.err.split(b"\n") if line.startswith(b"ringfort: hidden:")]
    assert len(line) == 1 and b".env" in line[0] and b".npmrc" in line[0] and b"--read" in line[0]
    assert run_box("--", *cat(".docker/php.ini", ".env.example")).out == b"finefine"
    masked = {m["path"]: m["rule"] for m in run_json("--", "true")["masked"]}
    assert masked[str(workdir / ".aws")] == "files.credentials" and len(masked) == len(names)
    assert listing(workdir) == before


def test_nothing_to_hide_is_nothing_to_say(run_box, run_json, workdir):
    (workdir / "plain").write_text("x")
    assert run_box("--", "true").err == b""
    assert run_json("--", "true")["masked"] == []


@pytest.mark.parametrize("options", [("--read", ".env"), ("--write", ".env"), ("--credentials", "show")])
def test_a_credential_that_is_named_is_shown(run_box, workdir, as_who, options):
    (workdir / ".env").write_text(SECRET)
    (workdir / ".npmrc").write_text("other")
    give(workdir, as_who)
    os.chmod(workdir, 0o755)
    done = run_box(*options, "--", "cat", ".env")
    assert (done.code, done.out) == (0, SECRET.encode()), done
    if options[0] != "--credentials":
        assert run_box(*options, "--", "cat", ".npmrc").code == 1


def test_a_folder_of_credentials_that_is_named_is_shown_whole(run_box, workdir, as_who):
    (workdir / ".ssh").mkdir()
    (workdir / ".ssh/id_rsa").write_text(SECRET)
    give(workdir, as_who)
    os.chmod(workdir, 0o755)
    assert run_box("--read", ".ssh", "--", "cat", ".ssh/id_rsa").out == SECRET.encode()
    assert run_box("--", "cat", ".ssh/id_rsa").code == 1


def test_deny_hides_a_credential_that_another_source_names(run_box, workdir, as_who):
    (workdir / ".env").write_text(SECRET)
    (workdir / "p.yaml").write_text("files: { deny: [.env] }")
    os.chmod(workdir / "p.yaml", 0o644)
    give(workdir, as_who)
    os.chmod(workdir, 0o755)
    done = run_box("--policy", "p.yaml", "--read", ".env", "--", "cat", ".env")
    assert done.code == 1 and SECRET.encode() not in done.out


def test_a_credential_that_is_a_link_hides_its_target(run_box, workdir, as_who):
    (workdir / "shared").mkdir()
    (workdir / "shared/env").write_text(SECRET)
    os.symlink("shared/env", workdir / ".env")
    (workdir / "dotconfig/gh").mkdir(parents=True)
    (workdir / "dotconfig/gh/hosts.yml").write_text(SECRET)
    os.symlink("dotconfig", workdir / ".config")
    give(workdir, as_who)
    os.chmod(workdir, 0o755)
    done = run_box("--", *cat(".env", "shared/env", ".config/gh/hosts.yml", "dotconfig/gh/hosts.yml"))
    assert SECRET.encode() not in done.out


def test_explain_tells_what_would_be_hidden(call, workdir):
    done = call("policy", "explain", "--deny", "**/.env")
    assert b"/**/.env [files.deny]" in done.out and b"files.credentials" in done.out
    plan = json.loads(call("policy", "explain", "--json", "--deny", "/a/*", "--credentials", "show").out)
    assert plan["deny"] == ["/a/*"] and plan["credentials"] == "show"


def test_a_host_process_still_has_its_files_while_a_box_runs(start, tree):
    process = start("--write", "w", "--deny", "**/.env", "--", "sh", "-c", "echo up; sleep 1")
    assert process.stdout.readline() == b"up\n"
    assert (tree / "a/.env").read_text() == SECRET
    assert eventually(lambda: process.poll() == 0)


@pytest.mark.parametrize("count", [0, 5, 2000])
def test_credentials_are_found_among_few_names_and_among_many(run_json, as_who, workdir, count):
    for i in range(count):
        (workdir / f"a-file-among-many-{i}").touch()
    (workdir / ".env").write_text("secret")
    (workdir / ".docker").mkdir()
    (workdir / ".docker/config.json").write_text("secret")
    result = run_json("--", "sh", "-c", "cat .env .docker/config.json; true")
    assert "secret" not in result["stdout"], result
    assert len(result["masked"]) == 2, result["masked"]
