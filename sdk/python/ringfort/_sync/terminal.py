"""Made from _async/terminal.py by make_sync.py: change that one."""
from __future__ import annotations

import json
from types import TracebackType
from typing import Any, Iterator, Callable, Dict, List, Mapping, Optional, Type

from .. import _api
from .._api import Data, Result, Words
from .line import Line
from .socket import PortSocket


class Terminal:
    """A program on a terminal of its own.  To go through it (`for`) is to read what it writes, until it ends."""

    def __init__(self, line: Line) -> None:
        self._socket = PortSocket(line)
        self._unread: List[bytes] = []
        self.number = 0
        self.lost = 0  # bytes that it wrote, and that are kept no more
        self.result: Optional[Result] = None

    @property
    def pid(self) -> int:
        """Its number, by which connect() finds it again."""
        return self.number

    def _open(self, path: str, order: Optional[Mapping[str, Any]]) -> None:
        self._socket._open(path)
        try:
            if order is not None:
                self._send(json.dumps(order))
            while not self.number:
                if not self._hear(_api.WAIT):
                    raise _api.ServerError("the terminal does not answer", code="late")
        except BaseException:
            self.close()
            raise

    def _send(self, data: Data) -> None:
        self._socket.send(data)

    def _hear(self, wait: Optional[float]) -> bool:
        """Takes in what comes next; False if nothing comes in time."""
        message = self._socket.receive(wait)
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

    def read(self, wait: Optional[float] = None) -> bytes:
        """What it wrote since; waits for something, up to so many seconds or until it ends.  Nothing: it has ended, or wrote nothing."""
        while not self._unread and not self.result:
            if not self._hear(wait):
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
        self._socket.close()

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

    def __init__(self, line: Line, box: str) -> None:
        self._line, self._path = line, box
        self._open: Dict[int, Terminal] = {}

    def create(
            self, command: Words = ("sh",), *, rows: int = 24, columns: int = 80, keep: int = 300, cwd: Optional[str] = None,
            env: Optional[Mapping[str, str]] = None, timeout: Optional[int] = None) -> Terminal:
        """Runs a program on a terminal; when nobody is connected any more it goes on for `keep` seconds."""
        terminal = Terminal(self._line)
        body = _api.program(command, env=env, cwd=cwd, timeout=timeout)
        terminal._open(f"{self._path}/exec", {**body, "terminal": {"rows": rows, "columns": columns, "keep": keep}})
        self._open[terminal.number] = terminal
        return terminal

    def connect(self, number: int) -> Terminal:
        """Comes back to one; what it wrote last is read first."""
        terminal = Terminal(self._line)
        terminal._open(f"{self._path}/terminals/{number}", None)
        self._open[number] = terminal
        return terminal

    def _known(self, number: int) -> Terminal:
        if number not in self._open:
            raise _api.NotFound(f"there is no terminal {number} here", code="not_found", remedy="come back to it with connect()", where="number")
        return self._open[number]

    def send_stdin(self, number: int, data: Data) -> None:
        """Types into one that was made or come back to here."""
        self._known(number).write(data)

    def resize(self, number: int, rows: int = 24, columns: int = 80) -> None:
        self._known(number).resize(rows, columns)

    def kill(self, number: int) -> bool:
        """Ends one that was made or come back to here; False if it has ended already."""
        terminal = self._open.get(number)
        if not terminal or terminal.result:
            return False
        terminal.kill()
        return True
