"""What stops agents."""
from __future__ import annotations

from typing import Any, Dict, List, Optional

from .. import _api
from .._api import Breaker
from .line import Held


class AsyncBreakers(Held):
    """The breakers of the tenant's agents, by the agents' names."""

    async def list(self) -> List[Breaker]:
        """Those that are open first."""
        return [_api.breaker_of(row) for row in (await self._line.ask("GET", "/v1/breakers")).json()["breakers"]]

    async def trip(self, name: str, *, reason: Optional[str] = None, seconds: Optional[int] = None) -> Breaker:
        """Opens one, for so long or until it is reset: nothing begins for the agent then.  Takes a key with scope `admin`."""
        body: Dict[str, Any] = {**_api.without_none({"reason": reason}), **({} if seconds is None else {"seconds": seconds})}
        return _api.breaker_of((await self._line.ask("POST", f"/v1/breakers/{_api.segment(name)}/trip", body)).json())

    async def reset(self, name: str) -> Breaker:
        """Closes one, and forgets what the agent has spent; the same."""
        return _api.breaker_of((await self._line.ask("POST", f"/v1/breakers/{_api.segment(name)}/reset")).json())
