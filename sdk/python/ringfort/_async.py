"""The client, for programs with an event loop of asyncio."""
from __future__ import annotations

import base64
from types import TracebackType
from typing import Any, Dict, List, Mapping, Optional, Type

import httpx

from . import _api
from ._api import Data, Event, FileInfo, Result, SandboxInfo, Words, Writer


class _Line:
    """A connection to a server."""

    def __init__(self, url: Optional[str], key: Optional[str]) -> None:
        base, socket, headers = _api.settle(url, key)
        self.client = httpx.AsyncClient(base_url=base, headers=headers, timeout=_api.WAIT,
                                   transport=httpx.AsyncHTTPTransport(uds=socket) if socket else None)

    async def ask(self, method: str, path: str, body: Optional[Mapping[str, Any]] = None, content: Optional[bytes] = None,
            params: Optional[Mapping[str, str]] = None) -> httpx.Response:
        try:
            answer = await self.client.request(method, path, json=body, content=content, params=params,
                                         timeout=_api.wait_for(body or {"timeout": _api.WAIT}))
        except httpx.HTTPError as error:
            raise _api.ServerError(f"the server can't be reached: {error}", code="unavailable") from error
        if answer.is_error:
            raise _api.error_of(answer.status_code, answer.headers, answer.text)
        return answer

    async def run(self, path: str, body: Dict[str, Any], on_stdout: Optional[Writer], on_stderr: Optional[Writer]) -> Result:
        if not on_stdout and not on_stderr:
            return _api.result_of((await self.ask("POST", path, body)).json())
        stream = _api.Stream(on_stdout, on_stderr)
        try:
            async with self.client.stream("POST", path, json=body, headers={"Accept": "text/event-stream"},
                                    timeout=_api.wait_for(body)) as answer:
                if answer.is_error:
                    raise _api.error_of(answer.status_code, answer.headers, (await answer.aread()).decode())
                async for line in answer.aiter_lines():
                    stream.line(line)
        except httpx.HTTPError as error:
            raise _api.ServerError(f"the server can't be reached: {error}", code="unavailable") from error
        return stream.end()

    async def close(self) -> None:
        await self.client.aclose()


async def run_async(argv: Optional[Words] = None, *, command: Optional[str] = None, code: Optional[str] = None,
        language: Optional[str] = None, stdin: Optional[Data] = None, env: Optional[Mapping[str, str]] = None,
        files: Optional[Mapping[str, Data]] = None, timeout: Optional[int] = None,
        limits: Optional[Mapping[str, Any]] = None, profile: Optional[Words] = None,
        policy: Optional[Mapping[str, Any]] = None, on_stdout: Optional[Writer] = None,
        on_stderr: Optional[Writer] = None, url: Optional[str] = None, key: Optional[str] = None) -> Result:
    """Runs one program in a box of its own."""
    line = _Line(url, key)
    try:
        return await line.run("/v1/run", _api.program(argv, command, code, language, stdin, env, None, timeout, files, limits,
                                                 profile, policy), on_stdout, on_stderr)
    finally:
        await line.close()


class _Commands:
    def __init__(self, box: "AsyncSandbox") -> None:
        self._box = box

    async def run(self, command: Words, *, cwd: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
            stdin: Optional[Data] = None, timeout: Optional[int] = None, on_stdout: Optional[Writer] = None,
            on_stderr: Optional[Writer] = None) -> Result:
        """Runs a program in the sandbox: a line for a shell, or words."""
        body = _api.program(command, stdin=stdin, env=env, cwd=cwd, timeout=timeout)
        return await self._box._line.run(f"{self._box._path}/exec", body, on_stdout, on_stderr)

    async def start(self, command: Words, *, cwd: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
              stdin: Optional[Data] = None, timeout: Optional[int] = None) -> "_Program":
        """Starts a program in the background."""
        body = {**_api.program(command, stdin=stdin, env=env, cwd=cwd, timeout=timeout), "background": True}
        answer = await self._box._line.ask("POST", f"{self._box._path}/exec", body)
        return _Program(self._box, answer.json()["number"])


