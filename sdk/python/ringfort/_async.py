"""The client, for programs with an event loop of asyncio.  _sync.py is made from this file: see make_sync.py."""
from __future__ import annotations

import asyncio
import inspect  # async only
import json
from types import TracebackType
from typing import Any, AsyncIterator, Callable, Dict, Iterable, List, Literal, Mapping, Optional, Sequence, Type, Union, overload

import httpcore
import httpx

from . import _api
from ._api import (Checkpoint, Data, Event, FileEvent, FileInfo, Found, Metrics, Network, NetworkLog, ProcessInfo, Result, SandboxInfo,
                   Words, Workspace, Writer, WrittenFile)


async def _tell(writer: Optional[Writer], event: Event) -> None:
    # sync: _api.tell(writer, event)
    told = _api.tell(writer, event)  # async only
    if inspect.isawaitable(told):  # async only
        await told  # async only


class _Line:
    """A connection to a server."""

    def __init__(self, url: Optional[str], key: Optional[str], ca: Optional[str], retries: int) -> None:
        base, socket, headers = _api.settle(url, key)
        self.retries = retries
        self.client = httpx.AsyncClient(
            base_url=base, headers=headers, timeout=_api.WAIT, verify=_api.trust(ca),
            transport=httpx.AsyncHTTPTransport(uds=socket) if socket else None)

    async def ask(
            self, method: str, path: str, body: Optional[Mapping[str, Any]] = None, *, content: Optional[bytes] = None,
            params: Optional[Mapping[str, str]] = None, files: Any = None, kind: Optional[str] = None) -> httpx.Response:
        """One answer; what fails for a moment is asked again, as far as nothing can be done twice by it."""
        headers = _api.headers_of(method, path, kind)
        for attempt in range(self.retries + 1):
            try:
                answer = await self.client.request(
                    method, path, json=body, content=content, params=params, files=files, headers=headers,
                    timeout=_api.wait_for(body or {"timeout": _api.WAIT}))
                failure = _api.failure_of(answer)
            except httpx.HTTPError as error:
                failure = _api.Unreachable(method, error, "Idempotency-Key" in headers)
            if not failure:
                return answer
            pause = _api.pause_before(attempt, self.retries, failure)
            if pause is None:
                raise failure
            await asyncio.sleep(pause)
        raise AssertionError("a loop that always returns")

    async def events(self, path: str, body: Mapping[str, Any], stream: _api.Stream) -> AsyncIterator[Event]:
        """What a program writes, as it comes; stream.end() is its result then."""
        headers = {"Accept": "text/event-stream"}
        try:
            async with self.client.stream("POST", path, json=body, headers=headers, timeout=_api.wait_for(body)) as answer:
                if answer.is_error:
                    raise _api.error_of(answer.status_code, answer.headers, (await answer.aread()).decode())
                async for line in answer.aiter_lines():
                    event = stream.line(line)
                    if event:
                        yield event
        except httpx.HTTPError as error:
            raise _api.Unreachable("POST", error) from error

    async def run(self, path: str, body: Mapping[str, Any], on_stdout: Optional[Writer], on_stderr: Optional[Writer]) -> Result:
        if not on_stdout and not on_stderr:
            return _api.result_of((await self.ask("POST", path, body)).json())
        stream = _api.Stream()
        async for event in self.events(path, body, stream):
            await _tell(on_stdout if event.stream == "stdout" else on_stderr, event)
        return stream.end()

    async def close(self) -> None:
        await self.client.aclose()


