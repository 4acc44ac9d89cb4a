"""The way to a server."""
from __future__ import annotations

import asyncio
import inspect  # async only
from types import TracebackType
from typing import Any, AsyncIterator, Dict, List, Mapping, Optional, Type, TypeVar

import httpx

from .. import _api
from .._api import Event, Result, Writer

Self = TypeVar("Self", bound="Held")


async def tell(writer: Optional[Writer], event: Event) -> None:
    # sync: _api.tell(writer, event)
    told = _api.tell(writer, event)  # async only
    if inspect.isawaitable(told):  # async only
        await told  # async only


class Line:
    """A connection to a server."""

    def __init__(self, url: Optional[str], key: Optional[str], ca: Optional[str], retries: int) -> None:
        key = _api.hide(key)
        base, socket, self._key = _api.settle(url, key)
        self.retries = retries
        self.client = httpx.AsyncClient(
            base_url=base, headers=_api.show(self._key), timeout=_api.WAIT, verify=_api.trust(ca),
            transport=httpx.AsyncHTTPTransport(uds=socket) if socket else None)

    async def ask(
            self, method: str, path: str, body: Optional[Mapping[str, Any]] = None, *, content: Optional[bytes] = None,
            params: Optional[Mapping[str, str]] = None, files: Any = None, kind: Optional[str] = None) -> httpx.Response:
        """One answer; what fails for a moment is asked again, as far as nothing can be done twice by it."""
        headers, wait = _api.headers_of(method, path, kind), _api.wait_for({"timeout": _api.WAIT} if body is None else body)
        attempts = _api.Attempts(method, headers, self.retries, wait.read or 0)
        while True:
            try:
                answer = await self.client.request(
                    method, path, json=body, content=content, params=params, files=files, headers=headers, timeout=wait)
                failure = _api.failure_of(answer)
            except httpx.HTTPError as error:
                failure = _api.Unreachable(method, error, _api.ONCE in headers)
            if not failure:
                return answer
            await asyncio.sleep(attempts.pause_after(failure))

    async def events(self, path: str, body: Mapping[str, Any], stream: _api.Stream) -> AsyncIterator[Event]:
        """What a program writes, as it comes; stream.end() is its result then."""
        headers = {"Accept": "text/event-stream"}
        try:
            async with self.client.stream("POST", path, json=body, headers=headers, timeout=_api.wait_for(body)) as answer:
                if not answer.is_success:
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
            await tell(on_stdout if event.stream == "stdout" else on_stderr, event)
        return stream.end()

    async def pages(self, path: str, name: str, **more: Optional[str]) -> List[Dict[str, Any]]:
        """All rows of a list that comes in pages."""
        found: List[Dict[str, Any]] = []
        cursor: Optional[str] = ""
        while cursor is not None:
            answer = (await self.ask("GET", path, params=_api.without_none({"limit": "1000", "cursor": cursor, **more}))).json()
            found += answer[name]
            cursor = answer["next_cursor"]
        return found

    async def relay(self, request: httpx.Request, place: str, *, follow_redirects: bool = False, **how: Any) -> httpx.Response:
        """Asks what listens on a port, at `place`.  The key goes nowhere else: a redirect that leads away is given, and not followed."""
        _api.check_beneath(request.url, place)
        history: List[httpx.Response] = []
        while True:
            answer: Optional[httpx.Response] = None
            try:
                _api.to_port(request, self._key)
                answer = await self.client.send(request, follow_redirects=False, **how)
            finally:
                _api.forget_key(request, answer.next_request if answer is not None else None)
            answer.history = list(history)
            if not follow_redirects or answer.next_request is None or not _api.is_beneath(answer.next_request.url, httpx.URL(place)):
                return answer
            if len(history) >= self.client.max_redirects:
                raise httpx.TooManyRedirects("Exceeded maximum allowed redirects.", request=request)
            history.append(answer)
            await answer.aread()
            request = answer.next_request

    async def close(self) -> None:
        await self.client.aclose()


class Held:
    """What has a line of its own.  As a context manager it lets go of it."""

    def __init__(self, *, url: Optional[str] = None, key: Optional[str] = None, ca: Optional[str] = None, retries: int = _api.RETRIES) -> None:
        key = _api.hide(key)
        self._line = Line(url, key, ca, retries)

    async def close(self) -> None:
        await self._line.close()

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(
            self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
            trace: Optional[TracebackType]) -> None:
        await self.close()
