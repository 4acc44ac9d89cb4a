"""Requests that wait until somebody decides."""
from __future__ import annotations

from typing import List, Optional

from .. import _api
from .._api import Approval, Decision
from .line import Held


class AsyncApprovals(Held):
    """Requests of the tenant's sandboxes that wait until somebody decides: of policies, or keys, with `network: {"writes": "hold"}`."""

    async def list(self, sandbox: Optional[str] = None) -> List[Approval]:
        """Those that wait, the oldest first; of one sandbox, or all."""
        return [_api.approval_of(row) for row in await self._line.pages("/v1/approvals", "approvals", sandbox=sandbox)]

    async def get(self, id: str) -> Approval:
        """One of them, with its head and the beginning of its body; credentials are placeholders there."""
        return _api.approval_of((await self._line.ask("GET", f"/v1/approvals/{_api.segment(id)}")).json())

    async def approve(self, id: str, reason: Optional[str] = None) -> Decision:
        """Has it sent now; takes a key with scope `admin`.  Conflict: it was decided before."""
        return await self._decide(id, "approve", reason)

    async def deny(self, id: str, reason: Optional[str] = None) -> Decision:
        """It is never sent; the same."""
        return await self._decide(id, "deny", reason)

    async def _decide(self, id: str, how: str, reason: Optional[str]) -> Decision:
        body = _api.without_none({"reason": reason})
        return _api.decision_of((await self._line.ask("POST", f"/v1/approvals/{_api.segment(id)}/{how}", body)).json())
