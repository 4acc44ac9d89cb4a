"""Made from _async/workspaces.py by make_sync.py: change that one."""
from __future__ import annotations

from typing import List

from .. import _api
from .._api import Workspace
from .line import Held


class Workspaces(Held):
    """The workspaces of the key's tenant; what is done to the files of one is a sandbox's that has it."""

    def create(self, name: str) -> Workspace:
        """Makes one that is empty."""
        return _api.workspace_of((self._line.ask("POST", "/v1/workspaces", {"name": name})).json())

    def list(self) -> List[Workspace]:
        return [_api.workspace_of(row) for row in (self._line.ask("GET", "/v1/workspaces")).json()["workspaces"]]

    def get(self, name: str) -> Workspace:
        return _api.workspace_of((self._line.ask("GET", f"/v1/workspaces/{_api.segment(name)}")).json())

    def delete(self, name: str) -> None:
        """Removes it, with its checkpoints.  Conflict: a sandbox has it."""
        self._line.ask("DELETE", f"/v1/workspaces/{_api.segment(name)}")
