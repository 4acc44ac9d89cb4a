"""Every call of the SDK against a server that there is: live.py sync|async, with RINGFORT_URL and RINGFORT_KEY.

What a server does not have (its own document says so) is passed over, and named.
"""
import asyncio
import inspect
import io
import os
import sys
import tarfile
import urllib.parse

import httpx

import ringfort
from ringfort import AsyncSandbox, Sandbox, run, run_async, run_stream, run_stream_async


async def settle(value):
    """The same text tests both clients."""
    return await value if inspect.isawaitable(value) else value


async def collect(values):
    """What an iterator of either kind gives."""
    return [one async for one in values] if hasattr(values, "__aiter__") else list(values)


def document():
    return httpx.get(f"{os.environ['RINGFORT_URL']}/v1/openapi.json", verify=ringfort._api.trust(None)).json()


async def fails(kind, call, *args, **more):
    try:
        await settle(call(*args, **more))
    except kind as error:
        assert error.message and error.code, error
        return error
    raise AssertionError(f"no {kind.__name__}")


async def test_runs(go):
    assert (await settle(go(["echo", "hi"]))).stdout == "hi\n"
    assert (await settle(go("echo $A", env={"A": "b"}))).stdout == "b\n"
    done = await settle(go(code="print(open('/code/a').read())", language="python", files={"a": "text"}))
    assert done.ok and done.stdout == "text\n" and done.raw["isolation"]["got"] == "process"
    assert (await settle(go(["cat"], stdin=b"\0\xff"))).stdout_bytes == b"\0\xff"
    bad = await settle(go("echo no >&2; exit 3"))
    assert bad.exit_code == 3 and bad.status == "failed" and not bad.ok
    try:
        bad.check()
        raise AssertionError("it failed")
    except ringfort.CommandError as error:
        assert error.result is bad and "no" in error.message
    told = []
    streamed = await settle(go("echo one; sleep 0.3; echo two; echo three >&2", on_stdout=told.append))
    assert told == ["one\n", "two\n"] and streamed.stdout == "one\ntwo\n" and streamed.stderr == "three\n"
    assert (await settle(go(["sleep", "30"], timeout=1))).status == "timeout"
    assert (await settle(go("pwd", cwd="/tmp", needs={"isolation": "process"}))).stdout == "/tmp\n"
    events = await collect((run_stream_async if go is run_async else run_stream)("echo a; exit 4"))
    assert [event.text for event in events[:-1]] == ["a\n"] and events[-1].exit_code == 4
    if go is run_async:
        async def later(text):
            await asyncio.sleep(0)
            told.append(text)
        await go("echo four", on_stdout=later)
        assert told[-1] == "four\n"


async def test_errors(go, box):
    assert (await fails(ringfort.InvalidRequest, go, ["a"], limits={"memory": "much"})).where == "policy"
    assert (await fails(ringfort.Refused, go, ["true"], limits={"memory": "1T"})).where == "limits.memory"
    done = await settle(go(["true"], limits={"memory": "1T"}, beyond="drop"))
    assert done.ok and done.beyond_ceiling == ["limits.memory: 1T"] and (await settle(go(["true"]))).beyond_ceiling == []
    assert (await fails(ringfort.InvalidRequest, go)).status == 422
    await fails(ringfort.InvalidRequest, go, ["a"], timeout=0, on_stdout=print)
    await fails(ringfort.NotAuthorized, go, ["a"], key="wrong")
    await fails(ringfort.Refused, go, ["a"], policy={"network": {"allow": ["a.example"]}})
    await fails(ringfort.NotFound, box.connect, "none")
    await fails(ringfort.ServerError, go, ["a"], url="http://127.0.0.1:1")
    slow = os.environ["SLOW_KEY"]
    await settle(go(["true"], key=slow))
    assert (await fails(ringfort.TooManyRequests, go, ["true"], key=slow)).retry_after >= 1


