"""Terminals in a sandbox."""
from __future__ import annotations

import inspect  # async only
import json
from types import TracebackType
from typing import Any, AsyncIterator, Callable, Dict, List, Mapping, Optional, Type

from .. import _api
from .._api import Data, Result, Words
from .line import Line
from .socket import AsyncPortSocket


class AsyncTerminal:
    """A program on a terminal of its own.  To go through it (`async for`) is to read what it writes, until it ends."""

    def __init__(self, line: Line) -> None:
        self._socket = AsyncPortSocket(line)
        self._unread: List[bytes] = []
        self.number = 0
        self.lost = 0  # bytes that it wrote, and that are kept no more
        self.result: Optional[Result] = None

    @property
    def pid(self) -> int:
        """Its number, by which connect() finds it again."""
        return self.number

    async def _open(self, path: str, order: Optional[Mapping[str, Any]]) -> None:
        await self._socket._open(path)
        try:
            if order is not None:
                await self._send(json.dumps(order))
            while not self.number:
                if not await self._hear(_api.WAIT):
                    raise _api.ServerError("the terminal does not answer", code="late")
        except BaseException:
            await self.close()
            raise

    async def _send(self, data: Data) -> None:
        await self._socket.send(data)

    async def _hear(self, wait: Optional[float]) -> bool:
        """Takes in what comes next; False if nothing comes in time."""
        message = await self._socket.receive(wait)
        if message is not None:
            self._take(message)
        elif self._socket.closed is not None and not self.result:
            raise _api.ServerError(f"the connection ended before the program did ({self._socket.closed})", code="unavailable")
        return message is not None

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
            if not await self._hear(wait):
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
        await self._socket.close()

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

    def __init__(self, line: Line, box: str) -> None:
        self._line, self._path = line, box
        self._open: Dict[int, AsyncTerminal] = {}

    async def create(
            self, command: Words = ("sh",), *, rows: int = 24, columns: int = 80, keep: int = 300, cwd: Optional[str] = None,
            env: Optional[Mapping[str, str]] = None, timeout: Optional[int] = None) -> AsyncTerminal:
        """Runs a program on a terminal; when nobody is connected any more it goes on for `keep` seconds."""
        terminal = AsyncTerminal(self._line)
        body = _api.program(command, env=env, cwd=cwd, timeout=timeout)
        await terminal._open(f"{self._path}/exec", {**body, "terminal": {"rows": rows, "columns": columns, "keep": keep}})
        self._open[terminal.number] = terminal
        return terminal

    async def connect(self, number: int) -> AsyncTerminal:
        """Comes back to one; what it wrote last is read first."""
        terminal = AsyncTerminal(self._line)
        await terminal._open(f"{self._path}/terminals/{number}", None)
        self._open[number] = terminal
        return terminal

    def _known(self, number: int) -> AsyncTerminal:
        if number not in self._open:
            raise _api.NotFound(f"there is no terminal {number} here", code="not_found", remedy="come back to it with connect()", where="number")
        return self._open[number]

    async def send_stdin(self, number: int, data: Data) -> None:
        """Types into one that was made or come back to here."""
        await self._known(number).write(data)

    async def resize(self, number: int, rows: int = 24, columns: int = 80) -> None:
        await self._known(number).resize(rows, columns)

    async def kill(self, number: int) -> bool:
        """Ends one that was made or come back to here; False if it has ended already."""
        terminal = self._open.get(number)
        if not terminal or terminal.result:
            return False
        await terminal.kill()
        return True
