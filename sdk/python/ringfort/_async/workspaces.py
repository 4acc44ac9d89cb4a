"""Files that outlive sandboxes."""
from __future__ import annotations

from typing import List, Literal, Optional, Union

from .. import _api
from .._api import Applied, Checkpoint, Workspace
from .line import Held
from .place import Place


class AsyncWorkspaces(Held):
    """The workspaces of the key's tenant, by their names.

    What is done to the files of one is a sandbox's, too, in which everything stands still meanwhile; asked for by name, what programs write
    meanwhile may be half there.
    """

    def _place(self, name: str) -> Place:
        return Place(self._line, f"/v1/workspaces/{_api.segment(name)}")

    async def create(self, name: str) -> Workspace:
        """Makes one that is empty."""
        return _api.workspace_of((await self._line.ask("POST", "/v1/workspaces", {"name": name})).json())

    async def list(self) -> List[Workspace]:
        return [_api.workspace_of(row) for row in (await self._line.ask("GET", "/v1/workspaces")).json()["workspaces"]]

    async def get(self, name: str) -> Workspace:
        return _api.workspace_of((await self._line.ask("GET", f"/v1/workspaces/{_api.segment(name)}")).json())

    async def delete(self, name: str) -> None:
        """Removes it, with its checkpoints.  Conflict: a sandbox has it."""
        await self._line.ask("DELETE", f"/v1/workspaces/{_api.segment(name)}")

    async def checkpoint(self, workspace: str, name: Optional[str] = None) -> Checkpoint:
        """Keeps its files as they are, under a number and maybe a name."""
        return await self._place(workspace).checkpoint(name)

    async def checkpoints(self, workspace: str) -> List[Checkpoint]:
        return await self._place(workspace).checkpoints()

    async def delete_checkpoint(self, workspace: str, number: int) -> None:
        """Takes a checkpoint away, and makes room for another."""
        await self._place(workspace).delete_checkpoint(number)

    async def undo(self, workspace: str, to: Union[int, str]) -> Checkpoint:
        """Brings the files of a checkpoint back, by its number or name."""
        return await self._place(workspace).undo(to)

    async def diff(self, workspace: str, since: Union[int, str], to: Union[None, int, str] = None) -> str:
        """What has changed since a checkpoint, or between two, as a unified diff."""
        return await self._place(workspace).diff(since, to)

    async def fork(self, workspace: str, name: str) -> Workspace:
        """Another workspace that begins with its files."""
        return await self._place(workspace).fork(name)

    async def apply(self, workspace: str, *, conflicts: Literal["fail", "fork", "origin"] = "fail", dry_run: bool = False) -> Applied:
        """Brings what has changed in it, which is a fork, back into the one that it is a fork of.

        What both have changed is a Conflict, whose `conflicts` are the paths, unless the word of one of them counts.
        """
        return await self._place(workspace).apply(conflicts, dry_run)
