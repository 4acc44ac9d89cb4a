"""Made from _async/network.py by make_sync.py: change that one."""
from __future__ import annotations

from typing import Any, Dict, Iterable, Mapping, Optional

from .. import _api
from .._api import Network, NetworkLog
from .line import Line


class SandboxNetwork:
    """What a sandbox may reach: of a server that gives its sandboxes a network."""

    def __init__(self, line: Line, box: str) -> None:
        self._line, self._path = line, f"{box}/network"

    def get(self) -> Network:
        """What holds now."""
        return _api.network_of((self._line.ask("GET", self._path)).json())

    def set(self, rules: Mapping[str, Any], *, beyond: Optional[str] = None) -> Network:
        """Other rules from now on, as `network` of a policy.

        What is beyond the key's ceiling is refused, and nothing changes; with `beyond="drop"` the rest holds, and `beyond_ceiling` lists what does not.
        """
        body = {"network": dict(rules), **({"beyond": beyond} if beyond else {})}
        return _api.network_of((self._line.ask("PUT", self._path, body)).json())

    def allow(self, hosts: Iterable[str], *, beyond: Optional[str] = None) -> Network:
        """These rules besides those that hold."""
        rules = dict((self.get()).rules)
        return self.set({**rules, "allow": [*rules.get("allow", []), *hosts]}, beyond=beyond)

    def log(self, cursor: int = 0) -> NetworkLog:
        """What its network did, from a cursor on."""
        return NetworkLog(**(self._line.ask("GET", f"{self._path}/log", params={"cursor": str(cursor)})).json())

    def summary(self) -> Mapping[str, Any]:
        """What it came to, host by host."""
        answer: Dict[str, Any] = (self._line.ask("GET", f"{self._path}/summary")).json()
        return answer
