"""Made from _async/files.py by make_sync.py: change that one."""
from __future__ import annotations

from typing import Iterator, List, Mapping, Optional

import httpx

from .. import _api
from .._api import Data, FileEvent, FileInfo, Found, WrittenFile
from .line import Line


class Files:
    """The files of a sandbox."""

    def __init__(self, line: Line, box: str) -> None:
        self._line, self._path = line, f"{box}/files"

    def _ask(
            self, method: str, path: str, rest: str = "", content: Optional[bytes] = None,
            kind: Optional[str] = None) -> httpx.Response:
        return self._line.ask(
            method, f"{self._path}{rest}", content=content, params={"path": path}, kind=kind)

    def read_bytes(self, path: str) -> bytes:
        return (self._ask("GET", path)).content

    def read(self, path: str) -> str:
        return (self.read_bytes(path)).decode()

    def read_stream(self, path: str, size: int = 65536) -> Iterator[bytes]:
        """A file in pieces, however large it is."""
        try:
            with self._line.client.stream("GET", self._path, params={"path": path}) as answer:
                if not answer.is_success:
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
        answer = self._line.ask("POST", self._path, files=_api.form_of(files))
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
        self._line.ask("POST", f"{self._path}/mkdir", {"path": path})

    def watch(
            self, path: str, *, interval_ms: int = 500, depth: int = 64) -> Iterator[FileEvent]:
        """What changes beneath a folder, from now on and for as long as it is gone through."""
        changes = _api.Changes()
        params = {"path": path, "interval_ms": str(interval_ms), "depth": str(depth)}
        headers = {"Accept": "text/event-stream"}
        try:
            with self._line.client.stream(
                    "GET", f"{self._path}/watch", params=params, headers=headers,
                    timeout=httpx.Timeout(_api.WAIT, read=None)) as answer:
                if not answer.is_success:
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
        self._line.ask("POST", f"{self._path}/move", {"from": old, "to": new})

    def search(
            self, path: str, *, name: Optional[str] = None, content: Optional[str] = None, limit: int = 100) -> List[Found]:
        """Files beneath a folder by a pattern for their names, or the lines that have a text."""
        params = _api.without_none({"path": path, "name": name, "content": content, "limit": str(limit)})
        answer = (self._line.ask("GET", f"{self._path}/search", params=params)).json()
        return [_api.found_of(row) for row in answer["found"]]

    def read_archive(self, path: str) -> bytes:
        """A folder, or a file, as a tar archive."""
        return (self._ask("GET", path, "/archive")).content

    def write_archive(self, path: str, archive: bytes) -> None:
        """Unpacks a tar archive into a folder."""
        self._ask("PUT", path, "/archive", content=archive, kind=_api.TAR)
