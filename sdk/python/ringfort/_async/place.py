"""What is done to the files of a workspace, by its own name or by a sandbox that has it."""
from __future__ import annotations

from typing import List, Literal, Optional, Union

from .. import _api
from .._api import Applied, Checkpoint, Workspace
from .line import Line


class Place:
    """A workspace, by the path that leads to it."""

    def __init__(self, line: Line, path: str) -> None:
        self._line, self._path = line, path

    async def checkpoint(self, name: Optional[str]) -> Checkpoint:
        answer = await self._line.ask("POST", f"{self._path}/checkpoints", _api.without_none({"name": name}))
        return _api.checkpoint_of(answer.json())

    async def checkpoints(self) -> List[Checkpoint]:
        rows = (await self._line.ask("GET", f"{self._path}/checkpoints")).json()["checkpoints"]
        return [_api.checkpoint_of(row) for row in rows]

    async def delete_checkpoint(self, number: int) -> None:
        await self._line.ask("DELETE", f"{self._path}/checkpoints/{int(number)}")

    async def undo(self, to: Union[int, str]) -> Checkpoint:
        return _api.checkpoint_of((await self._line.ask("POST", f"{self._path}/undo", {"to": str(to)})).json())

    async def diff(self, since: Union[int, str], to: Union[None, int, str]) -> str:
        params = _api.without_none({"from": str(since), "to": None if to is None else str(to)})
        return str((await self._line.ask("GET", f"{self._path}/diff", params=params)).json()["unified"])

    async def fork(self, name: str) -> Workspace:
        return _api.workspace_of((await self._line.ask("POST", f"{self._path}/fork", {"name": name})).json())

    async def apply(self, conflicts: Literal["fail", "fork", "origin"], dry_run: bool) -> Applied:
        answer = await self._line.ask("POST", f"{self._path}/apply", {"conflicts": conflicts, "dry_run": dry_run})
        return _api.applied_of(answer.json())
