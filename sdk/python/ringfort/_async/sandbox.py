"""Boxes that stay."""
from __future__ import annotations

from types import TracebackType
from typing import Any, List, Literal, Mapping, Optional, Sequence, Type, Union

import httpx

from .. import _api
from .._api import Applied, Checkpoint, Metrics, Result, SandboxInfo, Words, Workspace, Writer
from .commands import AsyncCommands
from .files import AsyncFiles
from .line import Line
from .network import AsyncNetwork
from .place import Place
from .socket import AsyncPortSocket
from .terminal import AsyncPty


class AsyncSandbox:
    """A box that stays.  As a context manager it ends with its block."""

    def __init__(self, id: str, line: Line, beyond_ceiling: Sequence[str] = ()) -> None:
        self.beyond_ceiling: Sequence[str] = list(beyond_ceiling)  # of create(beyond="drop"): what was asked for and not given
        self.id, self._line, self._path = id, line, f"/v1/sandboxes/{_api.segment(id)}"
        self.commands, self.files = AsyncCommands(line, self._path), AsyncFiles(line, self._path)
        self.network, self.pty = AsyncNetwork(line, self._path), AsyncPty(line, self._path)
        self._place = Place(line, self._path)

    @property
    def sandbox_id(self) -> str:
        return self.id

    @classmethod
    async def create(
            cls, *, timeout: Optional[int] = None, idle_timeout: Optional[int] = None,
            labels: Optional[Mapping[str, str]] = None, env: Optional[Mapping[str, str]] = None,
            limits: Optional[Mapping[str, Any]] = None, profile: Optional[Words] = None,
            policy: Optional[Mapping[str, Any]] = None, needs: Optional[Mapping[str, Any]] = None,
            credentials: Optional[Sequence[str]] = None, workspace: Union[None, bool, str] = None,
            agent: Optional[str] = None, beyond: Optional[str] = None, url: Optional[str] = None, key: Optional[str] = None, ca: Optional[str] = None,
            retries: int = _api.RETRIES) -> AsyncSandbox:
        """Makes one; programs can be run in it when this returns.  It ends by itself after `timeout` seconds.

        A workspace, by its name or (True) one of its own, is a folder at /work whose files can be kept and brought back.
        For an agent it has that one's policy, and its workspace unless another is named.
        What is named beyond the key's ceiling is refused; with `beyond="drop"` it is left out, and listed in `beyond_ceiling`.
        """
        body = _api.program(
            timeout=timeout, env=env, limits=limits, profile=profile, policy=policy, needs=needs, credentials=credentials, workspace=workspace,
            agent=agent, beyond=beyond)
        if labels:
            body["labels"] = dict(labels)
        if idle_timeout is not None:
            body["idle_timeout"] = idle_timeout
        key = _api.hide(key)
        line = Line(url, key, ca, retries)
        try:
            made = (await line.ask("POST", "/v1/sandboxes", body)).json()
            return cls(made["id"], line, made.get("beyond_ceiling", ()))
        except BaseException:
            await line.close()
            raise

    @classmethod
    async def connect(
            cls, id: str, *, url: Optional[str] = None, key: Optional[str] = None, ca: Optional[str] = None,
            retries: int = _api.RETRIES) -> AsyncSandbox:
        """One that there is."""
        key = _api.hide(key)
        box = cls(id, Line(url, key, ca, retries))
        try:
            await box.info()
        except BaseException:
            await box.close()
            raise
        return box

    @classmethod
    async def list(
            cls, *, labels: Optional[Mapping[str, str]] = None, url: Optional[str] = None, key: Optional[str] = None,
            ca: Optional[str] = None, retries: int = _api.RETRIES) -> List[SandboxInfo]:
        """All that the key's tenant has; with labels, those that have them."""
        key = _api.hide(key)
        line = Line(url, key, ca, retries)
        try:
            found = await line.pages("/v1/sandboxes", "sandboxes", label=_api.label_of(labels))
        finally:
            await line.close()
        return [_api.info_of(row) for row in found if _api.has_labels(row["labels"], labels)]

    async def info(self) -> SandboxInfo:
        return _api.info_of((await self._line.ask("GET", self._path)).json())

    async def get_info(self) -> SandboxInfo:
        return await self.info()

    async def is_running(self) -> bool:
        """False once it has ended; a paused one is there, and does not run."""
        try:
            return (await self.info()).state == "running"
        except _api.NotFound:
            return False

    async def metrics(self) -> Metrics:
        """What it uses now."""
        return _api.metrics_of((await self._line.ask("GET", f"{self._path}/metrics")).json())

    async def get_metrics(self) -> Metrics:
        return await self.metrics()

    async def run_code(
            self, code: str, *, language: str = "python", cwd: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
            timeout: Optional[int] = None, on_stdout: Optional[Writer] = None, on_stderr: Optional[Writer] = None) -> Result:
        """Runs code in one of the languages that the machine has."""
        body = _api.program(code=code, language=language, cwd=cwd, env=env, timeout=timeout)
        return await self._line.run(f"{self._path}/exec", body, on_stdout, on_stderr)

    async def run(
            self, code: str, *, language: str = "python", cwd: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
            timeout: Optional[int] = None, on_stdout: Optional[Writer] = None, on_stderr: Optional[Writer] = None) -> Result:
        """The same; a line for a shell is commands.run()'s."""
        return await self.run_code(
            code, language=language, cwd=cwd, env=env, timeout=timeout, on_stdout=on_stdout, on_stderr=on_stderr)

    def get_url(self, port: int, path: str = "/") -> str:
        """Where what listens on a port in the sandbox is reached, by who shows a key."""
        return f"{str(self._line.client.base_url).rstrip('/')}{self._path}/ports/{port}{path if path.startswith('/') else '/' + path}"

    def get_host(self, port: int) -> str:
        """The same without its scheme, as it is put behind one."""
        return self.get_url(port, "/").split("://", 1)[1].rstrip("/")

    async def request(self, port: int, method: str = "GET", path: str = "/", **more: Any) -> httpx.Response:
        """Asks what listens on a port in the sandbox; `more` is httpx's.  Its answer is whatever it is.

        With `follow_redirects=True` those are followed that stay at the port, also where others would lead to this server.  An answer that leads
        elsewhere has the address in `X-Ringfort-Location`.
        """
        how = {name: more.pop(name) for name in ("auth", "follow_redirects") if name in more}
        try:
            request = self._line.client.build_request(method, self.get_url(port, path), **more)
            return await self._line.relay(request, self.get_url(port), **how)
        except httpx.HTTPError as error:
            raise _api.Unreachable(method, error) from error

    async def web_socket(self, port: int, path: str = "/", protocols: Sequence[str] = ()) -> AsyncPortSocket:
        """A WebSocket to what listens on a port in the sandbox."""
        socket = AsyncPortSocket(self._line)
        await socket._open(self.get_url(port, path), protocols, self.get_url(port))
        return socket

    async def checkpoint(self, name: Optional[str] = None) -> Checkpoint:
        """Keeps the files of its workspace as they are; everything in it stands still meanwhile."""
        return await self._place.checkpoint(name)

    async def checkpoints(self) -> List[Checkpoint]:
        return await self._place.checkpoints()

    async def delete_checkpoint(self, number: int) -> None:
        """Takes a checkpoint away, and makes room for another."""
        await self._place.delete_checkpoint(number)

    async def undo(self, to: Union[int, str]) -> Checkpoint:
        """Brings the files of a checkpoint back, by its number or name."""
        return await self._place.undo(to)

    async def diff(self, since: Union[int, str], to: Union[None, int, str] = None) -> str:
        """What has changed since a checkpoint, or between two, as a unified diff."""
        return await self._place.diff(since, to)

    async def fork(self, name: str) -> Workspace:
        """Another workspace that begins with these files: create(workspace=name) has it."""
        return await self._place.fork(name)

    async def apply(self, *, conflicts: Literal["fail", "fork", "origin"] = "fail", dry_run: bool = False) -> Applied:
        """Brings what has changed in its workspace, which is a fork, back into the one that it is a fork of.

        What both have changed is a Conflict, whose `conflicts` are the paths, unless the word of one of them counts.
        """
        return await self._place.apply(conflicts, dry_run)

    async def pause(self) -> None:
        """Stops everything in it where it is; its time passes."""
        await self._line.ask("POST", f"{self._path}/pause")

    async def resume(self) -> None:
        await self._line.ask("POST", f"{self._path}/resume")

    async def set_timeout(self, timeout: int) -> None:
        """It ends so many seconds from now."""
        await self._line.ask("POST", f"{self._path}/timeout", {"timeout": timeout})

    async def kill(self) -> None:
        """Ends it, and waits until nothing of it runs."""
        await self._line.ask("DELETE", self._path)

    async def close(self) -> None:
        """Lets go of it; it goes on until its time is over."""
        await self._line.close()

    async def __aenter__(self) -> AsyncSandbox:
        return self

    async def __aexit__(
            self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
            trace: Optional[TracebackType]) -> None:
        try:
            await self.kill()
        except _api.NotFound:
            pass  # its time was over
        finally:
            await self.close()
