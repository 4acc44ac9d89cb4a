"""Every call of the SDK against a server that there is: live.py sync|async, with RINGFORT_URL and RINGFORT_KEY."""
import asyncio
import inspect
import os
import sys

import ringfort
from ringfort import AsyncSandbox, Sandbox, run, run_async


async def settle(value):
    """The same text tests both clients."""
    return await value if inspect.isawaitable(value) else value


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


async def test_errors(go, box):
    assert (await fails(ringfort.InvalidRequest, go, ["a"], limits={"memory": "much"})).where == "policy"
    assert (await fails(ringfort.InvalidRequest, go)).status == 422
    await fails(ringfort.InvalidRequest, go, ["a"], timeout=0, on_stdout=print)
    await fails(ringfort.NotAuthorized, go, ["a"], key="wrong")
    await fails(ringfort.Unsupported, go, ["a"], policy={"network": {"allow": ["a.example"]}})
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
    assert done.exit_code == 5
    await fails(ringfort.Conflict, program.kill)
    info = await settle(one.info())
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


async def main(name):
    kind, go = (Sandbox, run) if name == "sync" else (AsyncSandbox, run_async)
    await test_runs(go)
    await test_errors(go, kind)
    if name == "sync":
        with Sandbox.create(labels={"a": "b"}, env={"WHO": "me"}, timeout=120) as one:
            await test_files(one)
            await test_life(one, kind)
    else:
        async with await AsyncSandbox.create(labels={"a": "b"}, env={"WHO": "me"}, timeout=120) as one:
            await test_files(one)
            await test_life(one, kind)
    await fails(ringfort.NotFound, kind.connect, one.id)
    print("all is well")


asyncio.run(main(sys.argv[1]))