async def test_files(one):
    await settle(one.files.write("/tmp/a/b.txt", "grüße"))
    await settle(one.files.write("/tmp/a/raw", b"\0\1"))
    assert await settle(one.files.read("/tmp/a/b.txt")) == "grüße"
    assert await settle(one.files.read_bytes("/tmp/a/raw")) == b"\0\1"
    assert {row.name: row.size for row in await settle(one.files.list("/tmp/a"))} == {"b.txt": 7, "raw": 2}
    assert (await settle(one.files.stat("/tmp/a"))).type == "folder"
    assert await settle(one.files.exists("/tmp/a")) and not await settle(one.files.exists("/tmp/none"))
    await settle(one.files.remove("/tmp/a"))
    await fails(ringfort.NotFound, one.files.read, "/tmp/a/raw")
    await settle(one.files.make_dir("/tmp/b/c"))
    assert [row.path for row in await settle(one.files.write_files({"/tmp/b/x.py": "def f(): pass\n", "/tmp/b/c/y": b"\0" * 70000}))] == [
        "/tmp/b/x.py", "/tmp/b/c/y"]
    pieces = await collect(one.files.read_stream("/tmp/b/c/y", 1000))
    assert len(pieces) >= 70 and b"".join(pieces) == b"\0" * 70000
    await fails(ringfort.NotFound, lambda: collect(one.files.read_stream("/tmp/none")))
    await settle(one.files.rename("/tmp/b/c/y", "/tmp/b/z"))
    assert (await settle(one.files.get_info("/tmp/b/z"))).size == 70000
    assert [row.path for row in await settle(one.files.search("/tmp/b", name="*.py"))] == ["/tmp/b/x.py"]
    hit, = await settle(one.files.search("/tmp/b", content="def f"))
    assert (hit.path, hit.line) == ("/tmp/b/x.py", 1)
    packed = await settle(one.files.read_archive("/tmp/b"))
    assert any(name.endswith("x.py") for name in tarfile.open(fileobj=io.BytesIO(packed)).getnames())
    await settle(one.files.write_archive("/tmp/d", packed))
    assert [row.path for row in await settle(one.files.search("/tmp/d", name="x.py"))]
    await fails(ringfort.Refused, one.files.write, "/etc/x", "")


async def test_life(one, kind):
    assert (await settle(one.commands.run("echo $WHO; pwd", cwd="/tmp"))).stdout == "me\n/tmp\n"
    assert (await settle(one.commands.run(["cat"], stdin="in"))).stdout == "in"
    told = []
    await settle(one.commands.run("echo out; echo err >&2", on_stdout=told.append, on_stderr=told.append))
    assert sorted(told) == ["err\n", "out\n"]
    program = await settle(one.commands.start("while read x; do echo got $x; done; exit 5"))
    await settle(program.write("a\n"))
    assert b"".join([event.data for event in await settle(program.read(wait=5))]) == b"got a\n"
    assert await settle(program.result()) is None
    await settle(program.write(b"", close=True))
    for _ in range(100):
        done = await settle(program.result())
        if done:
            break
        await asyncio.sleep(0.05)
    assert done.exit_code == 5 and done.stdout == "got a\n"
    again = await settle(one.commands.connect(program.pid))
    assert [event.text for event in await collect(again)] == ["got a\n"]
    background = await settle(one.commands.run("echo o; echo e >&2; exit 2", background=True))
    heard = []
    ended = await settle(background.wait(on_stdout=heard.append))
    assert (ended.exit_code, ended.stdout, ended.stderr, heard) == (2, "o\n", "e\n", ["o\n"])
    sleeper = await settle(one.commands.start(["sleep", "60"]))
    assert sleeper.number in [row.number for row in await settle(one.commands.list())]
    assert await settle(one.commands.kill(sleeper.number)) and (await settle(sleeper.wait())).signal == 9
    assert not await settle(one.commands.kill(sleeper.number))
    events = await collect(one.commands.stream("echo a; sleep 0.2; echo b >&2; exit 4"))
    assert [(event.stream, event.text) for event in events[:-1]] == [("stdout", "a\n"), ("stderr", "b\n")]
    assert events[-1].exit_code == 4 and events[-1].stderr == "b\n"
    assert (await settle(one.run("print(6 * 7)"))).stdout == "42\n"
    assert (await settle(one.run_code("echo $A", language="bash", env={"A": "b"}))).stdout == "b\n"
    await fails(ringfort.Conflict, program.kill)
    info = await settle(one.get_info())
    assert one.sandbox_id == info.id and await settle(one.is_running())
    assert info.labels == {"a": "b"} and info.state == "running"
    await settle(one.pause())
    assert (await settle(one.info())).state == "paused"
    await fails(ringfort.Conflict, one.commands.run, "true")
    await settle(one.resume())
    await settle(one.set_timeout(60))
    assert (await settle(one.info())).expires_in_ms <= 60000
    same = await settle(kind.connect(one.id))
    assert (await settle(same.commands.run("true"))).ok
    await settle(same.close())
    assert [row.id for row in await settle(kind.list(labels={"a": "b"}))] == [one.id]
    assert await settle(kind.list(labels={"a": "c"})) == []
    await fails(ringfort.NotFound, kind.connect, one.id, key=os.environ["OTHER_KEY"])


