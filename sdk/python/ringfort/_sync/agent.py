"""Made from _async/agent.py by make_sync.py: change that one."""
from __future__ import annotations

from types import TracebackType
from typing import Any, List, Mapping, Optional, Sequence, Type

from .. import _api
from .._api import AgentInfo, Words
from .line import Line


class Agent:
    """An agent of the key's tenant: a policy and a workspace under a name, which run(agent=name) and create(agent=name) go by."""

    def __init__(self, name: str, line: Line, beyond_ceiling: Sequence[str] = ()) -> None:
        self.beyond_ceiling: Sequence[str] = list(beyond_ceiling)  # of create(beyond="drop"): what was asked for and not given
        self.name, self._line, self._path = name, line, f"/v1/agents/{_api.segment(name)}"

    @classmethod
    def create(
            cls, name: str, *, description: Optional[str] = None, labels: Optional[Mapping[str, str]] = None,
            timeout: Optional[int] = None, limits: Optional[Mapping[str, Any]] = None, profile: Optional[Words] = None,
            policy: Optional[Mapping[str, Any]] = None, workspace: Optional[str] = None, beyond: Optional[str] = None,
            url: Optional[str] = None, key: Optional[str] = None, ca: Optional[str] = None,
            retries: int = _api.RETRIES) -> Agent:
        """Makes one, with a workspace of its own that goes with it, or one that there is and that stays."""
        body = _api.agent(name, description, labels, timeout=timeout, limits=limits, profile=profile, policy=policy, workspace=workspace, beyond=beyond)
        key = _api.hide(key)
        line = Line(url, key, ca, retries)
        try:
            made = (line.ask("POST", "/v1/agents", body)).json()
            return cls(name, line, made.get("beyond_ceiling", ()))
        except BaseException:
            line.close()
            raise

    @classmethod
    def connect(
            cls, name: str, *, url: Optional[str] = None, key: Optional[str] = None, ca: Optional[str] = None,
            retries: int = _api.RETRIES) -> Agent:
        """One that there is."""
        key = _api.hide(key)
        agent = cls(name, Line(url, key, ca, retries))
        try:
            agent.info()
        except BaseException:
            agent.close()
            raise
        return agent

    @classmethod
    def list(
            cls, *, labels: Optional[Mapping[str, str]] = None, url: Optional[str] = None, key: Optional[str] = None,
            ca: Optional[str] = None, retries: int = _api.RETRIES) -> List[AgentInfo]:
        """All that the key's tenant has; with labels, those that have them."""
        key = _api.hide(key)
        line = Line(url, key, ca, retries)
        try:
            found = line.pages("/v1/agents", "agents", label=_api.label_of(labels))
        finally:
            line.close()
        return [_api.agent_of(row) for row in found if _api.has_labels(row["labels"], labels)]

    def info(self) -> AgentInfo:
        return _api.agent_of((self._line.ask("GET", self._path)).json())

    def replace(
            self, *, description: Optional[str] = None, labels: Optional[Mapping[str, str]] = None, timeout: Optional[int] = None,
            limits: Optional[Mapping[str, Any]] = None, profile: Optional[Words] = None,
            policy: Optional[Mapping[str, Any]] = None, beyond: Optional[str] = None) -> AgentInfo:
        """Puts another in its place at once, with the same name and workspace; what is not said is the default, as of a new one.

        What runs for it goes on as it is.
        """
        body = _api.agent(self.name, description, labels, timeout=timeout, limits=limits, profile=profile, policy=policy, beyond=beyond)
        return _api.agent_of((self._line.ask("PUT", self._path, body)).json())

    def delete(self, *, keep_workspace: bool = False) -> None:
        """Removes it, and the workspace that was made with it, unless that is to stay."""
        self._line.ask("DELETE", self._path, params={"keep_workspace": "true"} if keep_workspace else None)
        self.close()

    def close(self) -> None:
        """Lets go of it; the agent stays."""
        self._line.close()

    def __enter__(self) -> Agent:
        return self

    def __exit__(
            self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
            trace: Optional[TracebackType]) -> None:
        self.close()
