"""What the front page shows is what a new user gets: each line of its table and of its blocks is pasted into a shell.

As root and as an ordinary user, in a project folder that the test has made.  Names of the internet lead to a server of the test by a
configuration of the user's; the lines stay as they are.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest

sys.path.insert(0, os.path.dirname(__file__))
from readme_stage import IS_ROOT, USER_ID, Shell, Stage, Terminal, compare, copy_tree, in_network, make_home  # noqa: E402
from tls_site import TlsSite  # noqa: E402
import typescript  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SECRET = "ghp_0123456789abcdefABCDEF0123456789abcd"

# What is not run, and why.
NOT_RUN = {
    "make run": "installs packages and builds; what it shows at its end is run by a test below",
    "make check": "runs this test",
}


def rows():
    """The table "you want to | you write": what is wanted, and the lines that are written."""
    table = re.search(r"^\| you want to \| you write \|\n\|---\|---\|\n((?:\|.*\n)+)", README, re.M)[1]
    for line in table.splitlines():
        wanted, written = re.fullmatch(r"\| (.*?) \| (.*) \|", line).groups()
        yield wanted, re.findall(r"`([^`]+)`", written)


def blocks():
    """Each console block as a list of (line, [what is shown])."""
    for text in re.findall(r"^```console\n(.*?)^```", README, re.M | re.S):
        steps = []
        for line in text.splitlines():
            if line.startswith("$ "):
                steps.append((re.sub(r"\s{2,}# .*", "", line[2:]), []))
            elif steps:
                steps[-1][1].append(line)
        yield steps


def block_of(language):
    return re.search(rf"^```{language}\n(.*?)^```", README, re.M | re.S)[1]


ROWS, BLOCKS = list(rows()), list(blocks())


@pytest.fixture(scope="module")
def home(public):
    if not shutil.which("git"):
        pytest.skip("needs git")
    return make_home(public / "readme-home")


@pytest.fixture
def stage(ringfort, as_who, public, home):
    if as_who == "root" and not IS_ROOT:
        pytest.skip("needs root")
    folder = public / f"readme-{as_who}-{time.monotonic_ns()}"
    folder.mkdir()
    with Stage(ringfort, as_who, folder / "stage", home) as there:
        yield there
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def site(stage):
    """A server that api.github.com is led to by the reader's configuration."""
    if not shutil.which("curl") or not shutil.which("openssl"):
        pytest.skip("needs curl and openssl")
    with in_network(stage.network, lambda: TlsSite(stage.top / "site", "api.github.com")) as there:
        for name, text in (("site.yaml", json.dumps({"network": there.network()})), ("config.yaml", "policy: site.yaml\n")):
            (stage.top / name).write_text(text)
            if IS_ROOT and stage.who == "user":
                os.chown(stage.top / name, USER_ID, USER_ID)
        there.env = {"RINGFORT_CONFIG": str(stage.top / "config.yaml"), "GITHUB_TOKEN": SECRET}
        yield there


# ------------------------------------------------------------- the table

WATCH, GATEWAY, WARDEN = "ringfort watch --status", "ringfort gateway --status", "ringfort warden --status"


def check_plain(said, code=0):
    """A row that prints `said` (a regular expression) and exits with `code`."""
    def check(stage, site, lines):
        with Shell(stage) as shell:
            out, got = shell.paste(lines[0])
        assert len(lines) == 1 and got == code and re.search(said, out), (lines, got, out)

    return check


def check_deny(stage, _, lines):
    with Shell(stage) as shell:
        assert shell.paste(lines[0]) == ("no key to see\n", 0)
        assert shell.paste("ringfort run -- make") == ("a secret key\n", 0)  # it is that option that hides it


def check_commands(stage, _, lines):
    with Shell(stage) as shell:
        assert "the first change" in shell.paste(lines[0])[0]
        assert shell.paste(lines[0].replace("git log", "ls"))[1] == 126 and shell.paste("ringfort run -- ls")[1] == 0