async def test_terminal(one):
    terminal = await settle(one.pty.create(rows=30, columns=100, env={"PS1": "ready> "}))
    seen = b""
    await settle(terminal.write("stty size; tty; echo $((6 * 7))\n"))
    while b"30 100" not in seen or b"/dev/pts/" not in seen or b"42" not in seen:
        piece = await settle(terminal.read())
        assert piece, seen
        seen += piece
    await settle(terminal.resize(50, 120))
    await settle(terminal.write(b"stty size\n"))
    while b"50 120" not in seen:
        seen += await settle(terminal.read(wait=30))
    await settle(one.pty.resize(terminal.pid, 20, 90))
    await settle(one.pty.send_stdin(terminal.pid, "stty size\n"))
    while b"20 90" not in seen:
        seen += await settle(terminal.read(wait=30))
    await settle(terminal.close())
    await fails(ringfort.ServerError, terminal.write, "x")
    same = await settle(one.pty.connect(terminal.number))
    assert same.number == terminal.number and same.lost == 0
    await settle(same.write("exit 7\n"))
    told = []
    done = await settle(same.wait(on_data=told.append))
    assert done.exit_code == 7 and b"50 120" in b"".join(told)
    await settle(same.close())
    short = await settle(one.pty.create(["sh", "-c", "yes | head -c 300000 | tr -d '\\n'"]))
    assert len(b"".join(await collect(short))) == 150000 and short.result.ok
    await settle(short.close())
    endless = await settle(one.pty.create(["sleep", "1000"]))
    assert await settle(one.pty.kill(endless.number)) and (await settle(endless.wait())).signal == 9
    assert not await settle(one.pty.kill(endless.number))
    await settle(endless.close())
    await fails(ringfort.NotFound, one.pty.send_stdin, 9999, "x")
    await fails(ringfort.NotFound, one.pty.connect, 9999)
    await fails(ringfort.InvalidRequest, one.pty.create, ["true"], rows=-1)


async def test_network(kind):
    """With a key whose ceiling leads to a server of files."""
    key = os.environ["NET_KEY"]
    one = await settle(kind.create(key=key, policy={"network": {"allow": ["GET plain.test:*/**"]}}))
    ask = "curl -s -o /dev/null -w '%{http_code}' http://plain.test:" + os.environ["NET_PORT"]
    assert (await settle(one.commands.run(ask))).stdout == "200"
    assert (await settle(one.network.get())).rules["allow"] == ["GET plain.test:*"]
    wide = {"allow": ["POST plain.test:*/**", "other.test"]}
    await fails(ringfort.Refused, one.network.set, wide)
    assert (await settle(one.network.get())).rules["allow"] == ["GET plain.test:*"]
    now = await settle(one.network.set(wide, beyond="drop"))
    assert now.beyond_ceiling == ["network.allow: other.test"]
    assert (await settle(one.commands.run(ask))).stdout == "403"
    await settle(one.network.allow(["GET plain.test:*/**"]))
    assert (await settle(one.commands.run(ask))).stdout == "200"
    log = await settle(one.network.log())
    assert log.cursor > 0 and "plain.test" in str(log.events)
    assert "plain.test" in str(await settle(one.network.summary()))
    await settle(one.kill())
    await settle(one.close())


