"""The network of a sandbox: what it may reach, and what it did."""
from __future__ import annotations

from typing import Any, Dict, Iterable, Mapping

from .. import _api
from .._api import Network, NetworkLog
from .line import Line


class AsyncNetwork:
    """What a sandbox may reach: of a server that gives its sandboxes a network."""

    def __init__(self, line: Line, box: str) -> None:
        self._line, self._path = line, f"{box}/network"

    async def get(self) -> Network:
        """What holds now."""
        return _api.network_of((await self._line.ask("GET", self._path)).json())

    async def set(self, rules: Mapping[str, Any]) -> Network:
        """Other rules from now on, as `network` of a policy; what holds then is within the key's ceiling."""
        return _api.network_of((await self._line.ask("PUT", self._path, {"network": dict(rules)})).json())

    async def allow(self, hosts: Iterable[str]) -> Network:
        """These rules besides those that hold."""
        rules = dict((await self.get()).rules)
        return await self.set({**rules, "allow": [*rules.get("allow", []), *hosts]})

    async def log(self, cursor: int = 0) -> NetworkLog:
        """What its network did, from a cursor on."""
        return NetworkLog(**(await self._line.ask("GET", f"{self._path}/log", params={"cursor": str(cursor)})).json())

    async def summary(self) -> Mapping[str, Any]:
        """What it came to, host by host."""
        answer: Dict[str, Any] = (await self._line.ask("GET", f"{self._path}/summary")).json()
        return answer