def check_write(stage, _, lines):
    with Shell(stage) as shell:
        assert shell.paste(lines[0]) == ("a script\n", 0) and (stage.project / "out/made").exists()


def check_host(stage, site, lines):
    with Shell(stage, **site.env) as shell:
        out, code = shell.paste(lines[0])
    assert (code, out) == (0, "GET /user\n200\nnobody else\n") and len(site.seen) == 1, out
    return site.seen[0][3]["Authorization"]


def check_token(stage, site, lines):
    assert check_host(stage, site, lines) == f"Bearer {SECRET}"
    with Shell(stage, **site.env) as shell:
        out, code = shell.paste(lines[0].replace("./agent", "env"))
        assert code == 0 and "GITHUB_TOKEN=ghp_" in out and SECRET not in out
        out, code = shell.paste(f"unset GITHUB_TOKEN; {lines[0]}")
        assert code == 125 and "there is no variable GITHUB_TOKEN" in out and "hint: set it" in out


def check_node(stage, _, lines):
    if not shutil.which("npm"):
        pytest.skip("needs npm")
    with Shell(stage) as shell:
        out, code = shell.paste(lines[0])
    assert code == 0 and out.endswith("\n42\n"), out


def check_shell(stage, _, lines):
    terminal = Terminal(stage, lines[0])
    terminal.wait_for("(box) ")
    terminal.type("echo $((6 * 7)); exit\n")
    terminal.wait_for("42")
    assert terminal.end() == 0


def check_json(stage, _, lines):
    with Shell(stage) as shell:
        out, code = shell.paste(lines[0])
    result = json.loads(out)
    assert code == 0 and (result["status"], result["stdout"]) == ("ok", "a script\n")


def check_workspace(stage, _, lines):
    create, run, diff, undo = lines
    (stage.project / "Makefile").write_text("all:\n\techo x > made\n")
    with Shell(stage) as shell:
        assert shell.paste(create)[1] == 0
        assert "added: made" in shell.paste(run)[0] and not (stage.project / "made").exists()
        assert "made" in shell.paste(diff)[0]
        assert "is at @0 again" in shell.paste(undo)[0] and "made" not in shell.paste(diff)[0]


def check_breaker(stage, _, lines):
    watch, run = lines
    (stage.project / "strict.yaml").write_text("breaker: { failures: 2, counts: failures }\n")
    with Shell(stage) as shell:
        shell.background(watch, WATCH)
        assert shell.paste(run.replace("./agent", "true")) == ("", 0)
        # Those that fail are refused after some, by the policy that its page has.
        strict = run.replace("--agent", "--policy strict.yaml --agent").replace("./agent", "false")
        assert [shell.paste(strict)[1] for _ in range(3)] == [1, 1, 126]


def check_live(stage, _, lines):
    watch, ps, freeze, kill = lines
    with Shell(stage) as shell:
        shell.background(watch, WATCH)
        shell.paste("ringfort run -- sh -c 'echo up; exec sleep 50' >out/run 2>&1 &")
        end = time.monotonic() + 20
        out = stage.project / "out/run"
        while not out.exists() or "up" not in out.read_text():  # it is listed before it begins
            assert time.monotonic() < end
            time.sleep(0.1)
        while not (found := re.search(r"^([0-9a-f]{4,16})\s.*\bsh\b", shell.paste(ps)[0], re.M)):
            assert time.monotonic() < end
            time.sleep(0.1)
        assert shell.paste(freeze.replace("ID", found[1]))[1] == 0
        assert shell.paste(kill.replace("ID", found[1]))[1] == 0
        assert shell.paste("wait %2; echo $?")[0].strip() == "137"
        assert "killed" in (stage.project / "out/run").read_text()


def check_top(stage, _, lines):
    with Shell(stage) as shell:
        shell.background("ringfort watch >/dev/null 2>&1 &", WATCH)
        terminal = Terminal(stage, lines[0])
        terminal.wait_for("boxes")
        terminal.type("q")
        assert terminal.end() == 0


