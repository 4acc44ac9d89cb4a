"""Made from _async/socket.py by make_sync.py: change that one."""
from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import Any, Iterator, List, Optional, Sequence, Type

import httpcore
import httpx

from .. import _api
from .._api import Data
from .._frames import Frames
from .line import Line


class PortSocket:
    """A WebSocket that is open.  To go through it (`for`) is to read until it ends."""

    def __init__(self, line: Line) -> None:
        self._line, self._frames = line, Frames()
        self._answer: Optional[httpx.Response] = None
        self._stream: Any = None
        self._unread: List[Data] = []
        self.protocol = ""                 # what the other side has chosen of those that were offered
        self.closed: Optional[int] = None  # the code that it was closed with

    def _open(self, path: str, protocols: Sequence[str] = (), place: Optional[str] = None) -> None:
        request = self._line.client.build_request("GET", path, headers=self._frames.headers(protocols), timeout=_api.WAIT)
        try:
            self._answer = answer = self._line.relay(request, place or str(self._line.client.base_url), stream=True)
            if not self._frames.accepts(answer):
                raise _api.error_of(answer.status_code, answer.headers, (answer.read()).decode("utf-8", "replace"))
        except httpx.HTTPError as error:
            raise _api.Unreachable("GET", error) from error
        except BaseException:
            self.close()
            raise
        self._stream = answer.extensions["network_stream"]
        self.protocol = answer.headers.get("sec-websocket-protocol", "")

    def _hear(self, wait: Optional[float]) -> bool:
        """Takes in what comes next; False if nothing comes in time."""
        try:
            data = self._stream.read(65536, timeout=wait)
            messages, answers = self._frames.feed(data)
            for answer in answers:
                self._stream.write(answer, timeout=_api.WAIT)
        except httpcore.ReadTimeout:
            return False
        except (httpcore.NetworkError, httpcore.WriteTimeout) as error:
            self.closed = 1006
            raise _api.Unreachable("GET", error) from error
        except _api.ServerError:
            self.close()
            raise
        self._unread += messages
        self.closed = 1006 if not data else self._frames.closed
        return True

    def send(self, data: Data) -> None:
        """A text for text, bytes for bytes."""
        if self.closed is not None:
            raise _api.ServerError(f"the connection is closed ({self.closed})", code="unavailable")
        try:
            self._stream.write(Frames.frame(data), timeout=_api.WAIT)
        except (httpcore.NetworkError, httpcore.WriteTimeout) as error:
            raise _api.Unreachable("GET", error) from error

    def receive(self, wait: Optional[float] = None) -> Optional[Data]:
        """The next message; waits for it, up to so many seconds.  None: none came in time, or it is closed."""
        until = None if wait is None else monotonic() + wait
        while not self._unread and self.closed is None:
            if not self._hear(None if until is None else max(0.0, until - monotonic())):
                break
        return self._unread.pop(0) if self._unread else None

    def close(self) -> None:
        answer, self._answer = self._answer, None
        if self.closed is None:
            self.closed = 1000
            if self._stream:
                try:
                    self._stream.write(Frames.frame((1000).to_bytes(2, "big"), 8), timeout=1)
                except (httpcore.NetworkError, httpcore.WriteTimeout):
                    pass  # it is gone
        if answer:
            answer.close()

    def __iter__(self) -> Iterator[Data]:
        while True:
            message = self.receive()
            if message is None:
                return
            yield message

    def __enter__(self) -> PortSocket:
        return self

    def __exit__(
            self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
            trace: Optional[TracebackType]) -> None:
        self.close()