class _Program:
    """One that runs in the background of a sandbox."""

    def __init__(self, box: "AsyncSandbox", number: int) -> None:
        self.number, self._line, self._path = number, box._line, f"{box._path}/programs/{number}"
        self._cursor = 0

    async def read(self, wait: float = 0) -> List[Event]:
        """What it wrote since this was last called; waits up to so many seconds for something."""
        params = {"cursor": str(self._cursor), "wait_ms": str(int(min(wait, 30) * 1000))}
        log = (await self._line.ask("GET", f"{self._path}/log", params=params)).json()
        self._cursor = log["cursor"]
        return [Event(row["stream"], _api.bytes_of(row["data"], row["encoding"])) for row in log["events"]]

    async def write(self, data: Data, close: bool = False) -> None:
        """Writes to its standard input."""
        body = {"data": data} if isinstance(data, str) else {"data_base64": base64.b64encode(data).decode()}
        await self._line.ask("POST", f"{self._path}/stdin", {**body, "close": close})

    async def send_signal(self, name: str) -> None:
        """Sends it a signal: "TERM", "INT" ..."""
        await self._line.ask("POST", f"{self._path}/signal", {"signal": name})

    async def kill(self) -> None:
        await self.send_signal("KILL")

    async def result(self) -> Optional[Result]:
        """What it came to; None while it runs.  What it wrote is read by itself."""
        raw = (await self._line.ask("GET", self._path)).json()["result"]
        return _api.result_of(raw) if raw else None


class _Files:
    def __init__(self, box: "AsyncSandbox") -> None:
        self._box = box

    async def _ask(self, method: str, path: str, rest: str = "", content: Optional[bytes] = None) -> httpx.Response:
        return await self._box._line.ask(method, f"{self._box._path}/files{rest}", content=content, params={"path": path})

    async def read_bytes(self, path: str) -> bytes:
        return (await self._ask("GET", path)).content

    async def read(self, path: str) -> str:
        return (await self.read_bytes(path)).decode()

    async def write(self, path: str, data: Data) -> None:
        """Writes a file, and makes the folders that lead to it."""
        await self._ask("PUT", path, content=data.encode() if isinstance(data, str) else data)

    async def list(self, path: str) -> List[FileInfo]:
        return [FileInfo(**row) for row in (await self._ask("GET", path, "/list")).json()["files"]]

    async def stat(self, path: str) -> FileInfo:
        return FileInfo(**(await self._ask("GET", path, "/stat")).json())

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


class AsyncSandbox:
    """A box that stays.  As a context manager it ends with its block."""

    def __init__(self, id: str, line: _Line) -> None:
        self.id, self._line, self._path = id, line, f"/v1/sandboxes/{id}"
        self.commands, self.files = _Commands(self), _Files(self)

    @classmethod
    async def create(cls, *, timeout: Optional[int] = None, labels: Optional[Mapping[str, str]] = None,
               env: Optional[Mapping[str, str]] = None, limits: Optional[Mapping[str, Any]] = None,
               profile: Optional[Words] = None, policy: Optional[Mapping[str, Any]] = None, url: Optional[str] = None,
               key: Optional[str] = None) -> "AsyncSandbox":
        """Makes one; programs can be run in it when this returns.  It ends by itself after `timeout` seconds."""
        body = _api.program(timeout=timeout, env=env, limits=limits, profile=profile, policy=policy)
        if labels:
            body["labels"] = dict(labels)
        line = _Line(url, key)
        try:
            return cls((await line.ask("POST", "/v1/sandboxes", body)).json()["id"], line)
        except BaseException:
            await line.close()
            raise

    @classmethod
    async def connect(cls, id: str, *, url: Optional[str] = None, key: Optional[str] = None) -> "AsyncSandbox":
        """One that there is."""
        box = cls(id, _Line(url, key))
        try:
            await box.info()
        except BaseException:
            await box.close()
            raise
        return box

    @classmethod
    async def list(cls, *, labels: Optional[Mapping[str, str]] = None, url: Optional[str] = None,
             key: Optional[str] = None) -> List[SandboxInfo]:
        """All that the key's tenant has; with a label, those that have it."""
        line, found, cursor = _Line(url, key), [], ""  # type: _Line, List[SandboxInfo], Optional[str]
        label = next(iter(labels.items()), None) if labels else None
        try:
            while cursor is not None:
                params = {"limit": "1000", "cursor": cursor, **({"label": f"{label[0]}={label[1]}"} if label else {})}
                answer = (await line.ask("GET", "/v1/sandboxes", params=params)).json()
                found += [_api.info_of(row) for row in answer["sandboxes"]]
                cursor = answer["next_cursor"]
        finally:
            await line.close()
        return [one for one in found if all(one.labels.get(name) == value for name, value in (labels or {}).items())]

    async def info(self) -> SandboxInfo:
        return _api.info_of((await self._line.ask("GET", self._path)).json())

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

    async def __aenter__(self) -> "AsyncSandbox":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
               trace: Optional[TracebackType]) -> None:
        try:
            await self.kill()
        except _api.NotFound:
            pass  # its time was over
        finally:
            await self.close()