def check_audit(stage, _, lines):
    watch, show, verify = lines
    with Shell(stage) as shell:
        shell.background(watch, WATCH)
        shell.paste("ringfort run -- true")
        out, code = shell.paste(show)
        assert code == 0 and "run.started" in out and "program=true" in out
        out, code = shell.paste(verify)
        assert code == 0 and "good" in out, out


def check_report(stage, _, lines):
    report, html = lines
    with Shell(stage) as shell:
        shell.background("ringfort watch >/dev/null 2>&1 &", WATCH)
        shell.paste("ringfort run --agent bot -- true")
        out, code = shell.paste(report)
        assert code == 0 and "Agent bot" in out and "The tighter policy" in out, out
        out, code = shell.paste(html)
        assert code == 0 and out.lower().startswith("<!doctype html>") and "bot" in out


def check_warden(stage, _, lines):
    with Shell(stage) as shell:
        shell.background(lines[0], WARDEN)
        assert shell.paste("ringfort run -- echo as ever") == ("as ever\n", 0)
        assert "a warden stands" in shell.paste(WARDEN)[0]


def check_mcp(stage, _, lines):
    config = json.loads(lines[0])["mcpServers"]["ringfort"]
    with subprocess.Popen([*stage.before, shutil.which(config["command"], path=stage.env["PATH"]), *config["args"]], env=stage.env, cwd="/",
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
        def ask(method, **params):
            client.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
            client.stdin.flush()
            return json.loads(client.stdout.readline())["result"]

        ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "test", "version": "1"})
        assert {"run_code", "run_command"} <= {tool["name"] for tool in ask("tools/list")["tools"]}
        done = ask("tools/call", name="run_code", arguments={"language": "python", "code": "print(6 * 7)"})
        assert done["structuredContent"]["stdout"] == "42\n" and not done.get("isError"), done
        client.stdin.close()
        assert client.wait(30) == 0


@contextlib.contextmanager
def serving(stage, line):
    """A shell in which the server runs, and the key that it has printed."""
    with Shell(stage) as shell:
        said = shell.background(line, "curl -sf http://127.0.0.1:7070/v1/ready")
        end = time.monotonic() + 20
        while not (key := re.search(r"rfk_[0-9a-f_]+", said)):
            assert time.monotonic() < end, said
            said += shell.paste("sleep 0.1")[0]
        yield shell, key[0]


def check_serve(stage, _, lines):
    serve, create = lines
    with serving(stage, serve) as (shell, _):
        key = re.search(r"rfk_[0-9a-f_]+", shell.paste(create)[0])[0]
        out, code = shell.paste(f"curl -sS -H 'X-API-Key: {key}' -H 'Content-Type: application/json' http://127.0.0.1:7070/v1/run -d '" + '{"argv": ["echo", "hi"]}' + "'")
        assert code == 0 and json.loads(out)["stdout"] == "hi\n", out


def check_gateway(stage, site, lines):
    with Shell(stage, **site.env) as shell:
        shell.background(lines[0], GATEWAY)
        out, code = shell.paste("ringfort run --net api.github.com -- ./agent")
        assert code == 0 and out.endswith("GET /user\n200\nnobody else\n"), out


CHECKS = {
    "run what nobody has read": check_plain("^a script\n$"),
    "let it change one folder": check_write,
    "let it reach one host, and no other": check_host,
    "let it use a token that it never sees": check_token,
    "run a snippet, whatever its language": check_plain("^42\n$"),
    "give it what its language needs": check_node,
    "sit in a box yourself": check_shell,
    "hide what no box should see": check_deny,
    "let it run these programs and no others": check_commands,
    "have the result as data": check_json,
    "know what a box would be, before it is": check_plain("(?s)^Files\n.*\nNetwork\n.*\nLimits\n.*\nSystem calls\n"),
    "know whether it may do something, and what decides": check_plain(r"^no: \S+/.ssh/id_ed25519 can't be read\n  why: ", 1),
    "let it change your files, and decide afterwards": check_workspace,
    "stop an agent whose runs keep failing, without being there": check_breaker,
    "know what this machine can enforce": check_plain("This machine can raise every wall of a process box as "),
    "see what runs now, and stop, freeze or end it": check_live,
    "the same by a key, in a terminal": check_top,
    "know afterwards what was run, and prove it": check_audit,
    "see what each agent did, and the policy that would have been enough": check_report,
    "have boxes stand ready, for many runs": check_warden,
    "give an agent tools that can do no harm": check_mcp,
    "give boxes to others, over HTTP": check_serve,
    "have the network's gateway stand ready, too": check_gateway,
}


