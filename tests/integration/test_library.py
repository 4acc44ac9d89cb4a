"""libringfort: installed as it would be, compiled against with pkg-config, and used from C and C++.

The examples are the manual's; library/probe.c holds the promises to it that a test can look at from
inside a program.  RINGFORT_LIBRARY_BOXES is how many boxes leave no trace (200).
"""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

import pytest

from helpers import USER_ID, empty_cgroups, eventually, processes_with

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from wardens import Warden  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROBE = ROOT / "tests/integration/library/probe.c"
EXAMPLES = sorted((ROOT / "examples/library").glob("*.c"))
BOXES = int(os.environ.get("RINGFORT_LIBRARY_BOXES", "200"))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def run(*command, **options):
    options = {"capture_output": True, "text": True, "timeout": 300, "check": True, **options}
    try:
        return subprocess.run([str(word) for word in command], **options)
    except subprocess.CalledProcessError as problem:
        pytest.fail(f"{problem.cmd}: {problem.returncode}\n{problem.stdout}\n{problem.stderr}")


@pytest.fixture(scope="session")
def built():
    """The build folder that has the library."""
    for folder in ("build-lib", "build"):
        if list((ROOT / folder / "src/lib").glob("libringfort.so.*")):
            return ROOT / folder
    pytest.skip("there is no library here: run `make build`")


@pytest.fixture(scope="session")
def installed(built, public):
    """What `make install` leaves, below a folder of its own; gives that of the prefix."""
    for name in {built, ROOT / "build"}:
        run("meson", "install", "-C", name, "--no-rebuild", "--quiet",
            env={**os.environ, "DESTDIR": str(public / "root")})
    prefix, = (path.parents[1] for path in (public / "root").rglob("include/ringfort"))
    return prefix


@pytest.fixture(scope="session")
def flags(installed):
    """What pkg-config says to a compiler, with the prefix where it lies for now."""
    where, = (path.parent for path in installed.rglob("ringfort.pc"))

    def ask(*words):
        return run("pkg-config", f"--define-variable=prefix={installed}", *words, "ringfort",
                   env={**os.environ, "PKG_CONFIG_PATH": str(where)}).stdout.split()

    return ask


@pytest.fixture(scope="session")
def library_folder(installed):
    folder, = (path.parent for path in installed.rglob("libringfort.so"))
    return folder


@pytest.fixture(scope="session")
def compiled(flags, library_folder, public):
    """Compiles a C source against the installed library, once; gives the program."""
    (public / "programs").mkdir(exist_ok=True)

    def compile_it(source):
        program = public / "programs" / source.stem
        if not program.exists():
            run("cc", "-g", "-std=gnu17", *WARNINGS, "-o", program, source,
                *flags("--cflags", "--libs"), f"-Wl,-rpath,{library_folder}", "-pthread")
        return program

    return compile_it


@pytest.fixture
def use(command, environment, installed, workdir):
    """Runs a program that uses the library, as whoever the test is about."""
    before = command()[:-1]
    warden, = installed.rglob("ringfort-warden")

    def run_it(program, *words, gateway="", **options):
        return run(*before, program, *words, cwd=workdir,
                   env={**environment, "RINGFORT_WARDEN": str(warden), "RINGFORT_GATEWAY": gateway}, **options)

    return run_it


@pytest.fixture
def probe(compiled, use):
    return lambda *words, **options: use(compiled(PROBE), *words, **options)


# --- what is installed ---

def test_only_what_the_header_declares_can_be_linked_to(library_folder):
    header = (ROOT / "include/ringfort/ringfort.h").read_text(encoding="utf-8")
    declared = set(re.findall(r"^RINGFORT_API .*?\b(ringfort_\w+)\(", header, re.M))
    for file, options in (("libringfort.so", ["-D"]), ("libringfort.a", ["-g"])):
        said = run("nm", "--defined-only", *options, library_folder / file).stdout
        names = {line.split()[2].partition("@")[0] for line in said.splitlines()
                 if len(line.split()) == 3 and line.split()[1] in "TDBRVWGS"}
        assert names == declared, file


