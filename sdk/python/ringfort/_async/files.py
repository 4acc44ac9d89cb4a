"""Files of a sandbox."""
from __future__ import annotations

from typing import AsyncIterator, List, Mapping, Optional

import httpx

from .. import _api
from .._api import Data, FileEvent, FileInfo, Found, WrittenFile
from .line import Line


class AsyncFiles:
    """The files of a sandbox."""

    def __init__(self, line: Line, box: str) -> None:
        self._line, self._path = line, f"{box}/files"

    async def _ask(
            self, method: str, path: str, rest: str = "", content: Optional[bytes] = None,
            kind: Optional[str] = None) -> httpx.Response:
        return await self._line.ask(
            method, f"{self._path}{rest}", content=content, params={"path": path}, kind=kind)

    async def read_bytes(self, path: str) -> bytes:
        return (await self._ask("GET", path)).content

    async def read(self, path: str) -> str:
        return (await self.read_bytes(path)).decode()

    async def read_stream(self, path: str, size: int = 65536) -> AsyncIterator[bytes]:
        """A file in pieces, however large it is."""
        try:
            async with self._line.client.stream("GET", self._path, params={"path": path}) as answer:
                if not answer.is_success:
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
        answer = await self._line.ask("POST", self._path, files=_api.form_of(files))
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
        await self._line.ask("POST", f"{self._path}/mkdir", {"path": path})

    async def watch(
            self, path: str, *, interval_ms: int = 500, depth: int = 64) -> AsyncIterator[FileEvent]:
        """What changes beneath a folder, from now on and for as long as it is gone through."""
        changes = _api.Changes()
        params = {"path": path, "interval_ms": str(interval_ms), "depth": str(depth)}
        headers = {"Accept": "text/event-stream"}
        try:
            async with self._line.client.stream(
                    "GET", f"{self._path}/watch", params=params, headers=headers,
                    timeout=httpx.Timeout(_api.WAIT, read=None)) as answer:
                if not answer.is_success:
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
        await self._line.ask("POST", f"{self._path}/move", {"from": old, "to": new})

    async def search(
            self, path: str, *, name: Optional[str] = None, content: Optional[str] = None, limit: int = 100) -> List[Found]:
        """Files beneath a folder by a pattern for their names, or the lines that have a text."""
        params = _api.without_none({"path": path, "name": name, "content": content, "limit": str(limit)})
        answer = (await self._line.ask("GET", f"{self._path}/search", params=params)).json()
        return [_api.found_of(row) for row in answer["found"]]

    async def read_archive(self, path: str) -> bytes:
        """A folder, or a file, as a tar archive."""
        return (await self._ask("GET", path, "/archive")).content

    async def write_archive(self, path: str, archive: bytes) -> None:
        """Unpacks a tar archive into a folder."""
        await self._ask("PUT", path, "/archive", content=archive, kind=_api.TAR)
