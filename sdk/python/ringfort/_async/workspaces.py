"""Files that outlive sandboxes."""
from __future__ import annotations

from typing import List

from .. import _api
from .._api import Workspace
from .line import Held


class AsyncWorkspaces(Held):
    """The workspaces of the key's tenant; what is done to the files of one is a sandbox's that has it."""

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