def test_it_is_known_by_its_soname_and_needs_nothing_but_libc(library_folder):
    said = run("readelf", "-d", library_folder / "libringfort.so").stdout
    assert re.findall(r"SONAME.*\[(.*)\]", said) == ["libringfort.so.0"]
    assert re.findall(r"NEEDED.*\[(.*)\]", said) == ["libc.so.6"]
    assert (library_folder / "libringfort.so.0").is_symlink()


@pytest.mark.parametrize("compiler, language", [
    ("gcc", "-std=c99"), ("gcc", "-std=c11"), ("gcc", "-std=gnu17"), ("g++", "-std=c++98"),
    ("g++", "-std=c++11"), ("g++", "-std=c++20"), ("clang", "-std=c11")])
def test_the_header_compiles_alone(compiler, language, flags, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} on this machine")
    source = tmp_path / ("alone.cc" if "++" in compiler else "alone.c")
    source.write_text("#include <ringfort/ringfort.h>\n#include <ringfort/ringfort.h>\n"
                      "struct ringfort_run run = RINGFORT_RUN_INIT;\n"
                      "struct ringfort_open options = RINGFORT_OPEN_INIT;\n"
                      "struct ringfort_error error = RINGFORT_ERROR_INIT;\n"
                      "struct ringfort_result result = RINGFORT_RESULT_INIT;\n"
                      "int main(void) { return run.size == 0; }\n")
    run(compiler, language, *WARNINGS, "-Wno-long-long", "-fsyntax-only", *flags("--cflags"), source)


def test_a_cplusplus_program_uses_it(flags, library_folder, public, use, need):
    need("g++")
    source = public / "plus.cc"
    source.write_text('#include <ringfort/ringfort.h>\n#include <cstdio>\n'
                      'int main() {\n'
                      '  const char *argv[] = {"echo", "from C++", nullptr};\n'
                      '  ringfort *fort; ringfort_box *box;\n'
                      '  struct ringfort_run run = RINGFORT_RUN_INIT;\n'
                      '  struct ringfort_result result = RINGFORT_RESULT_INIT;\n'
                      '  run.argv = argv;\n'
                      '  if (ringfort_open(nullptr, &fort, nullptr) < 0 ||\n'
                      '      ringfort_start(fort, nullptr, &run, &box, nullptr) < 0) return 1;\n'
                      '  ringfort_wait(box, -1, nullptr);\n'
                      '  ringfort_result(box, &result);\n'
                      '  std::fputs(result.output[0], stdout);\n'
                      '  ringfort_free(box); ringfort_close(fort);\n'
                      '}\n')
    program = public / "programs/plus"
    program.parent.mkdir(exist_ok=True)
    run("g++", *WARNINGS, "-std=c++17", "-o", program, source, *flags("--cflags", "--libs"),
        f"-Wl,-rpath,{library_folder}")
    assert use(program).stdout == "from C++\n"


def test_a_program_can_be_linked_with_the_archive_alone(flags, library_folder, public, use):
    program = public / "static-hello"
    run("cc", "-o", program, ROOT / "examples/library/hello.c", *flags("--cflags"),
        library_folder / "libringfort.a", "-lyaml")
    assert "libringfort" not in run("readelf", "-d", program).stdout
    assert use(program).stdout.startswith("ok, exit code 0")


# --- what it does ---

WORDS = {
    "hello": r"ok, exit code 0, [\d.]+ ms, said: 42 \[\]\n",
    "stream": r"out\| got one\nout\| got two\nout\| got three\nerr\| done\nok after 4 calls: 26 bytes and 5\n",
    "eight": r"(box \d: (failed|ok), exit code \d\n){8}all eight: 28\n",
    "policy": r'line 3, column 3: limits.memroy: unknown key\n  did you mean "memory"\?\n'
              r"256 MiB where 64 MiB are allowed: (memory|failed)\n",
    "patience": r"half a second .*\nanother one.*\nkilled, signal 9, its last words: not yet\n",
    "threads": r"40 of 40 answers are right\n",
}


