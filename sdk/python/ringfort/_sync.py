"""The client.  Made from _async.py by make_sync.py: change that one."""
from __future__ import annotations

import time
import json
from types import TracebackType
from typing import Any, Iterator, Callable, Dict, Iterable, List, Literal, Mapping, Optional, Sequence, Type, Union, overload

import httpcore
import httpx

from . import _api
from ._api import (Checkpoint, Data, Event, FileEvent, FileInfo, Found, Metrics, Network, NetworkLog, ProcessInfo, Result, SandboxInfo,
                   Words, Workspace, Writer, WrittenFile)


def _tell(writer: Optional[Writer], event: Event) -> None:
    _api.tell(writer, event)


class _Line:
    """A connection to a server."""

    def __init__(self, url: Optional[str], key: Optional[str], ca: Optional[str], retries: int) -> None:
        base, socket, headers = _api.settle(url, key)
        self.retries = retries
        self.client = httpx.Client(
            base_url=base, headers=headers, timeout=_api.WAIT, verify=_api.trust(ca),
            transport=httpx.HTTPTransport(uds=socket) if socket else None)

    def ask(
            self, method: str, path: str, body: Optional[Mapping[str, Any]] = None, *, content: Optional[bytes] = None,
            params: Optional[Mapping[str, str]] = None, files: Any = None, kind: Optional[str] = None) -> httpx.Response:
        """One answer; what fails for a moment is asked again, as far as nothing can be done twice by it."""
        headers = _api.headers_of(method, path, kind)
        for attempt in range(self.retries + 1):
            try:
                answer = self.client.request(
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
            time.sleep(pause)
        raise AssertionError("a loop that always returns")

    def events(self, path: str, body: Mapping[str, Any], stream: _api.Stream) -> Iterator[Event]:
        """What a program writes, as it comes; stream.end() is its result then."""
        headers = {"Accept": "text/event-stream"}
        try:
            with self.client.stream("POST", path, json=body, headers=headers, timeout=_api.wait_for(body)) as answer:
                if answer.is_error:
                    raise _api.error_of(answer.status_code, answer.headers, (answer.read()).decode())
                for line in answer.iter_lines():
                    event = stream.line(line)
                    if event:
                        yield event
        except httpx.HTTPError as error:
            raise _api.Unreachable("POST", error) from error

    def run(self, path: str, body: Mapping[str, Any], on_stdout: Optional[Writer], on_stderr: Optional[Writer]) -> Result:
        if not on_stdout and not on_stderr:
            return _api.result_of((self.ask("POST", path, body)).json())
        stream = _api.Stream()
        for event in self.events(path, body, stream):
            _tell(on_stdout if event.stream == "stdout" else on_stderr, event)
        return stream.end()

    def close(self) -> None:
        self.client.close()


def run(
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
        return line.run("/v1/run", body, on_stdout, on_stderr)
    finally:
        line.close()


class Program:
    """One that runs in the background of a sandbox.  To go through it (`for`) is to read what it writes, until it ends."""

    def __init__(self, box: Sandbox, number: int) -> None:
        self.number, self._line, self._path = number, box._line, f"{box._path}/programs/{number}"
        self._cursor = 0
        self._written = _api.Stream()

    @property
    def pid(self) -> int:
        """Its number, by which Commands.connect() finds it again."""
        return self.number

    def read(self, wait: float = 0) -> List[Event]:
        """What it wrote since this was last called; waits up to so many seconds for something."""
        params = {"cursor": str(self._cursor), "wait_ms": str(int(min(wait, 30) * 1000))}
        log = (self._line.ask("GET", f"{self._path}/log", params=params)).json()
        self._cursor = log["cursor"]
        return self._written.keep(log["events"])

    def write(self, data: Data, close: bool = False) -> None:
        """Writes to its standard input."""
        self._line.ask("POST", f"{self._path}/stdin", {**_api.input_of(data), "close": close})

    def send_stdin(self, data: Data) -> None:
        self.write(data)

    def send_signal(self, name: str) -> None:
        """Sends it a signal: "TERM", "INT" ..."""
        self._line.ask("POST", f"{self._path}/signal", {"signal": name})

    def kill(self) -> None:
        self.send_signal("KILL")

    def result(self) -> Optional[Result]:
        """What it came to; None while it runs.  Of what it wrote it has what was read so far."""
        raw = (self._line.ask("GET", self._path)).json()["result"]
        return _api.result_of(raw, self._written.whole()) if raw else None

    def wait(self, on_stdout: Optional[Writer] = None, on_stderr: Optional[Writer] = None) -> Result:
        """Reads what it writes until it ends; then what it came to."""
        done = None
        while not done:
            done = self.result()
            for event in self.read(wait=0 if done else 20):
                _tell(on_stdout if event.stream == "stdout" else on_stderr, event)
        return _api.result_of(done.raw, self._written.whole())

    def __iter__(self) -> Iterator[Event]:
        is_over = False
        while not is_over:
            is_over = self.result() is not None
            for event in self.read(wait=0 if is_over else 20):
                yield event


class Commands:
    """The programs of a sandbox."""

    def __init__(self, box: Sandbox) -> None:
        self._box = box

    @overload
    def run(
            self, command: Words, *, background: Literal[False] = False, cwd: Optional[str] = None,
            env: Optional[Mapping[str, str]] = None, stdin: Optional[Data] = None, timeout: Optional[int] = None,
            on_stdout: Optional[Writer] = None, on_stderr: Optional[Writer] = None) -> Result: ...

    @overload
    def run(
            self, command: Words, *, background: Literal[True], cwd: Optional[str] = None,
            env: Optional[Mapping[str, str]] = None, stdin: Optional[Data] = None,
            timeout: Optional[int] = None) -> Program: ...

    def run(
            self, command: Words, *, background: bool = False, cwd: Optional[str] = None,
            env: Optional[Mapping[str, str]] = None, stdin: Optional[Data] = None, timeout: Optional[int] = None,
            on_stdout: Optional[Writer] = None, on_stderr: Optional[Writer] = None) -> Union[Result, Program]:
        """Runs a program in the sandbox: a line for a shell, or words.  In the background: the same as start()."""
        if background:
            return self.start(command, cwd=cwd, env=env, stdin=stdin, timeout=timeout)
        body = _api.program(command, stdin=stdin, env=env, cwd=cwd, timeout=timeout)
        return self._box._line.run(f"{self._box._path}/exec", body, on_stdout, on_stderr)

    def start(
            self, command: Words, *, cwd: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
            stdin: Optional[Data] = None, timeout: Optional[int] = None) -> Program:
        """Starts a program in the background."""
        body = {**_api.program(command, stdin=stdin, env=env, cwd=cwd, timeout=timeout), "background": True}
        answer = self._box._line.ask("POST", f"{self._box._path}/exec", body)
        return Program(self._box, answer.json()["number"])

    def stream(
            self, command: Words, *, cwd: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
            stdin: Optional[Data] = None, timeout: Optional[int] = None) -> Iterator[Union[Event, Result]]:
        """Runs a program, and gives what it writes as it comes, and last its result."""
        body, stream = _api.program(command, stdin=stdin, env=env, cwd=cwd, timeout=timeout), _api.Stream()
        for event in self._box._line.events(f"{self._box._path}/exec", body, stream):
            yield event
        yield stream.end()

    def connect(self, number: int) -> Program:
        """One in the background that there is; what it wrote is read from the beginning, as far as it is kept."""
        program = Program(self._box, number)
        program.result()
        return program

    def list(self) -> List[ProcessInfo]:
        """The programs that run."""
        return [row for row in (self._box.info()).programs if not row.ended]

    def kill(self, number: int) -> bool:
        """Ends a program in the background; False if it has ended already."""
        try:
            Program(self._box, number).kill()
        except (_api.Conflict, _api.NotFound):
            return False
        return True

    def send_stdin(self, number: int, data: Data) -> None:
        Program(self._box, number).write(data)


class Terminal:
    """A program on a terminal of its own.  To go through it (`for`) is to read what it writes, until it ends."""

    def __init__(self, line: _Line, path: str) -> None:
        self._line, self._path, self._socket = line, path, _api.Socket()
        self._exchange: Any = None
        self._stream: Any = None
        self._unread: List[bytes] = []
        self.number = 0
        self.lost = 0  # bytes that it wrote, and that are kept no more
        self.result: Optional[Result] = None

    def _open(self, order: Optional[Mapping[str, Any]]) -> None:
        exchange = self._line.client.stream("GET", self._path, headers=self._socket.headers(), timeout=_api.WAIT)
        try:
            answer = exchange.__enter__()
            self._exchange = exchange
            if not self._socket.accepts(answer):
                raise _api.error_of(answer.status_code, answer.headers, (answer.read()).decode())
            self._stream = answer.extensions["network_stream"]
            if order is not None:
                self._send(json.dumps(order))
            while not self.number:
                self._hear(_api.WAIT)
        except httpx.HTTPError as error:
            raise _api.Unreachable("GET", error) from error
        except BaseException:
            self.close()
            raise

    def _send(self, data: Data) -> None:
        self._stream.write(_api.Socket.frame(data), timeout=_api.WAIT)

    def _hear(self, wait: Optional[float]) -> None:
        """Takes in what comes next; nothing, if nothing comes in time."""
        try:
            data = self._stream.read(65536, timeout=wait)
        except httpcore.ReadTimeout:
            return
        except httpcore.NetworkError as error:
            raise _api.Unreachable("GET", error) from error
        if not data and not self.result:
            raise _api.ServerError("the connection ended before the program did", code="unavailable")
        messages, answers = self._socket.feed(data)
        for answer in answers:
            self._stream.write(answer, timeout=_api.WAIT)
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

    def read(self, wait: Optional[float] = None) -> bytes:
        """What it wrote since; waits for something, up to so many seconds or until it ends.  Nothing: it has ended, or wrote nothing."""
        while not self._unread and not self.result:
            self._hear(wait)
            if wait is not None:
                break
        data = b"".join(self._unread)
        self._unread.clear()
        return data

    def write(self, data: Data) -> None:
        """Types."""
        self._send(data.encode() if isinstance(data, str) else data)

    def send_stdin(self, data: Data) -> None:
        self.write(data)

    def resize(self, rows: int, columns: int) -> None:
        self._send(json.dumps({"terminal": {"rows": rows, "columns": columns}}))

    def send_signal(self, name: str) -> None:
        """Sends it a signal: "TERM", "INT" ..."""
        self._send(json.dumps({"signal": name}))

    def kill(self) -> None:
        self.send_signal("KILL")

    def wait(self, on_data: Optional[Callable[[bytes], Any]] = None) -> Result:
        """Reads what it writes until it ends; then what it came to."""
        while not self.result or self._unread:
            data = self.read()
            if data and on_data:
                on_data(data)
        return self.result

    def close(self) -> None:
        """Lets go of it; the program goes on as long as `keep` says."""
        exchange, self._exchange = self._exchange, None
        if exchange:
            exchange.__exit__(None, None, None)

    def __iter__(self) -> Iterator[bytes]:
        while not self.result or self._unread:
            data = self.read()
            if data:
                yield data

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
            self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
            trace: Optional[TracebackType]) -> None:
        self.close()


class Pty:
    """Terminals in a sandbox."""

    def __init__(self, box: Sandbox) -> None:
        self._line, self._path = box._line, box._path

    def create(
            self, command: Words = ("sh",), *, rows: int = 24, columns: int = 80, keep: int = 300, cwd: Optional[str] = None,
            env: Optional[Mapping[str, str]] = None, timeout: Optional[int] = None) -> Terminal:
        """Runs a program on a terminal; when nobody is connected any more it goes on for `keep` seconds."""
        terminal = Terminal(self._line, f"{self._path}/exec")
        body = _api.program(command, env=env, cwd=cwd, timeout=timeout)
        terminal._open({**body, "terminal": {"rows": rows, "columns": columns, "keep": keep}})
        return terminal

    def connect(self, number: int) -> Terminal:
        """Comes back to one; what it wrote last is read first."""
        terminal = Terminal(self._line, f"{self._path}/terminals/{number}")
        terminal._open(None)
        return terminal


class Files:
    """The files of a sandbox."""

    def __init__(self, box: Sandbox) -> None:
        self._box = box

    def _ask(
            self, method: str, path: str, rest: str = "", content: Optional[bytes] = None,
            kind: Optional[str] = None) -> httpx.Response:
        return self._box._line.ask(
            method, f"{self._box._path}/files{rest}", content=content, params={"path": path}, kind=kind)

    def read_bytes(self, path: str) -> bytes:
        return (self._ask("GET", path)).content

    def read(self, path: str) -> str:
        return (self.read_bytes(path)).decode()

    def read_stream(self, path: str, size: int = 65536) -> Iterator[bytes]:
        """A file in pieces, however large it is."""
        line = self._box._line
        try:
            with line.client.stream("GET", f"{self._box._path}/files", params={"path": path}) as answer:
                if answer.is_error:
                    raise _api.error_of(answer.status_code, answer.headers, (answer.read()).decode())
                for piece in answer.iter_bytes(size):
                    yield piece
        except httpx.HTTPError as error:
            raise _api.Unreachable("GET", error) from error

    def write(self, path: str, data: Data) -> None:
        """Writes a file, and makes the folders that lead to it."""
        self._ask("PUT", path, content=data.encode() if isinstance(data, str) else data, kind=_api.BYTES)

    def write_files(self, files: Mapping[str, Data]) -> List[WrittenFile]:
        """Writes several files at once, by their paths."""
        answer = self._box._line.ask("POST", f"{self._box._path}/files", files=_api.form_of(files))
        return [WrittenFile(row["path"], row["size"]) for row in answer.json()["files"]]

    def list(self, path: str) -> List[FileInfo]:
        return [FileInfo(**row) for row in (self._ask("GET", path, "/list")).json()["files"]]

    def stat(self, path: str) -> FileInfo:
        return FileInfo(**(self._ask("GET", path, "/stat")).json())

    def get_info(self, path: str) -> FileInfo:
        return self.stat(path)

    def exists(self, path: str) -> bool:
        try:
            self.stat(path)
        except _api.NotFound as error:
            if error.where == "path":
                return False
            raise
        return True

    def remove(self, path: str) -> None:
        """Removes a file, or a folder with all that is in it."""
        self._ask("DELETE", path)

    def make_dir(self, path: str) -> None:
        """Makes a folder, and those that lead to it."""
        self._box._line.ask("POST", f"{self._box._path}/files/mkdir", {"path": path})

    def watch(
            self, path: str, *, interval_ms: int = 500, depth: int = 64) -> Iterator[FileEvent]:
        """What changes beneath a folder, from now on and for as long as it is gone through."""
        line, changes = self._box._line, _api.Changes()
        params = {"path": path, "interval_ms": str(interval_ms), "depth": str(depth)}
        headers = {"Accept": "text/event-stream"}
        try:
            with line.client.stream(
                    "GET", f"{self._box._path}/files/watch", params=params, headers=headers,
                    timeout=httpx.Timeout(_api.WAIT, read=None)) as answer:
                if answer.is_error:
                    raise _api.error_of(answer.status_code, answer.headers, (answer.read()).decode())
                for text in answer.iter_lines():
                    event = changes.line(text)
                    if event:
                        yield event
        except httpx.HTTPError as error:
            raise _api.Unreachable("GET", error) from error

    def move(self, old: str, new: str) -> None:
        """The same as rename()."""
        self.rename(old, new)

    def rename(self, old: str, new: str) -> None:
        """Moves a file or a folder; a file that has the new name is replaced, a folder never."""
        self._box._line.ask("POST", f"{self._box._path}/files/move", {"from": old, "to": new})

    def search(
            self, path: str, *, name: Optional[str] = None, content: Optional[str] = None, limit: int = 100) -> List[Found]:
        """Files beneath a folder by a pattern for their names, or the lines that have a text."""
        params = _api.without_none({"path": path, "name": name, "content": content, "limit": str(limit)})
        answer = (self._box._line.ask("GET", f"{self._box._path}/files/search", params=params)).json()
        return [_api.found_of(row) for row in answer["found"]]

    def read_archive(self, path: str) -> bytes:
        """A folder, or a file, as a tar archive."""
        return (self._ask("GET", path, "/archive")).content

    def write_archive(self, path: str, archive: bytes) -> None:
        """Unpacks a tar archive into a folder."""
        self._ask("PUT", path, "/archive", content=archive, kind=_api.TAR)


class SandboxNetwork:
    """What a sandbox may reach: of a server that gives its sandboxes a network."""

    def __init__(self, box: Sandbox) -> None:
        self._line, self._path = box._line, f"{box._path}/network"

    def get(self) -> Network:
        """What holds now."""
        return _api.network_of((self._line.ask("GET", self._path)).json())

    def set(self, rules: Mapping[str, Any]) -> Network:
        """Other rules from now on, as `network` of a policy; what holds then is within the key's ceiling."""
        return _api.network_of((self._line.ask("PUT", self._path, {"network": dict(rules)})).json())

    def allow(self, hosts: Iterable[str]) -> Network:
        """These rules besides those that hold."""
        rules = dict((self.get()).rules)
        return self.set({**rules, "allow": [*rules.get("allow", []), *hosts]})

    def log(self, cursor: int = 0) -> NetworkLog:
        """What its network did, from a cursor on."""
        return NetworkLog(**(self._line.ask("GET", f"{self._path}/log", params={"cursor": str(cursor)})).json())

    def summary(self) -> Mapping[str, Any]:
        """What it came to, host by host."""
        answer: Dict[str, Any] = (self._line.ask("GET", f"{self._path}/summary")).json()
        return answer


class Sandbox:
    """A box that stays.  As a context manager it ends with its block."""

    def __init__(self, id: str, line: _Line) -> None:
        self.id, self._line, self._path = id, line, f"/v1/sandboxes/{id}"
        self.commands, self.files = Commands(self), Files(self)
        self.network, self.pty = SandboxNetwork(self), Pty(self)

    @property
    def sandbox_id(self) -> str:
        return self.id

    @classmethod
    def create(
            cls, *, timeout: Optional[int] = None, idle_timeout: Optional[int] = None,
            labels: Optional[Mapping[str, str]] = None, env: Optional[Mapping[str, str]] = None,
            limits: Optional[Mapping[str, Any]] = None, profile: Optional[Words] = None,
            policy: Optional[Mapping[str, Any]] = None, credentials: Optional[Sequence[str]] = None,
            workspace: Union[None, bool, str] = None,
            url: Optional[str] = None, key: Optional[str] = None, ca: Optional[str] = None,
            retries: int = _api.RETRIES) -> Sandbox:
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
            return cls((line.ask("POST", "/v1/sandboxes", body)).json()["id"], line)
        except BaseException:
            line.close()
            raise

    @classmethod
    def connect(
            cls, id: str, *, url: Optional[str] = None, key: Optional[str] = None, ca: Optional[str] = None,
            retries: int = _api.RETRIES) -> Sandbox:
        """One that there is."""
        box = cls(id, _Line(url, key, ca, retries))
        try:
            box.info()
        except BaseException:
            box.close()
            raise
        return box

    @classmethod
    def list(
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
                answer = (line.ask("GET", "/v1/sandboxes", params=params)).json()
                found += [_api.info_of(row) for row in answer["sandboxes"]]
                cursor = answer["next_cursor"]
        finally:
            line.close()
        return [one for one in found if all(one.labels.get(name) == value for name, value in (labels or {}).items())]

    def info(self) -> SandboxInfo:
        return _api.info_of((self._line.ask("GET", self._path)).json())

    def get_info(self) -> SandboxInfo:
        return self.info()

    def is_running(self) -> bool:
        """False once it has ended; a paused one is there, and does not run."""
        try:
            return (self.info()).state == "running"
        except _api.NotFound:
            return False

    def metrics(self) -> Metrics:
        """What it uses now."""
        return _api.metrics_of((self._line.ask("GET", f"{self._path}/metrics")).json())

    def get_metrics(self) -> Metrics:
        return self.metrics()

    def run_code(
            self, code: str, *, language: str = "python", cwd: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
            timeout: Optional[int] = None, on_stdout: Optional[Writer] = None, on_stderr: Optional[Writer] = None) -> Result:
        """Runs code in one of the languages that the machine has."""
        body = _api.program(code=code, language=language, cwd=cwd, env=env, timeout=timeout)
        return self._line.run(f"{self._path}/exec", body, on_stdout, on_stderr)

    def run(
            self, code: str, *, language: str = "python", cwd: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
            timeout: Optional[int] = None, on_stdout: Optional[Writer] = None, on_stderr: Optional[Writer] = None) -> Result:
        """The same; a line for a shell is commands.run()'s."""
        return self.run_code(
            code, language=language, cwd=cwd, env=env, timeout=timeout, on_stdout=on_stdout, on_stderr=on_stderr)

    def get_url(self, port: int, path: str = "/") -> str:
        """Where what listens on a port in the sandbox is reached, by who shows a key."""
        return f"{str(self._line.client.base_url).rstrip('/')}{self._path}/ports/{port}{path if path.startswith('/') else '/' + path}"

    def get_host(self, port: int) -> str:
        """The same without its scheme, as it is put behind one."""
        return self.get_url(port, "/").split("://", 1)[1].rstrip("/")

    def request(self, port: int, method: str = "GET", path: str = "/", **more: Any) -> httpx.Response:
        """Asks what listens on a port in the sandbox; `more` is httpx's.  Its answer is whatever it is."""
        try:
            return self._line.client.request(method, self.get_url(port, path), **more)
        except httpx.HTTPError as error:
            raise _api.Unreachable(method, error) from error

    def checkpoint(self, name: Optional[str] = None) -> Checkpoint:
        """Keeps the files of its workspace as they are; everything in it stands still meanwhile."""
        answer = self._line.ask("POST", f"{self._path}/checkpoints", _api.without_none({"name": name}))
        return _api.checkpoint_of(answer.json())

    def checkpoints(self) -> List[Checkpoint]:
        rows = (self._line.ask("GET", f"{self._path}/checkpoints")).json()["checkpoints"]
        return [_api.checkpoint_of(row) for row in rows]

    def undo(self, to: Union[int, str]) -> Checkpoint:
        """Brings the files of a checkpoint back, by its number or name."""
        return _api.checkpoint_of((self._line.ask("POST", f"{self._path}/undo", {"to": str(to)})).json())

    def diff(self, since: Union[int, str], to: Union[None, int, str] = None) -> str:
        """What has changed since a checkpoint, or between two, as a unified diff."""
        params = _api.without_none({"from": str(since), "to": None if to is None else str(to)})
        return str((self._line.ask("GET", f"{self._path}/diff", params=params)).json()["unified"])

    def fork(self, name: str) -> Workspace:
        """Another workspace that begins with these files: create(workspace=name) has it."""
        return _api.workspace_of((self._line.ask("POST", f"{self._path}/fork", {"name": name})).json())

    def pause(self) -> None:
        """Stops everything in it where it is; its time passes."""
        self._line.ask("POST", f"{self._path}/pause")

    def resume(self) -> None:
        self._line.ask("POST", f"{self._path}/resume")

    def set_timeout(self, timeout: int) -> None:
        """It ends so many seconds from now."""
        self._line.ask("POST", f"{self._path}/timeout", {"timeout": timeout})

    def kill(self) -> None:
        """Ends it, and waits until nothing of it runs."""
        self._line.ask("DELETE", self._path)

    def close(self) -> None:
        """Lets go of it; it goes on until its time is over."""
        self._line.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
            self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
            trace: Optional[TracebackType]) -> None:
        try:
            self.kill()
        except _api.NotFound:
            pass  # its time was over
        finally:
            self.close()
