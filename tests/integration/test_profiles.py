"""Profiles at work: each one with what its users would do, composed, extended, and of one's own."""
import json
import os
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.usefixtures("as_who")

IS_ROOT = os.geteuid() == 0
USER_ID, OTHER_ID = 12345, 23456
SHELL = ("--", "sh", "-c")
BUILT_IN = ["default", "python", "node", "git", "build-tools", "agent", "offline", "strict"]


@pytest.fixture
def put(workdir, as_who):
    """Writes a file of whoever runs into the working directory."""
    def write(name, text, mode=0o644):
        path = workdir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        if IS_ROOT and as_who == "user":
            folder = path
            while folder != workdir:
                os.chown(folder, USER_ID, USER_ID)
                folder = folder.parent
        return path

    return write


@pytest.fixture
def own(put, workdir):
    """Writes a profile of the caller's own; gives its path.  `config` makes calls find it."""
    return lambda name, text, mode=0o644: put(f"config/ringfort/profiles/{name}.yaml", text, mode)


@pytest.fixture
def config(workdir):
    return {"XDG_CONFIG_HOME": str(workdir / "config")}


# ------------------------------------------------------------- real work

def only_planted(done):
    """The code and output of a run, in a tree it may write to, that has nothing else to remark."""
    assert all(line.startswith(b"ringfort: planted: ") for line in done.err.splitlines()), done
    return done[:2]


def test_python_has_room_for_data_tools(run_box, need):
    if subprocess.run(["/usr/bin/python3", "-c", "import numpy"], check=False).returncode:
        pytest.skip("no numpy on this machine")
    done = run_box("--profile", "python", "--", "/usr/bin/python3", "-c",
                   "import numpy, os\nprint(numpy.ones(10_000_000).sum(), os.environ['MPLBACKEND'])\n"
                   "open(os.environ['MPLCONFIGDIR'], 'w')")
    assert done == (0, b"10000000.0 Agg\n", b"")


def test_python_leaves_no_caches_behind(run_box, put, workdir):
    put("mod.py", "x = 1")
    assert run_box("--profile", "python", "--write", ".", "--", "python3", "-c", "import mod").code == 0
    assert not (workdir / "__pycache__").exists()


def test_node_runs_and_npm_asks_nobody(run_box, need, put):
    need("node", "npm")
    put("package.json", '{"name": "x", "version": "1.0.0", "scripts": {"t": "node -e \\"console.log(6*7)\\""}}')
    done = run_box("--profile", "node", "--", "npm", "run", "--silent", "t")
    assert done.code == 0 and done.out == b"42\n", done.err


def test_build_tools_build_with_make(run_box, need, put, workdir):
    need("gcc", "make")
    put("main.c", '#include <stdio.h>\nint two(void);\nint main(void) { printf("%d\\n", 21 * two()); }\n')
    put("two.c", "int two(void) { return 2; }\n")
    put("Makefile", "main: main.o two.o\n\t$(CC) -o $@ $^\n")
    done = run_box("--profile", "build-tools", "--write", ".", *SHELL, "make -sj4 main && ./main")
    assert only_planted(done) == (0, b"42\n")


COMMIT = ("git init -q . && mkdir -p .git/hooks && printf '#!/bin/sh\\necho hook; exit 1' > .git/hooks/pre-commit"
          " && chmod 755 .git/hooks/pre-commit && echo hi > f && git add f && git commit -qm one"
          " && git log --format='%an %ae %s'")


def test_git_commits_without_hooks_in_a_writable_tree(run_box, need):
    need("git")
    done = run_box("--profile", "git", "--write", ".", *SHELL, COMMIT)
    assert only_planted(done) == (0, b"box box@localhost one\n")


def test_git_takes_the_repositorys_own_identity(run_box, need):
    need("git")
    done = run_box("--profile", "git", "--write", ".", *SHELL,
                   "git init -q . && git config user.name Ada && git config user.email a@b && " + COMMIT)
    assert only_planted(done) == (0, b"Ada a@b one\n")


def test_git_reads_a_repository_of_another_owner(run_box, need, workdir):
    need("git")
    if not IS_ROOT:
        pytest.skip("needs root, to give a repository away")
    assert run_box("--profile", "git", "--write", ".", *SHELL, COMMIT).code == 0
    for folder, below, names in os.walk(workdir):
        for name in [*below, *names]:
            os.chown(os.path.join(folder, name), OTHER_ID, OTHER_ID)
    os.chown(workdir, OTHER_ID, OTHER_ID)
    assert b"dubious" in run_box("--current", "read", "--", "git", "log", "--format=%s",
                                 user="user").err
    assert run_box("--profile", "git", "--", "git", "log", "--format=%s") == (0, b"one\n", b"")