@pytest.mark.parametrize("source", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_compiles_and_does_what_it_says(source, as_who, compiled, use):
    said = []
    for _ in range(3):  # some of them have a clock, and this machine may be busy
        said.append(use(compiled(source), check=False).stdout)
        if re.fullmatch(WORDS[source.stem], said[-1]):
            return
    pytest.fail("\n".join(said))


def test_python_uses_it_without_a_compiler(as_who, use, library_folder, public):
    shutil.copy(ROOT / "examples/library/hello.py", public)
    said = use("/usr/bin/python3", public / "hello.py", library_folder / "libringfort.so.0").stdout
    assert json.loads(said)["stdout"] == "from a box\n"


def test_every_example_is_known_here():
    assert {path.stem for path in EXAMPLES} == set(WORDS)


@pytest.mark.parametrize("mode, words", [
    ("streams", "all streams"), ("ends", "all ends"), ("mistakes", "all mistakes"),
    ("scarce", "both"), ("murder", "told"), ("forked", "whole"), ("threads", "64 boxes")])
def test_it_keeps_its_promises(mode, words, as_who, probe):
    assert probe(mode).stdout.endswith(words + "\n")
    assert eventually(lambda: not processes_with("sleep\0001000."))


def test_many_boxes_leave_no_trace_in_the_process_that_asked_for_them(as_who, probe, boxes):
    ids = set(probe("traceless", BOXES).stdout.split())
    assert len(ids) == BOXES
    assert eventually(lambda: not boxes.exists() or not ids & set(os.listdir(boxes)))
    assert eventually(lambda: not {path.rpartition("ringfort-")[2] for path in empty_cgroups()} & ids)


def fixed(document):
    """A result without what differs from run to run."""
    document.pop("id")
    document.pop("usage")
    document.pop("walls_us")
    document["isolation"]["proof"].pop("namespace_ids", None)
    return document


@pytest.mark.parametrize("words", [
    ["sh", "-c", "echo out; echo err >&2; exit 3"],
    ["sh", "-c", "kill -9 $$"],
    ["printf", "\\377\\376"],
    ["/nowhere/program"],
    ["no-such-program"],
    ["sh", "-c", "ls /home; touch /usr/x"]])
def test_the_document_is_the_one_of_ringfort_run(words, as_who, probe, run_json):
    assert fixed(json.loads(probe("json", "", *words).stdout)) == fixed(run_json("--", *words))


def test_what_was_hidden_and_planted_is_in_it(as_who, probe, run_json, workdir):
    (workdir / "project").mkdir()
    (workdir / "project/.env").write_text("TOKEN=1\n")
    if os.geteuid() == 0 and as_who == "user":
        run("chown", "-R", f"{USER_ID}:{USER_ID}", workdir)
    words = ["sh", "-c", "mkdir -p .git/hooks; echo x >.git/hooks/pre-commit; cat .env"]
    policy = f"files: {{write: [{workdir}/project], deny: ['**/*.key']}}\nworkdir: {workdir}/project\n"
    ours = fixed(json.loads(probe("json", policy, *words).stdout))
    shutil.rmtree(workdir / "project/.git")
    (workdir / "policy.yaml").write_text(policy)
    theirs = fixed(run_json("--policy", workdir / "policy.yaml", "--", *words))
    assert ours == theirs
    assert [item["what"] for item in ours["planted"]] == ["git hook"]
    assert [item["rule"] for item in ours["masked"]] == ["files.credentials"]


def test_output_is_cut_where_ringfort_run_cuts_it(as_who, probe, run_json):
    ours = json.loads(probe("limit").stdout)
    theirs = run_json("--output", "100000", "--time", "30s", "--", "sh", "-c",
                      "echo first; echo second >&2; while :; do echo more; done")
    assert fixed(ours) == fixed(theirs)


def test_the_users_standing_warden_serves_it_too(as_who, probe, compiled, ringfort, public, workdir):
    said = probe("standing", "none").stdout
    assert "ringfort warden" in said
    with Warden(ringfort, as_who, public / f"library-{as_who}") as warden:
        said = run(*warden.before_in(workdir), compiled(PROBE), "standing", cwd=workdir, env=warden.env).stdout
        assert said == f"served by {warden.pid}\n"


# --- its network ---

SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
REQUESTS = "echo $TOKEN; curl -s http://api.example/file; curl -s -o /dev/null -X DELETE http://api.example/file; curl -s http://evil.example/"


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def served(tmp_path):
    """A server of files on the host's loopback, and a policy that leads to it."""
    (tmp_path / "file").write_text("from the server\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)], cwd=tmp_path,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        assert eventually(lambda: is_open(port))
        yield f"network: {{ allow: [GET api.example/file], hosts: {{ api.example: '127.0.0.1:{port}' }} }}\n"
        process.terminate()


def test_a_policy_with_a_network_is_the_one_of_ringfort_run(as_who, probe, run_json, workdir, served, installed):
    """Credentials, certificates and denials: all of it through a gateway of the library's own."""
    key = workdir / "key"
    key.write_text(SECRET + "\n")
    key.chmod(0o600)
    if os.geteuid() == 0 and as_who == "user":
        os.chown(key, USER_ID, USER_ID)
    policy = served + f"credentials: {{ git: {{ from: 'file:{key}', hosts: [api.example], env: TOKEN }} }}\n"
    ours = json.loads(probe("json", policy, "sh", "-c", REQUESTS).stdout)
    (workdir / "policy.yaml").write_text(policy)
    theirs = run_json("--policy", workdir / "policy.yaml", "--", "sh", "-c", REQUESTS)
    assert SECRET not in json.dumps(ours)
    word, _, rest = ours.pop("stdout").partition("\n")  # a placeholder differs from run to run
    assert word.startswith("ghp_") and word != SECRET and rest == "from the server\n"
    assert theirs.pop("stdout").partition("\n")[2] == rest
    assert {denial["what"] for denial in ours["denials"]} >= {"DELETE api.example/file", "evil.example"}
    assert fixed(ours) == fixed(theirs)
    gateway, = installed.rglob("ringfort-gateway")
    assert eventually(lambda: not processes_with(f"{gateway}\0--fd"))


def test_the_network_of_a_box_of_the_library_is_recorded(post, compiled, installed, served):
    post.stand()
    post.env["RINGFORT_WARDEN"] = str(next(installed.rglob("ringfort-warden")))
    done = post.run("json", served, "sh", "-c", REQUESTS, program=compiled(PROBE))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    until = time.monotonic() + 5  # the warden tells of it, and nobody waits for that
    while len(events := post.events("--kind", "net")) < 3 and time.monotonic() < until:
        time.sleep(0.05)
    assert events and all(event["box"] == result["id"] for event in events)
    said = {(event.get("method", "-"), event["host"], event["decision"]) for event in events}
    assert said >= {("GET", "api.example", "allow"), ("DELETE", "api.example", "deny")}
    assert any(host == "evil.example" and decision == "deny" for _, host, decision in said)


def test_what_is_wrong_with_a_network_is_said_at_the_start(as_who, probe, served, workdir):
    (workdir / "key").write_text("short\n")
    (workdir / "key").chmod(0o666)
    for more, words in (("credentials: { a: { from: 'env:NO_SUCH_VARIABLE', hosts: [api.example] } }", "NO_SUCH_VARIABLE"),
                        ("credentials: { a: { from: 'cmd:false', hosts: [api.example] } }", "false failed with code 1"),
                        ("credentials: { a: { from: 'cmd:echo x', hosts: [other.example] } }", "leads to other.example, so"),
                        ("credentials: { a: { from: 'cmd:echo x', hosts: [POST api.example] } }", "leads to POST api.example, so"),
                        (f"credentials: {{ a: {{ from: 'file:{workdir}/key', hosts: [api.example] }} }}", "written by others"),
                        ("credentials: { a: { from: 'cmd:echo the-value-of-it', hosts: [api.example] } }\n"
                         "env: { set: { OTHER: see the-value-of-it here } }", "OTHER")):
        done = probe("json", served + more, "true", check=False)
        assert done.returncode == 1 and words in done.stderr, (more, done.stderr)
    done = probe("json", served, "true", check=False, gateway="/nowhere/ringfort-gateway")
    assert done.returncode == 1 and "/nowhere/ringfort-gateway" in done.stderr


@pytest.mark.parametrize("mode", ["streams", "ends", "mistakes", "murder", "forked", "limit"])
def test_it_is_clean_under_sanitizers(mode, public, use):
    """All of the library and the probe in one program, with its memory watched: from that build."""
    built = ROOT / "build-asan/tests/library-probe"
    if not built.exists():
        pytest.skip("there is no build with sanitizers: `make check` makes it")
    program = public / "sanitized-probe"
    shutil.copy(built, program)
    use(program, mode)