async def run_async(
        argv: Optional[Words] = None, *, command: Optional[str] = None, code: Optional[str] = None,
        language: Optional[str] = None, stdin: Optional[Data] = None, env: Optional[Mapping[str, str]] = None,
        files: Optional[Mapping[str, Data]] = None, timeout: Optional[int] = None,
        limits: Optional[Mapping[str, Any]] = None, profile: Optional[Words] = None,
        policy: Optional[Mapping[str, Any]] = None, credentials: Optional[Sequence[str]] = None,
        workspace: Optional[str] = None, outputs: Optional[Sequence[str]] = None,
        on_stdout: Optional[Writer] = None, on_stderr: Optional[Writer] = None, url: Optional[str] = None,
        key: Optional[str] = None, ca: Optional[str] = None, retries: int = _api.RETRIES) -> Result:
    """Runs one program in a box of its own; `outputs` are names of files that are wanted of it, in the result's `files`."""
    line = _Line(url, key, ca, retries)
    body = _api.program(argv, command, code, language, stdin, env, None, timeout, files, limits, profile, policy)
    body.update({**_api.lists(credentials=credentials, outputs=outputs), **_api.place_of(workspace)})
    try:
        return await line.run("/v1/run", body, on_stdout, on_stderr)
    finally:
        await line.close()


class AsyncProgram:
    """One that runs in the background of a sandbox.  To go through it (`async for`) is to read what it writes, until it ends."""

    def __init__(self, box: AsyncSandbox, number: int) -> None:
        self.number, self._line, self._path = number, box._line, f"{box._path}/programs/{number}"
        self._cursor = 0
        self._written = _api.Stream()

    @property
    def pid(self) -> int:
        """Its number, by which AsyncCommands.connect() finds it again."""
        return self.number

    async def read(self, wait: float = 0) -> List[Event]:
        """What it wrote since this was last called; waits up to so many seconds for something."""
        params = {"cursor": str(self._cursor), "wait_ms": str(int(min(wait, 30) * 1000))}
        log = (await self._line.ask("GET", f"{self._path}/log", params=params)).json()
        self._cursor = log["cursor"]
        return self._written.keep(log["events"])

    async def write(self, data: Data, close: bool = False) -> None:
        """Writes to its standard input."""
        await self._line.ask("POST", f"{self._path}/stdin", {**_api.input_of(data), "close": close})

    async def send_stdin(self, data: Data) -> None:
        await self.write(data)

    async def send_signal(self, name: str) -> None:
        """Sends it a signal: "TERM", "INT" ..."""
        await self._line.ask("POST", f"{self._path}/signal", {"signal": name})

    async def kill(self) -> None:
        await self.send_signal("KILL")

    async def result(self) -> Optional[Result]:
        """What it came to; None while it runs.  Of what it wrote it has what was read so far."""
        raw = (await self._line.ask("GET", self._path)).json()["result"]
        return _api.result_of(raw, self._written.whole()) if raw else None

    async def wait(self, on_stdout: Optional[Writer] = None, on_stderr: Optional[Writer] = None) -> Result:
        """Reads what it writes until it ends; then what it came to."""
        done = None
        while not done:
            done = await self.result()
            for event in await self.read(wait=0 if done else 20):
                await _tell(on_stdout if event.stream == "stdout" else on_stderr, event)
        return _api.result_of(done.raw, self._written.whole())

    async def __aiter__(self) -> AsyncIterator[Event]:
        is_over = False
        while not is_over:
            is_over = await self.result() is not None
            for event in await self.read(wait=0 if is_over else 20):
                yield event