async def first_of(values):
    """The first that an iterator of either kind gives; it is closed then."""
    if hasattr(values, "__aiter__"):
        found = await values.__anext__()
        await values.aclose()
    else:
        found = next(values)
        values.close()
    return found


def beside(kind, name):
    """What the client of a sandbox of this kind calls so."""
    return getattr(ringfort, f"Async{name}" if kind is AsyncSandbox else name)


async def test_approvals(kind):
    """With a key whose writes wait, and one that decides."""
    key, admin = os.environ["NET_KEY"], os.environ["ADMIN_KEY"]
    approvals, audit, mere = beside(kind, "Approvals")(key=admin), beside(kind, "Audit")(key=key), beside(kind, "Approvals")(key=key)
    one = await settle(kind.create(key=key, policy={"network": {"allow": ["plain.test:*"], "writes": "hold"}}))
    ask = "curl -s -d text http://plain.test:" + os.environ["NET_PORT"] + "/x"
    where = (await settle(audit.page(limit=1000))).cursor
    for _ in range(2):
        await settle(one.commands.run(ask))
    first, second = await settle(approvals.list(sandbox=one.id))
    assert first.method == "POST" and first.url.endswith("/x") and first.state == "waiting" and first.sandbox == one.id
    assert first.head is None and first.body is None
    whole = await settle(approvals.get(first.id))
    assert whole.head.startswith("POST /x HTTP/1.1") and whole.body == b"text" and not whole.is_cut
    await fails(ringfort.NotAuthorized, mere.approve, first.id)
    done = await settle(approvals.approve(first.id, reason="fine"))
    assert (done.state, done.status, done.refused) == ("approved", 501, None), done
    assert (await settle(approvals.deny(second.id))).state == "denied"
    assert (await settle(approvals.get(first.id))).reason == "fine"
    await fails(ringfort.Conflict, approvals.deny, first.id)
    await fails(ringfort.NotFound, approvals.get, "none")
    await fails(ringfort.NotFound, approvals.get, "../approvals")
    told = await first_of(audit.follow(cursor=where, kind="approval"))
    assert told.raw["approval"] == first.id and told.kind == "approval" and told.cursor
    later = await first_of(audit.follow(cursor=told.cursor, kind="approval"))
    assert later.raw["approval"] == second.id and later.raw["decision"] == "asked"
    page = await settle(audit.page(since="1h", kind="approval", box=one.id, limit=1))
    assert [event.raw["decision"] for event in page.events] == ["asked"] and page.next_cursor and page.events[0].cursor is None
    await fails(ringfort.InvalidRequest, first_of, audit.follow(kind="nothing"))
    for place in (approvals, audit, mere):
        await settle(place.close())
    await settle(one.kill())
    await settle(one.close())


async def test_ports(one):
    served = await settle(one.commands.start(["python3", "-m", "http.server", "8000", "--bind", "127.0.0.1", "--directory", "/tmp"]))
    await settle(one.files.write("/tmp/page.txt", "served"))
    for _ in range(200):
        answer = await settle(one.request(8000, path="/page.txt"))
        if answer.status_code == 200:
            break
        await asyncio.sleep(0.05)
    assert answer.text == "served" and one.get_url(8000, "x").endswith(f"/v1/sandboxes/{one.id}/ports/8000/x")
    assert one.get_host(8000) == one.get_url(8000).split("//")[1].rstrip("/")
    own = await settle(one.request(8000, "HEAD", "/page.txt", headers={"Authorization": "of the program's own"}))
    assert own.status_code == 200
    await settle(served.kill())


# Answers 302 with what it is asked with as Location, and tells what it was asked.
REDIRECTS = """
import http.server, urllib.parse
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        place, body = urllib.parse.unquote(self.path.partition("?")[2]), f"{self.command} {self.path}".encode()
        self.send_response(302 if place else 200)
        if place:
            self.send_header("Location", place)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
http.server.ThreadingHTTPServer(("127.0.0.1", 8002), Handler).serve_forever()
"""


