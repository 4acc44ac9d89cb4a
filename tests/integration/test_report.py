"""`ringfort audit report`: what agents did, what they were granted and never used, and the policy that would do."""
import html.parser
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from watchers import IS_ROOT, Post  # noqa: E402

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
WHO = ["root", "user"] if IS_ROOT else ["user"]


@pytest.fixture(name="make_post")
def _make_post(ringfort, public):
    """Makes posts, which are gone afterwards."""
    top = pathlib.Path(tempfile.mkdtemp(prefix="report-", dir=public))
    top.chmod(0o755)
    posts = []

    def make(who, **options):
        posts.append(Post(ringfort, who, top / f"post{len(posts)}", **options))
        return posts[-1]
    yield make
    for post in posts:
        post.close()
    shutil.rmtree(top, ignore_errors=True)


# --- what is recorded for it ---

@pytest.mark.parametrize("who", WHO)
def test_the_text_of_a_policy_is_recorded_once_and_without_values(make_post, who):
    post = make_post(who)
    post.stand()
    for _ in range(3):
        done = post.run("run", "--agent", "a", "-e", "API_TOKEN=hunter2hunter2", "--", "sh", "-c", "printf 12345; printf 678 >&2")
        assert done.returncode == 0, done.stderr
    assert post.run("run", "--agent", "a", "--time", "7s", "--", "true").returncode == 0
    texts = post.events("--kind", "policy.text")
    assert len(texts) == 2 and len({one["policy"] for one in texts}) == 2
    assert "agent: a\n" in texts[0]["text"] and "API_TOKEN" in texts[0]["text"] and "time: 7s" in texts[1]["text"]
    started = post.events("--kind", "run.started")
    assert [one["policy"] for one in started] == [texts[0]["policy"]] * 3 + [texts[1]["policy"]]
    ended = post.events("--kind", "run.ended")
    assert [one["output"] for one in ended] == [8, 8, 8, 0]
    assert all(len(one["grades"]) == 10 and set(one["grades"]) <= set("nrsh") for one in ended)
    assert all(b"hunter2" not in path.read_bytes() for path in post.log.iterdir())
    assert "API_TOKEN" not in post.run("audit", "show").stdout  # a table has no room for texts


def test_a_long_policy_is_recorded_in_parts(make_post):
    post = make_post("user")
    post.stand()
    folders = [post.top / f"{'x' * 40}{i}" for i in range(150)]
    for folder in folders:
        folder.mkdir()
        folder.chmod(0o755)
    post.top.chmod(0o755)
    policy = post.top / "policy.json"
    policy.write_text(json.dumps({"files": {"read": [str(folder) for folder in folders]}}))
    policy.chmod(0o644)
    done = post.run("run", "--policy", policy, "--", "true")
    assert done.returncode == 0, done.stderr
    parts = post.events("--kind", "policy.text")
    assert len(parts) > 2 and [one["part"] for one in parts] == list(range(1, len(parts) + 1))
    assert {one["count"] for one in parts} == {len(parts)} and len({one["policy"] for one in parts}) == 1
    text = "".join(one["text"] for one in parts)
    assert all(str(folder) in text for folder in folders)


# --- what it tells ---