class AsyncCommands:
    """The programs of a sandbox."""

    def __init__(self, box: AsyncSandbox) -> None:
        self._box = box

    @overload
    async def run(
            self, command: Words, *, background: Literal[False] = False, cwd: Optional[str] = None,
            env: Optional[Mapping[str, str]] = None, stdin: Optional[Data] = None, timeout: Optional[int] = None,
            on_stdout: Optional[Writer] = None, on_stderr: Optional[Writer] = None) -> Result: ...

    @overload
    async def run(
            self, command: Words, *, background: Literal[True], cwd: Optional[str] = None,
            env: Optional[Mapping[str, str]] = None, stdin: Optional[Data] = None,
            timeout: Optional[int] = None) -> AsyncProgram: ...

    async def run(
            self, command: Words, *, background: bool = False, cwd: Optional[str] = None,
            env: Optional[Mapping[str, str]] = None, stdin: Optional[Data] = None, timeout: Optional[int] = None,
            on_stdout: Optional[Writer] = None, on_stderr: Optional[Writer] = None) -> Union[Result, AsyncProgram]:
        """Runs a program in the sandbox: a line for a shell, or words.  In the background: the same as start()."""
        if background:
            return await self.start(command, cwd=cwd, env=env, stdin=stdin, timeout=timeout)
        body = _api.program(command, stdin=stdin, env=env, cwd=cwd, timeout=timeout)
        return await self._box._line.run(f"{self._box._path}/exec", body, on_stdout, on_stderr)

    async def start(
            self, command: Words, *, cwd: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
            stdin: Optional[Data] = None, timeout: Optional[int] = None) -> AsyncProgram:
        """Starts a program in the background."""
        body = {**_api.program(command, stdin=stdin, env=env, cwd=cwd, timeout=timeout), "background": True}
        answer = await self._box._line.ask("POST", f"{self._box._path}/exec", body)
        return AsyncProgram(self._box, answer.json()["number"])

    async def stream(
            self, command: Words, *, cwd: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
            stdin: Optional[Data] = None, timeout: Optional[int] = None) -> AsyncIterator[Union[Event, Result]]:
        """Runs a program, and gives what it writes as it comes, and last its result."""
        body, stream = _api.program(command, stdin=stdin, env=env, cwd=cwd, timeout=timeout), _api.Stream()
        async for event in self._box._line.events(f"{self._box._path}/exec", body, stream):
            yield event
        yield stream.end()

    async def connect(self, number: int) -> AsyncProgram:
        """One in the background that there is; what it wrote is read from the beginning, as far as it is kept."""
        program = AsyncProgram(self._box, number)
        await program.result()
        return program

    async def list(self) -> List[ProcessInfo]:
        """The programs that run."""
        return [row for row in (await self._box.info()).programs if not row.ended]

    async def kill(self, number: int) -> bool:
        """Ends a program in the background; False if it has ended already."""
        try:
            await AsyncProgram(self._box, number).kill()
        except (_api.Conflict, _api.NotFound):
            return False
        return True

    async def send_stdin(self, number: int, data: Data) -> None:
        await AsyncProgram(self._box, number).write(data)


class AsyncTerminal:
    """A program on a terminal of its own.  To go through it (`async for`) is to read what it writes, until it ends."""

    def __init__(self, line: _Line, path: str) -> None:
        self._line, self._path, self._socket = line, path, _api.Socket()
        self._exchange: Any = None
        self._stream: Any = None
        self._unread: List[bytes] = []
        self.number = 0
        self.lost = 0  # bytes that it wrote, and that are kept no more
        self.result: Optional[Result] = None

    async def _open(self, order: Optional[Mapping[str, Any]]) -> None:
        exchange = self._line.client.stream("GET", self._path, headers=self._socket.headers(), timeout=_api.WAIT)
        try:
            answer = await exchange.__aenter__()
            self._exchange = exchange
            if not self._socket.accepts(answer):
                raise _api.error_of(answer.status_code, answer.headers, (await answer.aread()).decode())
            self._stream = answer.extensions["network_stream"]
            if order is not None:
                await self._send(json.dumps(order))
            while not self.number:
                await self._hear(_api.WAIT)
        except httpx.HTTPError as error:
            raise _api.Unreachable("GET", error) from error
        except BaseException:
            await self.close()
            raise

    async def _send(self, data: Data) -> None:
        await self._stream.write(_api.Socket.frame(data), timeout=_api.WAIT)

    async def _hear(self, wait: Optional[float]) -> None:
        """Takes in what comes next; nothing, if nothing comes in time."""
        try:
            data = await self._stream.read(65536, timeout=wait)
        except httpcore.ReadTimeout:
            return
        except httpcore.NetworkError as error:
            raise _api.Unreachable("GET", error) from error
        if not data and not self.result:
            raise _api.ServerError("the connection ended before the program did", code="unavailable")
        messages, answers = self._socket.feed(data)
        for answer in answers:
            await self._stream.write(answer, timeout=_api.WAIT)
        for message in messages:
            self._take(message)

    def _take(self, message: Data) -> None:
        if isinstance(message, bytes):
            self._unread.append(message[1:])
            return
        said = json.loads(message)
        if "error" in said:
            raise _api.error_of(200, {}, message)
        if "result" in said:
            self.result = _api.result_of(said["result"])
        began = said.get("started") or said.get("attached")
        if began:
            self.number, self.lost = began["number"], began.get("lost", 0)

    async def read(self, wait: Optional[float] = None) -> bytes:
        """What it wrote since; waits for something, up to so many seconds or until it ends.  Nothing: it has ended, or wrote nothing."""
        while not self._unread and not self.result:
            await self._hear(wait)
            if wait is not None:
                break
        data = b"".join(self._unread)
        self._unread.clear()
        return data

    async def write(self, data: Data) -> None:
        """Types."""
        await self._send(data.encode() if isinstance(data, str) else data)

    async def send_stdin(self, data: Data) -> None:
        await self.write(data)

    async def resize(self, rows: int, columns: int) -> None:
        await self._send(json.dumps({"terminal": {"rows": rows, "columns": columns}}))

    async def send_signal(self, name: str) -> None:
        """Sends it a signal: "TERM", "INT" ..."""
        await self._send(json.dumps({"signal": name}))

    async def kill(self) -> None:
        await self.send_signal("KILL")

    async def wait(self, on_data: Optional[Callable[[bytes], Any]] = None) -> Result:
        """Reads what it writes until it ends; then what it came to."""
        while not self.result or self._unread:
            data = await self.read()
            if data and on_data:
                # sync: on_data(data)
                told = on_data(data)  # async only
                if inspect.isawaitable(told):  # async only
                    await told  # async only
        return self.result

    async def close(self) -> None:
        """Lets go of it; the program goes on as long as `keep` says."""
        exchange, self._exchange = self._exchange, None
        if exchange:
            await exchange.__aexit__(None, None, None)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while not self.result or self._unread:
            data = await self.read()
            if data:
                yield data

    async def __aenter__(self) -> AsyncTerminal:
        return self

    async def __aexit__(
            self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
            trace: Optional[TracebackType]) -> None:
        await self.close()