def test_every_row_of_the_table_is_pasted():
    assert [wanted for wanted, _ in ROWS] == list(CHECKS)
    assert all(lines for _, lines in ROWS)


@pytest.mark.parametrize("wanted, lines", ROWS, ids=[row[0] for row in ROWS])
def test_a_row_of_the_table_does_what_is_wanted(wanted, lines, stage, request):
    has_site = CHECKS[wanted] in (check_host, check_token, check_gateway)
    CHECKS[wanted](stage, request.getfixturevalue("site") if has_site else None, lines)


# ------------------------------------------------------------- the tour

def is_json(shown):
    return bool(shown) and shown[0] == "{"


def compare_json(shown, said, path=""):
    """Fields that are shown are there, and are the same but for figures of one run and one machine."""
    for key, value in shown.items():
        assert key in said, (path, key)
        if isinstance(value, dict):
            compare_json(value, said[key], f"{path}.{key}")
        elif path == ".usage" or key == "id":
            assert type(value) is type(said[key]) or isinstance(said[key], (int, float)), (path, key, said[key])
        elif path != ".isolation.limits":  # whose grades are the machine's and the user's
            assert value == said[key], (path, key, said[key])


def compare_output(line, shown, said, stage):
    if is_json(shown):
        shown, said = json.loads("\n".join(shown)), json.loads(said)
        if stage.who == "user" and not said["isolation"]["proof"].get("cgroup"):  # README says that it shows root's
            del shown["isolation"]["proof"]["cgroup"]
        compare_json(shown, said)
        return
    if stage.who == "root" and "ringfort doctor" in line:  # README says that it shows an ordinary user's
        shown = [part.replace("as this user", "as root") for part in shown if not part.startswith("Limits: ")]
        shown.insert(-1, "...")
    if any(part.startswith("Limits: ") for part in shown) and os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        shown = ["..." if part.startswith("Limits: ") else part for part in shown]  # it may be delegated here
    if "echo /*" in line:  # of the folders for libraries a machine has some
        said = re.sub(r"( /lib\d*)+", " /lib", said)
        shown = [re.sub(r"( /lib\d*)+", " /lib", part) for part in shown]
    compare(shown, said, stage.place)


@pytest.mark.parametrize("steps", BLOCKS, ids=[steps[0][0] for steps in BLOCKS])
def test_a_block_of_the_tour_shows_what_is_printed(steps, stage, request):
    env = {}
    if any("api.github.com" in line for line, _ in steps):
        site = request.getfixturevalue("site")
        env = site.env
    for line, shown in steps:
        if line in NOT_RUN:
            pytest.skip(NOT_RUN[line])
        if line.startswith("ringfort shell"):
            terminal = Terminal(stage, line)
            terminal.wait_for("(box) ")
            terminal.type(shown[-1].split("$ ")[1] + "\n")
            assert terminal.end() == 0
            compare(shown + ["..."], terminal.said, stage.place)  # bash says "exit" itself
            continue
        with Shell(stage, **env) as shell:
            said, code = shell.paste(line)
        compare_output(line, shown, said, stage)
        if not shown:
            assert code == 0, (line, said)
    if env and "--credential" in "".join(line for line, _ in steps):
        assert [(one[0], one[2]) for one in site.seen] == [("GET", "/repos/acme/x"), ("GET", "/user")]
        assert site.seen[-1][3]["Authorization"] == f"Bearer {SECRET}"
    if "shadow --workspace" in steps[0][0]:
        assert (stage.project / "src/parser.c").read_text() == "int mended;\n"