def test_git_never_waits_for_a_password(run_box, need):
    need("git")
    done = run_box("--profile", "git", *SHELL,
                   "printf 'protocol=https\\nhost=example.org\\n' | git credential fill", timeout=10)
    assert done.code != 0 and b"terminal prompts disabled" in done.err


def test_agent_has_all_that_agents_use_in_one_run(run_box, need):
    need("git", "node", "make", "gcc")
    done = run_box("--profile", "agent", "--write", ".", *SHELL,
                   "set -e; python3 -c 'print(1)'; node -e 'console.log(2)'\n"
                   "printf 'main: main.c\\n\\tcc -o main main.c\\n' > Makefile\n"
                   "echo 'int puts(const char *); int main(void) { puts(\"3\"); }' > main.c\n"
                   "make -s main && ./main\n" + COMMIT + "\n"
                   "git commit -q --amend --no-edit; git commit -q --amend; echo $HOME > $HOME/x; cat $HOME/x")
    assert only_planted(done) == (0, b"1\n2\n3\nbox box@localhost one\n/home/box\n")


def test_agent_opens_no_way_out(run_box):
    done = run_box("--profile", "agent", "--", "python3", "-c",
                   "import socket\nfor family in socket.AF_UNIX, socket.AF_INET:\n"
                   "    try:\n        s = socket.socket(family)\n"
                   "        s.connect('/run/x' if family == socket.AF_UNIX else ('192.0.2.1', 80))\n"
                   "    except OSError as e: print(e.strerror)")
    assert done.out == b"Address family not supported by protocol\nNetwork is unreachable\n", done


def test_nothing_after_offline_opens_the_network(run_box, put):
    policy = put("p.yaml", "network: host")
    for flags in (["--net", "host"], ["--unix", "on"], ["--policy", policy]):
        done = run_box("--profile", "offline", *flags, "--", "true")
        assert done.code == 125 and b"final" in done.err
    assert run_box("--profile", "offline", "--loopback", "off", "--", "echo", "ran").out == b"ran\n"


@pytest.mark.parametrize("profile", BUILT_IN)
def test_every_profile_runs_a_program(run_box, profile):
    assert run_box("--profile", profile, "--", "echo", "ran") == (0, b"ran\n", b"")


# ------------------------------------------------------------- composition

def limit(call, *options, env=None):
    done = call("policy", "explain", "--json", *options, env=env)
    assert done.code == 0, done.err
    return json.loads(done.out)["limits"]["memory"]


def test_profiles_are_joined_in_order(call, run_box):
    # git says nothing about memory, so it takes nothing away from python
    assert limit(call, "--profile", "python,git") == limit(call, "--profile", "python")
    assert limit(call, "--profile", "git,python") == limit(call, "--profile", "python")
    assert limit(call, "--profile", "build-tools,python") == limit(call, "--profile", "python")
    done = run_box("--profile", "git", "--profile", "python", *SHELL, "echo $MPLBACKEND $GIT_TERMINAL_PROMPT")
    assert done.out == b"Agg 0\n"


@pytest.mark.parametrize("names, word", [
    ("", b"can't be the name"), (",", b"can't be the name"), ("python,,git", b"can't be the name"),
    ("python,gti", b'did you mean "git"'), ("Python", b"can't be the name"), ("../x", b"--policy takes files"),
    ("..", b"can't be the name"), ("x/y", b"--policy takes files"), ("p.yaml", b"--policy takes files"),
    ("x" * 41, b"can't be the name"), ("x" * 4000, b"can't be the name"), ("a\nb", b"can't be the name")])
def test_what_is_no_profile_is_refused_with_the_remedy(run_box, names, word):
    done = run_box("--profile", names, "--", "true")
    assert done.code == 125 and word in done.err


# ------------------------------------------------------------- extends

def test_a_policy_extends_profiles_and_files_beside_it(run_box, call, put):
    put("sub/base.yaml", "limits: { pids: 33 }\nenv: { set: { A: base, B: base } }\nfiles: { read: [./data] }")
    put("sub/data/f", "found")
    policy = put("sub/top.yaml", "env: { set: { B: top } }\nextends: [python, ./base.yaml]\n")
    data = policy.parent / "data/f"
    done = run_box("--policy", policy, "--current", "none", *SHELL, f"echo $A $B $MPLBACKEND; cat {data}")
    assert done == (0, b"base top Agg\nfound", b"")
    assert call("policy", "check", policy) == (0, f"{policy}: ok\n".encode(), b"")