class AsyncPty:
    """Terminals in a sandbox."""

    def __init__(self, box: AsyncSandbox) -> None:
        self._line, self._path = box._line, box._path

    async def create(
            self, command: Words = ("sh",), *, rows: int = 24, columns: int = 80, keep: int = 300, cwd: Optional[str] = None,
            env: Optional[Mapping[str, str]] = None, timeout: Optional[int] = None) -> AsyncTerminal:
        """Runs a program on a terminal; when nobody is connected any more it goes on for `keep` seconds."""
        terminal = AsyncTerminal(self._line, f"{self._path}/exec")
        body = _api.program(command, env=env, cwd=cwd, timeout=timeout)
        await terminal._open({**body, "terminal": {"rows": rows, "columns": columns, "keep": keep}})
        return terminal

    async def connect(self, number: int) -> AsyncTerminal:
        """Comes back to one; what it wrote last is read first."""
        terminal = AsyncTerminal(self._line, f"{self._path}/terminals/{number}")
        await terminal._open(None)
        return terminal


class AsyncFiles:
    """The files of a sandbox."""

    def __init__(self, box: AsyncSandbox) -> None:
        self._box = box

    async def _ask(
            self, method: str, path: str, rest: str = "", content: Optional[bytes] = None,
            kind: Optional[str] = None) -> httpx.Response:
        return await self._box._line.ask(
            method, f"{self._box._path}/files{rest}", content=content, params={"path": path}, kind=kind)

    async def read_bytes(self, path: str) -> bytes:
        return (await self._ask("GET", path)).content

    async def read(self, path: str) -> str:
        return (await self.read_bytes(path)).decode()

    async def read_stream(self, path: str, size: int = 65536) -> AsyncIterator[bytes]:
        """A file in pieces, however large it is."""
        line = self._box._line
        try:
            async with line.client.stream("GET", f"{self._box._path}/files", params={"path": path}) as answer:
                if answer.is_error:
                    raise _api.error_of(answer.status_code, answer.headers, (await answer.aread()).decode())
                async for piece in answer.aiter_bytes(size):
                    yield piece
        except httpx.HTTPError as error:
            raise _api.Unreachable("GET", error) from error

    async def write(self, path: str, data: Data) -> None:
        """Writes a file, and makes the folders that lead to it."""
        await self._ask("PUT", path, content=data.encode() if isinstance(data, str) else data, kind=_api.BYTES)

    async def write_files(self, files: Mapping[str, Data]) -> List[WrittenFile]:
        """Writes several files at once, by their paths."""
        answer = await self._box._line.ask("POST", f"{self._box._path}/files", files=_api.form_of(files))
        return [WrittenFile(row["path"], row["size"]) for row in answer.json()["files"]]

    async def list(self, path: str) -> List[FileInfo]:
        return [FileInfo(**row) for row in (await self._ask("GET", path, "/list")).json()["files"]]

    async def stat(self, path: str) -> FileInfo:
        return FileInfo(**(await self._ask("GET", path, "/stat")).json())

    async def get_info(self, path: str) -> FileInfo:
        return await self.stat(path)

    async def exists(self, path: str) -> bool:
        try:
            await self.stat(path)
        except _api.NotFound as error:
            if error.where == "path":
                return False
            raise
        return True

    async def remove(self, path: str) -> None:
        """Removes a file, or a folder with all that is in it."""
        await self._ask("DELETE", path)

    async def make_dir(self, path: str) -> None:
        """Makes a folder, and those that lead to it."""
        await self._box._line.ask("POST", f"{self._box._path}/files/mkdir", {"path": path})

    async def watch(
            self, path: str, *, interval_ms: int = 500, depth: int = 64) -> AsyncIterator[FileEvent]:
        """What changes beneath a folder, from now on and for as long as it is gone through."""
        line, changes = self._box._line, _api.Changes()
        params = {"path": path, "interval_ms": str(interval_ms), "depth": str(depth)}
        headers = {"Accept": "text/event-stream"}
        try:
            async with line.client.stream(
                    "GET", f"{self._box._path}/files/watch", params=params, headers=headers,
                    timeout=httpx.Timeout(_api.WAIT, read=None)) as answer:
                if answer.is_error:
                    raise _api.error_of(answer.status_code, answer.headers, (await answer.aread()).decode())
                async for text in answer.aiter_lines():
                    event = changes.line(text)
                    if event:
                        yield event
        except httpx.HTTPError as error:
            raise _api.Unreachable("GET", error) from error

    async def move(self, old: str, new: str) -> None:
        """The same as rename()."""
        await self.rename(old, new)

    async def rename(self, old: str, new: str) -> None:
        """Moves a file or a folder; a file that has the new name is replaced, a folder never."""
        await self._box._line.ask("POST", f"{self._box._path}/files/move", {"from": old, "to": new})

    async def search(
            self, path: str, *, name: Optional[str] = None, content: Optional[str] = None, limit: int = 100) -> List[Found]:
        """Files beneath a folder by a pattern for their names, or the lines that have a text."""
        params = _api.without_none({"path": path, "name": name, "content": content, "limit": str(limit)})
        answer = (await self._box._line.ask("GET", f"{self._box._path}/files/search", params=params)).json()
        return [_api.found_of(row) for row in answer["found"]]

    async def read_archive(self, path: str) -> bytes:
        """A folder, or a file, as a tar archive."""
        return (await self._ask("GET", path, "/archive")).content

    async def write_archive(self, path: str, archive: bytes) -> None:
        """Unpacks a tar archive into a folder."""
        await self._ask("PUT", path, "/archive", content=archive, kind=_api.TAR)