def test_what_make_run_ends_with_is_shown(stage, public, ringfort):
    """The figures differ, and the five attempts and their ends do not."""
    shown = re.search(r"`make run` ends like this.*?```\n(.*?)```", README, re.S)[1].splitlines()
    with Shell(stage) as shell:
        said, code = shell.paste(f"{copy_tree(public, ringfort)}/scripts/demo")
    assert code == 0, said
    if stage.who == "root":
        compare([part for part in shown if part.strip()], said, stage.place)
    assert "0 of 5 succeeded (judged from outside)." in said and shown[0] in said


SERVE = (re.search(r"`(ringfort serve --listen [^`]*)` prints a key, once", README)[1], re.search(r"RINGFORT_URL=(\S+?)`", README)[1])


def test_the_server_of_the_tour_does_what_the_blocks_show(stage):
    serve, url = SERVE
    with serving(stage, f"{serve} &") as (shell, key):
        shell.paste(f"export RINGFORT_URL={url} RINGFORT_KEY={key}")
        said = [shell.paste(line) for line in block_of("sh").splitlines()]
        assert all(code == 0 for _, code in said), said
        assert json.loads(said[3][0])["stdout"] == "42\n", said
        shell.paste(f"export PYTHONPATH={stage.top / 'sdk'}")
        shutil.copytree(ROOT / "sdk/python/ringfort", stage.top / "sdk/ringfort")
        (stage.top / "sdk/front.py").write_text(block_of("python"))
        if IS_ROOT and stage.who == "user":
            subprocess.run(["chown", "-R", f"{USER_ID}:{USER_ID}", stage.top / "sdk"], check=True)
        said, code = shell.paste(f"/usr/bin/python3 -B {stage.top / 'sdk/front.py'}")
    if "No module named" in said:
        pytest.skip(said.splitlines()[-1])  # what the SDK stands on
    assert (code, said.strip()) == (0, "42"), said


@pytest.fixture(scope="module")
def compiled(public):
    """The block in TypeScript, compiled, beside the package as it would be installed."""
    folder, compiler = public / "readme-ts", typescript.compiler()
    typescript.compile_to(folder / "node_modules/ringfort/dist")
    shutil.copy(typescript.SDK / "package.json", folder / "node_modules/ringfort")
    (folder / "front.mts").write_text(block_of("ts"))
    done = subprocess.run(["node", compiler, "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler", "--lib",
                           "es2022,esnext.disposable,dom", "--types", "", "front.mts"], cwd=folder, capture_output=True, text=True,
                          timeout=100, check=False)
    assert done.returncode == 0, done.stdout
    return folder / "front.mjs"


def test_the_server_of_the_tour_serves_typescript(stage, compiled):
    serve, url = SERVE
    with serving(stage, f"{serve} &") as (shell, key):
        said, code = shell.paste(f"RINGFORT_URL={url} RINGFORT_KEY={key} node {compiled}")
        assert (code, said.strip()) == (0, "42"), said


def test_the_agent_of_the_tour_has_a_policy_and_a_workspace(stage):
    create, run = re.search(r"of their own: `(ringfort agent create [^`]*)`,\s+then `(ringfort agent run [^`]*)`", README).groups()
    with Shell(stage) as shell:
        assert shell.paste(create)[1] == 0
        said, code = shell.paste(run.replace("PROGRAM", "sh -c 'echo x > made'"))
        assert code == 0 and "added: made" in said and not (stage.project / "made").exists(), said


def test_what_is_not_run_is_little_and_is_there():
    assert len(NOT_RUN) == 2 and all(words in README for words in NOT_RUN)


# ------------------------------------------------------------- the rest of it

def test_the_front_page_does_not_boast():
    """Numbers of tests may only have grown since they were written down."""
    attacks = int(re.search(r"(\d+) attacks, with controls", README)[1])
    text = (ROOT / "docs/attacks.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^\| ", text, re.M)) >= attacks


def test_links_of_the_pages_lead_somewhere():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
    assert len(pages) > 20
    for page in pages:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if not target.startswith(("http:", "https:")):
                assert (page.parent / target).exists(), (page.name, target)