async def test_redirects(one):
    """A program that sends who asks elsewhere gets its key nowhere: who runs this looks at what ELSEWHERE was asked."""
    program = await settle(one.commands.start(["python3", "-c", REDIRECTS]))
    while (await settle(one.request(8002))).status_code == 502:
        await asyncio.sleep(0.05)
    elsewhere, beside = os.environ["ELSEWHERE"], one.get_url(1).split("/v1/")[0]
    for place in (elsewhere, elsewhere.split(":", 1)[1], f"{beside}/v1/sandboxes", "../../../../sandboxes", f"{one.get_url(8003)}x"):
        for method in ("GET", "POST"):
            answer = await settle(one.request(8002, method, "/?" + urllib.parse.quote(place, safe=""), follow_redirects=True))
            assert (answer.status_code, answer.headers.get("location"), answer.headers["x-ringfort-location"]) == (302, None, place)
            assert answer.next_request is None and "x-api-key" not in answer.request.headers
    for place, text in (("/done", "GET /done"), ("next", "GET /next"), (f"http://localhost:8002/{one.id}", f"GET /{one.id}")):
        own = await settle(one.request(8002, path="/?" + urllib.parse.quote(place, safe=""), follow_redirects=True))
        assert (own.status_code, own.text, [row.status_code for row in own.history]) == (200, text, [302]), own.headers
        assert "x-api-key" not in own.request.headers and not [row for row in own.history if "x-api-key" in row.request.headers]
        assert (await settle(one.request(8002, path="/?" + urllib.parse.quote(place, safe="")))).status_code == 302
    for path in ("/../../../../sandboxes", "/%2e%2e/%2e%2e/x", "/a/..%2f..%2fx"):
        await fails(ringfort.InvalidRequest, one.request, 8002, path=path)
    await fails(ringfort.InvalidRequest, one.web_socket, 8002, "/../x")
    await settle(program.kill())


async def test_web_socket(one):
    with open(os.environ["ECHO"], encoding="utf-8") as file:
        await settle(one.files.write("/tmp/echo.py", file.read()))
    echo = await settle(one.commands.start(["python3", "/tmp/echo.py"]))
    for attempt in range(200):
        try:
            socket = await settle(one.web_socket(8001, "/x", ["chat", "other"]))
            break
        except ringfort.ServerError:
            assert attempt < 199
            await asyncio.sleep(0.05)
    assert socket.protocol == "chat" and socket.closed is None
    await settle(socket.send("grüße"))
    assert await settle(socket.receive()) == "grüße"
    for size in (0, 125, 126, 65535, 65536, 1000000):
        await settle(socket.send(b"x" * size))
        assert await settle(socket.receive(wait=30)) == b"x" * size
    assert await settle(socket.receive(wait=0.05)) is None and socket.closed is None
    await settle(socket.close())
    assert await settle(socket.receive()) is None and socket.closed == 1000
    await fails(ringfort.ServerError, socket.send, "x")
    await fails(ringfort.ServerError, one.web_socket, 1)
    await settle(echo.kill())


async def test_watch(one):
    await settle(one.files.make_dir("/tmp/w"))
    await settle(one.commands.start("sleep 1; while :; do date >> /tmp/w/new; sleep 0.3; done"))
    event = await first_of(one.files.watch("/tmp/w", interval_ms=200))
    assert event.path.endswith("new") and event.kind in ("created", "modified"), event


async def test_workspace(kind):
    one = await settle(kind.create(workspace=True))
    await settle(one.commands.run("echo a > f"))
    first = await settle(one.checkpoint("first"))
    await settle(one.commands.run("echo b > f"))
    assert "+b" in await settle(one.diff(first.number)) and [row.name for row in await settle(one.checkpoints())] == ["first"]
    assert (await settle(one.undo("first"))).number == first.number
    assert (await settle(one.commands.run("cat f"))).stdout == "a\n"
    name = f"fork-{kind.__name__}"
    fork = await settle(one.fork(name))
    assert fork.name == name and fork.origin == (await settle(one.info())).workspace
    other = await settle(kind.create(workspace=name))
    assert (await settle(other.commands.run("cat f"))).stdout == "a\n"
    await test_apply(one, other)
    places = beside(kind, "Workspaces")()
    assert (await settle(places.get(name))).in_use
    await fails(ringfort.Conflict, places.delete, name)
    for box in (one, other):
        await settle(box.kill())
        await settle(box.close())
    await settle(places.delete(name))
    await fails(ringfort.NotFound, places.get, name)
    assert (await settle(places.create(name))).origin is None
    assert name in [row.name for row in await settle(places.list())]
    await test_by_name(kind, places, name)
    await settle(places.delete(name))
    await settle(places.close())