class AsyncNetwork:
    """What a sandbox may reach: of a server that gives its sandboxes a network."""

    def __init__(self, box: AsyncSandbox) -> None:
        self._line, self._path = box._line, f"{box._path}/network"

    async def get(self) -> Network:
        """What holds now."""
        return _api.network_of((await self._line.ask("GET", self._path)).json())

    async def set(self, rules: Mapping[str, Any]) -> Network:
        """Other rules from now on, as `network` of a policy; what holds then is within the key's ceiling."""
        return _api.network_of((await self._line.ask("PUT", self._path, {"network": dict(rules)})).json())

    async def allow(self, hosts: Iterable[str]) -> Network:
        """These rules besides those that hold."""
        rules = dict((await self.get()).rules)
        return await self.set({**rules, "allow": [*rules.get("allow", []), *hosts]})

    async def log(self, cursor: int = 0) -> NetworkLog:
        """What its network did, from a cursor on."""
        return NetworkLog(**(await self._line.ask("GET", f"{self._path}/log", params={"cursor": str(cursor)})).json())

    async def summary(self) -> Mapping[str, Any]:
        """What it came to, host by host."""
        answer: Dict[str, Any] = (await self._line.ask("GET", f"{self._path}/summary")).json()
        return answer


class AsyncSandbox:
    """A box that stays.  As a context manager it ends with its block."""

    def __init__(self, id: str, line: _Line) -> None:
        self.id, self._line, self._path = id, line, f"/v1/sandboxes/{id}"
        self.commands, self.files = AsyncCommands(self), AsyncFiles(self)
        self.network, self.pty = AsyncNetwork(self), AsyncPty(self)

    @property
    def sandbox_id(self) -> str:
        return self.id

    @classmethod
    async def create(
            cls, *, timeout: Optional[int] = None, idle_timeout: Optional[int] = None,
            labels: Optional[Mapping[str, str]] = None, env: Optional[Mapping[str, str]] = None,
            limits: Optional[Mapping[str, Any]] = None, profile: Optional[Words] = None,
            policy: Optional[Mapping[str, Any]] = None, credentials: Optional[Sequence[str]] = None,
            workspace: Union[None, bool, str] = None,
            url: Optional[str] = None, key: Optional[str] = None, ca: Optional[str] = None,
            retries: int = _api.RETRIES) -> AsyncSandbox:
        """Makes one; programs can be run in it when this returns.  It ends by itself after `timeout` seconds.

        A workspace, by its name or (True) one of its own, is a folder at /work whose files can be kept and brought back.
        """
        body = _api.program(timeout=timeout, env=env, limits=limits, profile=profile, policy=policy)
        body.update({**_api.lists(credentials=credentials), **_api.place_of(workspace)})
        if labels:
            body["labels"] = dict(labels)
        if idle_timeout is not None:
            body["idle_timeout"] = idle_timeout
        line = _Line(url, key, ca, retries)
        try:
            return cls((await line.ask("POST", "/v1/sandboxes", body)).json()["id"], line)
        except BaseException:
            await line.close()
            raise

    @classmethod
    async def connect(
            cls, id: str, *, url: Optional[str] = None, key: Optional[str] = None, ca: Optional[str] = None,
            retries: int = _api.RETRIES) -> AsyncSandbox:
        """One that there is."""
        box = cls(id, _Line(url, key, ca, retries))
        try:
            await box.info()
        except BaseException:
            await box.close()
            raise
        return box

    @classmethod
    async def list(
            cls, *, labels: Optional[Mapping[str, str]] = None, url: Optional[str] = None, key: Optional[str] = None,
            ca: Optional[str] = None, retries: int = _api.RETRIES) -> List[SandboxInfo]:
        """All that the key's tenant has; with labels, those that have them."""
        line = _Line(url, key, ca, retries)
        found: List[SandboxInfo] = []
        cursor: Optional[str] = ""
        label = next((f"{name}={value}" for name, value in (labels or {}).items()), None)
        try:
            while cursor is not None:
                params = _api.without_none({"limit": "1000", "cursor": cursor, "label": label})
                answer = (await line.ask("GET", "/v1/sandboxes", params=params)).json()
                found += [_api.info_of(row) for row in answer["sandboxes"]]
                cursor = answer["next_cursor"]
        finally:
            await line.close()
        return [one for one in found if all(one.labels.get(name) == value for name, value in (labels or {}).items())]

    async def info(self) -> SandboxInfo:
        return _api.info_of((await self._line.ask("GET", self._path)).json())

    async def get_info(self) -> SandboxInfo:
        return await self.info()

    async def is_running(self) -> bool:
        """False once it has ended; a paused one is there, and does not run."""
        try:
            return (await self.info()).state == "running"
        except _api.NotFound:
            return False

    async def metrics(self) -> Metrics:
        """What it uses now."""
        return _api.metrics_of((await self._line.ask("GET", f"{self._path}/metrics")).json())

    async def get_metrics(self) -> Metrics:
        return await self.metrics()

    async def run_code(
            self, code: str, *, language: str = "python", cwd: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
            timeout: Optional[int] = None, on_stdout: Optional[Writer] = None, on_stderr: Optional[Writer] = None) -> Result:
        """Runs code in one of the languages that the machine has."""
        body = _api.program(code=code, language=language, cwd=cwd, env=env, timeout=timeout)
        return await self._line.run(f"{self._path}/exec", body, on_stdout, on_stderr)

    async def run(
            self, code: str, *, language: str = "python", cwd: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
            timeout: Optional[int] = None, on_stdout: Optional[Writer] = None, on_stderr: Optional[Writer] = None) -> Result:
        """The same; a line for a shell is commands.run()'s."""
        return await self.run_code(
            code, language=language, cwd=cwd, env=env, timeout=timeout, on_stdout=on_stdout, on_stderr=on_stderr)

    def get_url(self, port: int, path: str = "/") -> str:
        """Where what listens on a port in the sandbox is reached, by who shows a key."""
        return f"{str(self._line.client.base_url).rstrip('/')}{self._path}/ports/{port}{path if path.startswith('/') else '/' + path}"

    def get_host(self, port: int) -> str:
        """The same without its scheme, as it is put behind one."""
        return self.get_url(port, "/").split("://", 1)[1].rstrip("/")

    async def request(self, port: int, method: str = "GET", path: str = "/", **more: Any) -> httpx.Response:
        """Asks what listens on a port in the sandbox; `more` is httpx's.  Its answer is whatever it is."""
        try:
            return await self._line.client.request(method, self.get_url(port, path), **more)
        except httpx.HTTPError as error:
            raise _api.Unreachable(method, error) from error

    async def checkpoint(self, name: Optional[str] = None) -> Checkpoint:
        """Keeps the files of its workspace as they are; everything in it stands still meanwhile."""
        answer = await self._line.ask("POST", f"{self._path}/checkpoints", _api.without_none({"name": name}))
        return _api.checkpoint_of(answer.json())

    async def checkpoints(self) -> List[Checkpoint]:
        rows = (await self._line.ask("GET", f"{self._path}/checkpoints")).json()["checkpoints"]
        return [_api.checkpoint_of(row) for row in rows]

    async def undo(self, to: Union[int, str]) -> Checkpoint:
        """Brings the files of a checkpoint back, by its number or name."""
        return _api.checkpoint_of((await self._line.ask("POST", f"{self._path}/undo", {"to": str(to)})).json())

    async def diff(self, since: Union[int, str], to: Union[None, int, str] = None) -> str:
        """What has changed since a checkpoint, or between two, as a unified diff."""
        params = _api.without_none({"from": str(since), "to": None if to is None else str(to)})
        return str((await self._line.ask("GET", f"{self._path}/diff", params=params)).json()["unified"])

    async def fork(self, name: str) -> Workspace:
        """Another workspace that begins with these files: create(workspace=name) has it."""
        return _api.workspace_of((await self._line.ask("POST", f"{self._path}/fork", {"name": name})).json())

    async def pause(self) -> None:
        """Stops everything in it where it is; its time passes."""
        await self._line.ask("POST", f"{self._path}/pause")

    async def resume(self) -> None:
        await self._line.ask("POST", f"{self._path}/resume")

    async def set_timeout(self, timeout: int) -> None:
        """It ends so many seconds from now."""
        await self._line.ask("POST", f"{self._path}/timeout", {"timeout": timeout})

    async def kill(self) -> None:
        """Ends it, and waits until nothing of it runs."""
        await self._line.ask("DELETE", self._path)

    async def close(self) -> None:
        """Lets go of it; it goes on until its time is over."""
        await self._line.close()

    async def __aenter__(self) -> AsyncSandbox:
        return self

    async def __aexit__(
            self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
            trace: Optional[TracebackType]) -> None:
        try:
            await self.kill()
        except _api.NotFound:
            pass  # its time was over
        finally:
            await self.close()