def test_a_file_is_extended_by_any_path(run_box, put, workdir):
    put("base.json", '{"hostname": "from-base"}')
    for path in ("./base.json", "base.json", f"{workdir}/base.json", "../base.json", ".//base.json"):
        folder = "sub/" if path.startswith("..") else ""
        policy = put(folder + "p.yaml", f"extends: '{path}'")
        assert run_box("--policy", policy, "--", "uname", "-n").out == b"from-base\n", path


def test_final_in_what_is_extended_binds(run_box, put):
    policy = put("p.yaml", "limits: { memory: 1G }\nextends: strict\n")
    done = run_box("--policy", policy, "--", "true")
    assert done.code == 125 and b"limits.memory" in done.err and b"final" in done.err and b"p.yaml" in done.err


@pytest.mark.parametrize("files, where, words", [
    ({"p": "extends: ./p.yaml"}, "p.yaml:1:10", ["circle", "p.yaml → ./p.yaml"]),
    ({"p": "version: 1\nextends: [./a.yaml]", "a": "extends: ./b.yaml", "b": "extends: ./p.yaml"},
     "b.yaml:1:10", ["circle", "p.yaml → ./a.yaml → ./b.yaml → ./p.yaml"]),
    ({"p": "extends: [python, gti]"}, "p.yaml:1:19", ['"gti"', '"git"']),
    ({"p": "extends: ./nothing.yaml"}, "p.yaml:1:10", ["nothing.yaml", "No such file"]),
    ({"p": "extends: ."}, "p.yaml:1:10", ["name of a profile"]),
    ({"p": "extends: ./"}, "p.yaml:1:10", ["Is a directory"]),
    ({"p": "extends: ''"}, "p.yaml:1:10", ["name of a profile"]),
    ({"p": "extends:"}, "p.yaml:1:9", ["name of a profile"]),
    ({"p": "extends: {python: 1}"}, "p.yaml:1:10", ["a list is needed"]),
    ({"p": "extends: [[python]]"}, "p.yaml:1:11", ["plain text is needed"]),
    ({"p": "extends: python\nextends: git"}, "p.yaml:2:1", ["twice"]),
    ({"p": "extends: ./a.yaml", "a": "limits:\n  memroy: 1G"}, "a.yaml:2:3", ["memroy", "memory"]),
    ({"p": "extends: [" + "a, " * 3 + ", ".join(f"n{i}" for i in range(20)) + "]"}, "p.yaml:1:", ["more than 16"]),
    ({"p": "extends: ./1.yaml", **{str(i): f"extends: ./{i + 1}.yaml" for i in range(1, 20)}},
     "7.yaml:1:10", ["deeper than 8"]),
    ({"p": "extends: ./big.yaml", "big": "# " + "x" * 2_000_000}, "p.yaml:1:10", ["larger than"]),
])
def test_what_cannot_be_extended_is_an_error_at_its_place(run_box, call, put, files, where, words):
    for name, text in files.items():
        put(f"{name}.yaml", text)
    for done in (run_box("--policy", "p.yaml", "--", "true"), call("policy", "check", "p.yaml")):
        assert done.code in (1, 125) and where.encode() in done.err, done.err
        for word in words:
            assert word.encode() in done.err, done.err


def test_an_empty_file_can_be_extended_and_a_pipe_without_a_word_can_not(run_box, put, workdir):
    os.mkfifo(workdir / "pipe.yaml")
    (workdir / "pipe.yaml").chmod(0o644)
    put("empty.yaml", "")
    policy = put("p.yaml", "extends: [./empty.yaml, ./empty.yaml]\nhostname: x")
    assert run_box("--policy", policy, "--", "uname", "-n", timeout=5).out == b"x\n"
    policy = put("p.yaml", "extends: [./pipe.yaml]\nhostname: x")
    done = run_box("--policy", policy, "--", "uname", "-n", timeout=5)
    assert done.code == 125 and done.out == b"" and b"pipe.yaml" in done.err, done


# ------------------------------------------------------------- profiles of one's own