async def test_by_name(kind, places, name):
    """What a sandbox does with its workspace, without one."""
    box = await settle(kind.create(workspace=name))
    first = await settle(places.checkpoint(name))
    await settle(box.commands.run("echo one > f"))
    second = await settle(places.checkpoint(name, "second"))
    assert [row.name for row in await settle(places.checkpoints(name))] == [first.name, "second"] and second.number > first.number
    assert "+one" in await settle(places.diff(name, first.number, "second")) and await settle(places.diff(name, "second")) == ""
    fork = await settle(places.fork(name, f"{name}-2"))
    assert fork.origin == name
    inside = await settle(kind.create(workspace=fork.name))
    await settle(inside.commands.run("echo two > f"))
    assert (await settle(places.apply(fork.name, dry_run=True))).changes == {"f": "modified"}
    await settle(box.commands.run("echo three > f"))
    assert (await fails(ringfort.Conflict, places.apply, fork.name)).conflicts == ["f"]
    done = await settle(places.apply(fork.name, conflicts="fork"))
    assert done.origin == name and (await settle(box.commands.run("cat f"))).stdout == "two\n"
    assert (await settle(places.undo(name, done.checkpoint))).number == done.checkpoint
    assert (await settle(box.commands.run("cat f"))).stdout == "three\n"
    await settle(places.delete_checkpoint(name, first.number))
    await settle(box.delete_checkpoint(second.number))
    assert [row.number for row in await settle(box.checkpoints())] == [done.checkpoint]
    await fails(ringfort.NotFound, places.delete_checkpoint, name, first.number)
    for one in (inside, box):
        await settle(one.kill())
        await settle(one.close())
    await settle(places.delete(fork.name))
    await fails(ringfort.NotFound, places.checkpoints, fork.name)
    other = beside(kind, "Workspaces")(key=os.environ["OTHER_KEY"])
    for ask, words in ((other.checkpoint, ()), (other.checkpoints, ()), (other.delete_checkpoint, (done.checkpoint,)), (other.undo, (done.checkpoint,)),
                       (other.diff, (done.checkpoint,)), (other.fork, ("mine",)), (other.apply, ())):
        await fails(ringfort.NotFound, ask, name, *words)  # they are another tenant's
    await settle(other.close())


async def test_apply(origin, fork):
    await settle(fork.commands.run("echo F > f; echo new > n; mkdir -p .git/hooks; echo x > .git/hooks/pre-push"))
    told = await settle(fork.apply(dry_run=True))
    assert told.dry_run and told.checkpoint is None and told.changes["f"] == "modified" and told.changes["n"] == "added", told
    assert told.protected == {".git/hooks/pre-push": "git hook"}, told
    await settle(fork.commands.run("rm -r .git"))
    await settle(origin.commands.run("echo O > f"))
    assert (await fails(ringfort.Conflict, fork.apply)).conflicts == ["f"]
    done = await settle(fork.apply(conflicts="fork"))
    assert (done.added, done.modified, done.deleted, done.conflicts) == (1, 1, 0, ["f"]) and done.checkpoint, done
    assert (await settle(origin.commands.run("cat f n"))).stdout == "F\nnew\n"
    assert (await fails(ringfort.Conflict, origin.apply)).conflicts == ()


