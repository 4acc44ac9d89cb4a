"""Every call of the SDK against a server that there is: live.py sync|async, with RINGFORT_URL and RINGFORT_KEY.

What a server does not have (its own document says so) is passed over, and named.
"""
import asyncio
import inspect
import io
import os
import sys
import tarfile

import httpx

import ringfort
from ringfort import AsyncSandbox, Sandbox, run, run_async


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
    if go is run_async:
        async def later(text):
            await asyncio.sleep(0)
            told.append(text)
        await go("echo four", on_stdout=later)
        assert told[-1] == "four\n"


async def test_errors(go, box):
    assert (await fails(ringfort.InvalidRequest, go, ["a"], limits={"memory": "much"})).where == "policy"
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
    await settle(terminal.close())
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
    await fails(ringfort.NotFound, one.pty.connect, 9999)
    await fails(ringfort.InvalidRequest, one.pty.create, ["true"], rows=-1)


async def test_network(kind):
    """With a key whose ceiling leads to a server of files."""
    key = os.environ["NET_KEY"]
    one = await settle(kind.create(key=key, policy={"network": {"allow": ["GET plain.test:*/**"]}}))
    ask = "curl -s -o /dev/null -w '%{http_code}' http://plain.test:" + os.environ["NET_PORT"]
    assert (await settle(one.commands.run(ask))).stdout == "200"
    assert (await settle(one.network.get())).rules["allow"] == ["GET plain.test:*"]
    now = await settle(one.network.set({"allow": ["POST plain.test:*/**", "other.test"]}))
    assert now.beyond_ceiling and "other.test" in str(now.beyond_ceiling)
    assert (await settle(one.commands.run(ask))).stdout == "403"
    await settle(one.network.allow(["GET plain.test:*/**"]))
    assert (await settle(one.commands.run(ask))).stdout == "200"
    log = await settle(one.network.log())
    assert log.cursor > 0 and "plain.test" in str(log.events)
    assert "plain.test" in str(await settle(one.network.summary()))
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
    await settle(served.kill())


async def test_watch(one):
    await settle(one.files.make_dir("/tmp/w"))
    await settle(one.commands.start("sleep 1; while :; do date >> /tmp/w/new; sleep 0.3; done"))
    changes = one.files.watch("/tmp/w", interval_ms=200)
    if hasattr(changes, "__aiter__"):
        event = await changes.__anext__()
        await changes.aclose()
    else:
        event = next(changes)
        changes.close()
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
    assert (await settle(one.fork(name))).name == name
    other = await settle(kind.create(workspace=name))
    assert (await settle(other.commands.run("cat f"))).stdout == "a\n"
    for box in (one, other):
        await settle(box.kill())
        await settle(box.close())


async def test_later(one, go, there):
    """What came to servers later than the rest."""
    assert (await settle(one.get_metrics())).memory > 0
    done = await settle(go("echo x > a.txt; printf '\\377' > b.bin", outputs=["*.txt", "b.bin"]))
    assert done.files == {"a.txt": b"x\n", "b.bin": b"\xff"}
    await fails(ringfort.Conflict, one.network.get)
    await test_ports(one)
    await test_watch(one)
    if "/v1/sandboxes/{id}/checkpoints" in there["paths"]:
        await test_workspace(type(one))
    else:
        print("no workspaces", file=sys.stderr)


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
