"""Made from _async/audit.py by make_sync.py: change that one."""
from __future__ import annotations

import time
from typing import Iterator, Optional

import httpx

from .. import _api
from .._api import AuditEvent, AuditPage
from .line import Held


class Audit(Held):
    """What is recorded of the key's tenant."""

    def page(
            self, *, since: Optional[str] = None, until: Optional[str] = None, kind: Optional[str] = None, box: Optional[str] = None,
            verdict: Optional[str] = None, limit: int = 100, cursor: Optional[str] = None) -> AuditPage:
        """Some of it, the oldest first: moments are as `2026-11-16T06:50:00Z`, or `10m`, `2h`, `7d` ago."""
        params = _api.without_none({
            "since": since, "until": until, "kind": kind, "box": box, "verdict": verdict, "limit": str(limit), "cursor": cursor})
        raw = (self._line.ask("GET", "/v1/audit", params=params)).json()
        return AuditPage([_api.audit_event_of(row) for row in raw["events"]], raw["cursor"], raw["next_cursor"])

    def follow(
            self, *, since: Optional[str] = None, kind: Optional[str] = None, box: Optional[str] = None, verdict: Optional[str] = None,
            cursor: Optional[str] = None) -> Iterator[AuditEvent]:
        """Events as they are written, from now on, or from `since` or behind `cursor`.  Goes on where it was when a connection is lost."""
        params = _api.without_none({"since": since, "kind": kind, "box": box, "verdict": verdict})
        records, attempt = _api.Records(cursor), 0
        while True:
            failure: _api.RingfortError
            try:
                with self._line.client.stream(
                        "GET", "/v1/audit", params=params, headers=records.headers(), timeout=_api.wait_for({"timeout": _api.WAIT})) as answer:
                    if not answer.is_success:
                        failure = _api.error_of(answer.status_code, answer.headers, (answer.read()).decode("utf-8", "replace"))
                    else:
                        for line in answer.iter_lines():
                            event = records.line(line)
                            attempt = 0  # it was reached
                            if event:
                                yield event
                        failure = _api.Unreachable("GET", ConnectionError("the stream ended"))
            except httpx.HTTPError as error:
                failure = _api.Unreachable("GET", error)
            pause = _api.pause_before(attempt, self._line.retries, failure, True)
            if pause is None:
                raise failure
            attempt += 1
            time.sleep(pause)