async def test_agents(kind, go):
    agents, name = beside(kind, "Agent"), f"agent-{kind.__name__}"
    await fails(ringfort.Refused, agents.create, name, limits={"memory": "1T"})
    agent = await settle(agents.create(name, limits={"memory": "1T"}, beyond="drop"))
    assert agent.beyond_ceiling == ["limits.memory: 1T"]
    await settle(agent.delete())
    agent = await settle(agents.create(name, description="a test", labels={"a": "b"}, timeout=60, limits={"memory": "64M"}))
    assert agent.beyond_ceiling == []
    info = await settle(agent.info())
    assert (info.description, info.workspace, info.running) == ("a test", name, []) and info.policy["limits"]["memory"] == "64M", info
    assert name in [one.name for one in await settle(agents.list(labels={"a": "b"}))]
    assert await settle(agents.list(labels={"a": "b", "c": "d"})) == []
    await settle(go("echo x > here", agent=name))
    stream = run_stream_async if go is run_async else run_stream
    assert (await collect(stream("cat here", agent=name)))[0].text == "x\n"
    box = await settle(kind.create(agent=name))
    assert (await settle(box.info())).agent == name and (await settle(box.commands.run("cat here"))).stdout == "x\n"
    await fails(ringfort.Conflict, agent.delete)
    await settle(box.kill())
    await settle(box.close())
    await test_breakers(kind, go, name)
    info = await settle(agent.replace(description="another", limits={"memory": "32M"}))
    assert (info.name, info.description, info.labels, info.workspace) == (name, "another", {}, name), info
    assert info.policy["limits"]["memory"] == "32M" and (await settle(agent.info())).description == "another", info
    assert (await settle(go("cat here", agent=name))).stdout == "x\n"  # it keeps its files
    again = await settle(agents.connect(name))
    await settle(again.delete(keep_workspace=True))
    await fails(ringfort.NotFound, agents.connect, name)
    await fails(ringfort.NotFound, agent.replace)
    await settle(agent.close())
    other = await settle(agents.create(name, workspace=name))
    await settle(other.delete())
    places = beside(kind, "Workspaces")()
    await settle(places.delete(name))  # which was there before
    await settle(places.close())


async def test_breakers(kind, go, name):
    breakers, other = beside(kind, "Breakers")(), beside(kind, "Breakers")(key=os.environ["NET_KEY"])
    assert await settle(other.list()) == []  # they are another tenant's
    await fails(ringfort.NotAuthorized, other.trip, name)
    assert (await settle(breakers.trip(name, reason="enough", seconds=600))).state == "open"
    row, = [one for one in await settle(breakers.list()) if one.name == name]
    assert row.state == "open" and "enough" in row.reason and row.retry_ms > 0, row
    assert (await settle(go(["true"], agent=name))).status == "denied"
    assert (await settle(breakers.reset(name))).state == "closed" and (await settle(go(["true"], agent=name))).ok
    await fails(ringfort.NotFound, breakers.reset, "nobody")
    for place in (breakers, other):
        await settle(place.close())


async def test_later(one, go, there):
    """What came to servers later than the rest."""
    assert (await settle(one.get_metrics())).memory > 0
    done = await settle(go("echo x > a.txt; printf '\\377' > b.bin", outputs=["*.txt", "b.bin"]))
    assert done.files == {"a.txt": b"x\n", "b.bin": b"\xff"}
    await fails(ringfort.Conflict, one.network.get)
    await test_ports(one)
    await test_redirects(one)
    await test_web_socket(one)
    await test_watch(one)
    if "/v1/sandboxes/{id}/checkpoints" in there["paths"]:
        await test_workspace(type(one))
        await test_agents(type(one), go)
    else:
        print("no workspaces", file=sys.stderr)
    if "/v1/approvals" in there["paths"]:
        await test_approvals(type(one))
    else:
        print("no approvals", file=sys.stderr)


async def main(name):
    kind, go = (Sandbox, run) if name == "sync" else (AsyncSandbox, run_async)
    await test_runs(go)
    await test_errors(go, kind)
    await test_network(kind)
    if name == "sync":
        with Sandbox.create(labels={"a": "b"}, env={"WHO": "me"}, timeout=120) as one:
            await test_files(one)
            await test_life(one, kind)
            await test_terminal(one)
            await test_later(one, go, document())
    else:
        async with await AsyncSandbox.create(labels={"a": "b"}, env={"WHO": "me"}, timeout=120) as one:
            await test_files(one)
            await test_life(one, kind)
            await test_terminal(one)
            await test_later(one, go, document())
    await fails(ringfort.NotFound, kind.connect, one.id)
    print("all is well")


asyncio.run(main(sys.argv[1]))
