"""WebSockets to what listens in a sandbox."""
from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import Any, AsyncIterator, List, Optional, Sequence, Type

import httpcore
import httpx

from .. import _api
from .._api import Data
from .._frames import Frames
from .line import Line


class AsyncPortSocket:
    """A WebSocket that is open.  To go through it (`async for`) is to read until it ends."""

    def __init__(self, line: Line) -> None:
        self._line, self._frames = line, Frames()
        self._answer: Optional[httpx.Response] = None
        self._stream: Any = None
        self._unread: List[Data] = []
        self.protocol = ""                 # what the other side has chosen of those that were offered
        self.closed: Optional[int] = None  # the code that it was closed with

    async def _open(self, path: str, protocols: Sequence[str] = (), place: Optional[str] = None) -> None:
        request = self._line.client.build_request("GET", path, headers=self._frames.headers(protocols), timeout=_api.WAIT)
        try:
            self._answer = answer = await self._line.relay(request, place or str(self._line.client.base_url), stream=True)
            if not self._frames.accepts(answer):
                raise _api.error_of(answer.status_code, answer.headers, (await answer.aread()).decode("utf-8", "replace"))
        except httpx.HTTPError as error:
            raise _api.Unreachable("GET", error) from error
        except BaseException:
            await self.close()
            raise
        self._stream = answer.extensions["network_stream"]
        self.protocol = answer.headers.get("sec-websocket-protocol", "")

    async def _hear(self, wait: Optional[float]) -> bool:
        """Takes in what comes next; False if nothing comes in time."""
        try:
            data = await self._stream.read(65536, timeout=wait)
            messages, answers = self._frames.feed(data)
            for answer in answers:
                await self._stream.write(answer, timeout=_api.WAIT)
        except httpcore.ReadTimeout:
            return False
        except (httpcore.NetworkError, httpcore.WriteTimeout) as error:
            self.closed = 1006
            raise _api.Unreachable("GET", error) from error
        except _api.ServerError:
            await self.close()
            raise
        self._unread += messages
        self.closed = 1006 if not data else self._frames.closed
        return True

    async def send(self, data: Data) -> None:
        """A text for text, bytes for bytes."""
        if self.closed is not None:
            raise _api.ServerError(f"the connection is closed ({self.closed})", code="unavailable")
        try:
            await self._stream.write(Frames.frame(data), timeout=_api.WAIT)
        except (httpcore.NetworkError, httpcore.WriteTimeout) as error:
            raise _api.Unreachable("GET", error) from error

    async def receive(self, wait: Optional[float] = None) -> Optional[Data]:
        """The next message; waits for it, up to so many seconds.  None: none came in time, or it is closed."""
        until = None if wait is None else monotonic() + wait
        while not self._unread and self.closed is None:
            if not await self._hear(None if until is None else max(0.0, until - monotonic())):
                break
        return self._unread.pop(0) if self._unread else None

    async def close(self) -> None:
        answer, self._answer = self._answer, None
        if self.closed is None:
            self.closed = 1000
            if self._stream:
                try:
                    await self._stream.write(Frames.frame((1000).to_bytes(2, "big"), 8), timeout=1)
                except (httpcore.NetworkError, httpcore.WriteTimeout):
                    pass  # it is gone
        if answer:
            await answer.aclose()

    async def __aiter__(self) -> AsyncIterator[Data]:
        while True:
            message = await self.receive()
            if message is None:
                return
            yield message

    async def __aenter__(self) -> AsyncPortSocket:
        return self

    async def __aexit__(
            self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
            trace: Optional[TracebackType]) -> None:
        await self.close()