def test_a_profile_of_ones_own_is_used_like_any_other(run_box, own, config, put, workdir):
    own("team", "# What we use.\nextends: [git, ./shared/base.yaml]\nfiles: { read: ['./data:/data'] }")
    put("config/ringfort/profiles/shared/base.yaml", "hostname: shared")
    put("config/ringfort/profiles/data/f", "found")
    done = run_box("--profile", "team", *SHELL, "uname -n; cat /data/f; echo $GIT_TERMINAL_PROMPT", env=config)
    assert done == (0, b"shared\nfound0\n", b"")
    policy = put("p.yaml", "extends: team")
    assert run_box("--policy", policy, "--", "uname", "-n", env=config).out == b"shared\n"
    done = run_box("--profile", "taem", "--", "true", env=config)
    assert done.code == 125 and b'did you mean "team"' in done.err


def test_a_built_in_name_can_not_be_taken(run_box, own, config):
    own("python", "weaker: allow")
    done = run_box("--profile", "python", "--", "true", env=config)
    assert done.code == 125 and b"python is a built-in profile" in done.err and b"another name" in done.err
    assert run_box("--profile", "git", "--", "true", env=config).code == 0


def spoil_group(path):
    path.chmod(0o664)
    return "chmod go-w"


def spoil_folder(path):
    path.parent.chmod(0o777)
    return "chmod go-w"


def spoil_owner(path):
    if not IS_ROOT:
        pytest.skip("only root can give a file away")
    os.chown(path, OTHER_ID, OTHER_ID)
    return "chown"


def spoil_link(path):
    target = path.parent / "elsewhere"
    shutil.move(path, target)
    path.symlink_to(target)
    if IS_ROOT:
        os.chown(path, path.parent.stat().st_uid, path.parent.stat().st_gid, follow_symlinks=False)
    target.chmod(0o666)
    return "chmod go-w"


def spoil_kind(path):
    path.unlink()
    os.mkfifo(path, 0o600)
    if IS_ROOT:
        os.chown(path, path.parent.stat().st_uid, path.parent.stat().st_gid)
    return "not a plain file"


def spoil_size(path):
    path.write_text("# " + "x" * 2_000_000)
    return "larger than"


@pytest.mark.parametrize("spoil", [spoil_group, spoil_folder, spoil_owner, spoil_link, spoil_kind, spoil_size])
@pytest.mark.parametrize("way", ["named", "extended", "beside"])
def test_a_profile_that_others_can_write_is_refused_with_the_remedy(run_box, own, config, put, spoil, way):
    path = own("mine", "hostname: mine")
    options = ("--profile", "mine")
    if way == "extended":
        options = ("--policy", put("p.yaml", "extends: mine"))
    elif way == "beside":  # read by a profile of one's own, so it must be one's own, too
        own("over", "extends: ./mine.yaml")
        options = ("--profile", "over")
    assert run_box(*options, "--", "uname", "-n", env=config).out == b"mine\n"
    remedy = spoil(path)
    done = run_box(*options, "--", "true", env=config, timeout=5)
    assert done.code == 125 and remedy.encode() in done.err and done.out == b"", done.err


def test_a_linked_profile_is_fine_if_its_target_is(run_box, own, config, put, workdir, as_who):
    path = own("mine", "hostname: mine")
    put("dotfiles/mine.yaml", "hostname: linked")
    path.unlink()
    path.symlink_to("../../../dotfiles/mine.yaml")
    if IS_ROOT and as_who == "user":
        os.chown(path, USER_ID, USER_ID, follow_symlinks=False)
    assert run_box("--profile", "mine", "--", "uname", "-n", env=config).out == b"linked\n"


def test_a_policy_that_was_named_need_not_be_ones_own(run_box, put):
    if not IS_ROOT:
        pytest.skip("only root can give a file away")
    put("base.yaml", "hostname: theirs", mode=0o666)
    policy = put("p.yaml", "extends: ./base.yaml", mode=0o666)
    os.chown(policy, OTHER_ID, OTHER_ID)
    assert run_box("--policy", policy, "--", "uname", "-n").out == b"theirs\n"


def test_circles_among_ones_own_are_named(run_box, own, config):
    own("a", "extends: b")
    own("b", "extends: a")
    own("self", "extends: self")
    done = run_box("--profile", "a", "--", "true", env=config)
    assert done.code == 125 and "goes in a circle: a → b → a".encode() in done.err and b"b.yaml:1:10" in done.err
    done = run_box("--profile", "self", "--", "true", env=config)
    assert "goes in a circle: self → self".encode() in done.err