@pytest.fixture(scope="module")
def schema():
    jsonschema = pytest.importorskip("jsonschema", reason="no python3-jsonschema on this machine")
    told = json.loads((DOCS / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(told)
    return jsonschema.Draft202012Validator(told)


def report(post, *options, code=0):
    done = post.run("audit", "report", "--json", *options)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def agents(told):
    return {one["agent"]: one for one in told["agents"]}


def rows(listed):
    return {one["name"]: one["count"] for one in listed["rows"]}


WORK = "open('/tmp/file', 'wb').write(b'x' * 2_000_000); print('y' * 5000)"


@pytest.mark.parametrize("who", WHO)
def test_it_tells_what_each_agent_did(make_post, who, schema):
    post = make_post(who)
    post.stand()
    for _ in range(3):
        assert post.run("run", "--agent", "ada", "--", "python3", "-c", WORK).returncode == 0
    assert post.run("run", "--agent", "ada", "--time", "200ms", "--", "sleep", "9").returncode == 124
    assert post.run("run", "--", "false").returncode == 1
    for _ in range(2):
        post.run("run", "--policy", policy_file(post, {"agent": "bob", "budgets": {"runs_per_hour": 1}}), "--", "true")
    post.run("breaker", "trip", "host", "api.example.org", "--reason", "odd")
    told = report(post)
    schema.validate(told)
    assert told["log"]["good"] and set(agents(told)) == {None, "ada", "bob"}
    ada = agents(told)["ada"]
    assert ada["runs"] == {"started": 4, "ended": 4, "under_way": 0, "refused": 0}
    assert rows(ada["verdicts"]) == {"ok": 3, "timeout": 1}
    assert [one["used"] for one in ada["budgets"] if one["budget"] in ("runs", "time-outs")] == [4, 1]
    used = {one["grant"]: one for one in ada["policies"][0]["grants"]}
    assert rows(ada["policies"][0]["programs"]) == {"python3": 3} and ada["policies"][0]["runs"] == 3
    assert used["limits.output"]["used"] == "4.9K" and used["limits.output"]["tighter"] == "64K"
    assert used["limits.open_files"]["used"] is None and used["limits.open_files"]["note"] == "not measured"
    assert used["files.current"]["note"] == "known of runs under `ringfort policy learn` alone"
    assert (used["limits.disk"]["tighter"] is not None) == (who == "root")  # memory bounds it where that is counted
    slept = {one["grant"]: one for one in ada["policies"][1]["grants"]}
    assert slept["limits.time"]["note"] == "a run ended at it" and slept["limits.time"]["tighter"] is None
    bob = agents(told)["bob"]
    assert bob["runs"]["started"] == 1 and bob["runs"]["refused"] == 1 and bob["refusals"]["total"] == 1
    assert bob["breaker_openings"]["total"] == 1 and "runs" in bob["breaker_openings"]["last"][0]["reason"]
    assert next(one for one in bob["budgets"] if one["budget"] == "runs")["allowed_in_an_hour"] == 1
    assert told["of_no_agent"]["breaker_openings"]["last"][0]["name"] == "host api.example.org"
    assert set(agents(report(post, "--agent", "ada"))) == {"ada"}
    nothing = report(post, "--until", "1h")
    schema.validate(nothing)
    assert nothing["agents"] == [] and "Nothing was recorded" in post.run("audit", "report", "--until", "1h").stdout
    text = post.run("audit", "report").stdout
    assert "Agent ada\n" in text and "ok 3, timeout 1" in text and "The tighter policy:" in text


def policy_file(post, rules):
    path = post.top / "policy.json"
    path.write_text(json.dumps(rules))
    path.chmod(0o644)
    post.top.chmod(0o755)
    return path


@pytest.mark.parametrize("who", WHO)
def test_the_tighter_policy_is_one_and_the_same_program_passes_under_it(make_post, who):
    post = make_post(who)
    post.stand()
    rules = policy_file(post, {"agent": "ada", "limits": {"cpu": "400%", "memory": "1G", "time": "none"},
                               "env": {"set": {"TOKEN": "hunter2"}}})
    for _ in range(2):
        assert post.run("run", "--policy", rules, "--", "python3", "-c", WORK).returncode == 0
    done = post.run("audit", "report", "--agent", "ada", "--format", "policy")
    assert done.returncode == 0, done.stderr
    assert "# env.set, without its values: TOKEN\n" in done.stdout and "hunter2" not in done.stdout
    tighter = post.top / "tighter.yaml"
    tighter.write_text(done.stdout)
    tighter.chmod(0o644)
    checked = post.run("policy", "check", tighter)
    assert checked.returncode == 0, checked.stderr
    again = post.run("run", "--policy", tighter, "--json", "--", "python3", "-c", WORK)
    assert again.returncode == 0, again.stdout
    assert json.loads(again.stdout)["status"] == "ok"
    hungry = "x = bytearray(b'x' * 200_000_000); import time; time.sleep(0.3)"
    assert post.run("run", "--policy", rules, "--", "python3", "-c", hungry).returncode == 0
    over = post.run("run", "--policy", tighter, "--json", "--", "python3", "-c", hungry)
    assert json.loads(over.stdout)["status"] in ("memory", "failed")
    diff = post.run("policy", "diff", rules, tighter)
    assert "memory" in diff.stdout
    last = post.events("--kind", "policy.text")[-1]["text"]
    assert "time: none" not in last and "memory: 1G" not in last


@pytest.mark.parametrize("who", WHO)
def test_files_and_programs_are_trimmed_by_what_a_learnt_run_used(make_post, who):
    post = make_post(who)
    post.stand()
    for name in ("used", "spare", "out", "looked"):
        folder = post.top / name
        folder.mkdir()
        folder.chmod(0o777)
        (folder / "file").write_text(name)
        (folder / "file").chmod(0o666)
    post.top.chmod(0o755)
    rules = policy_file(post, {"agent": "ada", "files": {"read": [str(post.top / "used"), str(post.top / "spare")], "current": "none",
                                                         "write": [str(post.top / "out"), str(post.top / "looked")]}})
    script = f"cat {post.top}/used/file {post.top}/looked/file; echo x > {post.top}/out/new"
    done = post.run("run", "--policy", rules, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    (post.top / "out" / "new").unlink()  # so that it is made again
    before = {row["grant"]: row for row in report(post)["agents"][0]["policies"][0]["grants"]}
    assert "policy learn" in before["files.read"]["note"] and not before["files.read"]["tighter"]
    learnt = post.run("policy", "learn", "--policy", rules, "--", "sh", "-c", script)
    assert learnt.returncode == 0, learnt.stderr
    told = [(one["setting"], one.get("what")) for one in post.events("--kind", "run.used")]
    assert ("files.read", f"{post.top}/used/file") in told and ("files.write", f"{post.top}/out") in told and ("commands", "cat") in told
    assert told[-1] == ("learn", None)
    done = post.run("audit", "report", "--agent", "ada", "--format", "policy")
    assert done.returncode == 0, done.stderr
    assert f"- {post.top}/used\n" in done.stdout and "spare" not in done.stdout and "mode: report" not in done.stdout
    assert done.stdout.index("looked") < done.stdout.index("write:") < done.stdout.index(f"{post.top}/out")
    tighter = post.top / "tighter.yaml"
    tighter.write_text(done.stdout)
    tighter.chmod(0o644)
    again = post.run("run", "--policy", tighter, "--", "sh", "-c", script)
    assert again.returncode == 0, again.stderr
    assert post.run("run", "--policy", tighter, "--", "sh", "-c", f"echo x > {post.top}/looked/file").returncode != 0
    assert post.run("run", "--policy", tighter, "--", "cat", f"{post.top}/spare/file").returncode != 0
    assert post.run("run", "--policy", tighter, "--", "awk", "1").returncode != 0
    assert "never used" in post.run("audit", "report").stdout


def test_what_is_asked_wrongly_is_told_so(make_post):
    post = make_post("user")
    post.stand()
    for agent in ("ada", "bob"):
        post.run("run", "--agent", agent, "--", "true")
    for words, said in ((["--format", "pdf"], "text, html, json or policy"), (["--format", "html", "--json"], "not both"),
                        (["--since", "soon"], "no moment"), (["--kind", "run"], "--kind"),
                        (["--format", "policy"], "--agent NAME"), (["--format", "policy", "--agent", "eve"], "no run")):
        done = post.run("audit", "report", *words)
        assert done.returncode == 125 and said in done.stderr, (words, done.stderr)


def test_a_log_that_was_changed_is_reported_as_such(make_post):
    post = make_post("user")
    post.stand()
    for _ in range(3):
        post.run("run", "--agent", "ada", "--", "true")
    post.end()
    log = next(post.log.glob("*.log"))
    data = bytearray(log.read_bytes())
    data[data.rindex(b"ok")] ^= 1
    log.write_bytes(data)
    told = report(post, code=1)
    assert not told["log"]["good"] and "changed" in told["log"]["problem"]
    assert "BAD" in post.run("audit", "report").stdout
    assert "class=\"bad\"" in post.run("audit", "report", "--format", "html").stdout


# --- the page ---

class Page(html.parser.HTMLParser):
    """Its elements, and its text by element."""
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.names, self.attributes, self.open, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


EVIL = "<script>document.title = 'owned'</script><img src=x onerror=alert(1)>"


def test_a_page_shows_hostile_names_and_does_nothing(make_post):
    post = make_post("user")
    post.stand()
    post.python("""
        sock = connect()
        evil = %r
        AGENT, REASON = 1, 23
        for n in range(3):
            tell(sock, event(RUN_STARTED, BOX=f"b{n}", USER=0, PROGRAM=evil, AGENT=evil))
            tell(sock, event(DENIAL, BOX=f"b{n}", AGENT=evil, RING="execution", WHAT=evil))
            tell(sock, event(RUN_ENDED, BOX=f"b{n}", AGENT=evil, VERDICT=evil[:16], REASON=evil))
    """ % EVIL[:64])
    done = post.run("audit", "report", "--format", "html")
    assert done.returncode == 0, done.stderr
    page = Page(done.stdout)
    assert not {"script", "img", "link", "iframe", "a"} & set(page.names)
    assert not [name for name in page.attributes if name.startswith("on") or name in ("src", "href", "style")]
    assert EVIL[:64] in "".join(page.text) and "default-src 'none'" in done.stdout
    assert "prefers-color-scheme: dark" in done.stdout
    chromium = shutil.which("chromium")
    if not chromium:
        pytest.skip("no chromium on this machine")
    path = post.top / "report.html"
    path.write_text(done.stdout)
    seen = subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={post.top}/profile",
                           "--virtual-time-budget=2000", "--dump-dom", path.as_uri()], capture_output=True, text=True,
                          timeout=120, check=True).stdout
    dom = Page(seen)
    assert "<title>Ringfort audit report</title>" in seen and EVIL[:64] in "".join(dom.text)
    assert not {"script", "img"} & set(dom.names)
