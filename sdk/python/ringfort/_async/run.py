"""One program, one box."""
from __future__ import annotations

from typing import Any, AsyncIterator, Mapping, Optional, Sequence, Union

from .. import _api
from .._api import Data, Event, Result, Words, Writer
from .line import Line


async def run_async(
        argv: Optional[Words] = None, *, command: Optional[str] = None, code: Optional[str] = None,
        language: Optional[str] = None, stdin: Optional[Data] = None, env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None, files: Optional[Mapping[str, Data]] = None, timeout: Optional[int] = None,
        limits: Optional[Mapping[str, Any]] = None, profile: Optional[Words] = None,
        policy: Optional[Mapping[str, Any]] = None, needs: Optional[Mapping[str, Any]] = None,
        credentials: Optional[Sequence[str]] = None, workspace: Optional[str] = None,
        agent: Optional[str] = None, beyond: Optional[str] = None, outputs: Optional[Sequence[str]] = None, on_stdout: Optional[Writer] = None, on_stderr: Optional[Writer] = None,
        url: Optional[str] = None, key: Optional[str] = None, ca: Optional[str] = None,
        retries: int = _api.RETRIES) -> Result:
    """Runs one program in a box of its own; `outputs` are names of files that are wanted of it, in the result's `files`.

    What it names beyond the key's ceiling is refused; with `beyond="drop"` it has the rest, and the result's `beyond_ceiling` lists what it has not.
    """
    key = _api.hide(key)
    line = Line(url, key, ca, retries)
    body = _api.program(
        argv, command, code, language, stdin, env, cwd, timeout, files, limits, profile, policy, needs, credentials, workspace, outputs,
        agent, beyond)
    try:
        return await line.run("/v1/run", body, on_stdout, on_stderr)
    finally:
        await line.close()


async def run_stream_async(
        argv: Optional[Words] = None, *, command: Optional[str] = None, code: Optional[str] = None,
        language: Optional[str] = None, stdin: Optional[Data] = None, env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None, files: Optional[Mapping[str, Data]] = None, timeout: Optional[int] = None,
        limits: Optional[Mapping[str, Any]] = None, profile: Optional[Words] = None,
        policy: Optional[Mapping[str, Any]] = None, needs: Optional[Mapping[str, Any]] = None,
        credentials: Optional[Sequence[str]] = None, workspace: Optional[str] = None,
        agent: Optional[str] = None, beyond: Optional[str] = None, url: Optional[str] = None, key: Optional[str] = None, ca: Optional[str] = None,
        retries: int = _api.RETRIES) -> AsyncIterator[Union[Event, Result]]:
    """The same, and gives what it writes as it comes, and last its result."""
    key = _api.hide(key)
    line, stream = Line(url, key, ca, retries), _api.Stream()
    body = _api.program(
        argv, command, code, language, stdin, env, cwd, timeout, files, limits, profile, policy, needs, credentials, workspace,
        agent=agent, beyond=beyond)
    try:
        async for event in line.events("/v1/run", body, stream):
            yield event
        yield stream.end()
    finally:
        await line.close()
