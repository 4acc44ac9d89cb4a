"""What the two clients share: requests that are written, answers that are read, and errors.  No input or output."""
from __future__ import annotations

import base64
import dataclasses
import json
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type, Union

import httpx

URL = "http://127.0.0.1:7070"
WAIT = 30.0  # seconds for a server to answer, besides what a program may take
LONGEST = 86400.0

Data = Union[str, bytes]
Words = Union[str, Sequence[str]]
Writer = Callable[[str], Any]


class RingfortError(Exception):
    """What can't be done.  `code` is for programs; `message` and `remedy` are for people; `where` is the field that it is about."""

    def __init__(self, message: str, *, code: str = "", remedy: Optional[str] = None, where: Optional[str] = None,
                 status: int = 0, request_id: str = "", retry_after: Optional[float] = None) -> None:
        super().__init__(f"{message} ({remedy})" if remedy else message)
        self.code, self.message, self.remedy, self.where = code, message, remedy, where
        self.status, self.request_id, self.retry_after = status, request_id, retry_after


class InvalidRequest(RingfortError):
    """A field is wrong, unknown or too large."""


class NotAuthorized(RingfortError):
    """No key, or one that is not good for this."""


class Refused(RingfortError):
    """The policy, its ceiling or the sandbox does not allow it."""


class NotFound(RingfortError):
    """It is not there, or is another tenant's."""


class Conflict(RingfortError):
    """Not as things are now."""


class TooManyRequests(RingfortError):
    """The key has as much as it may; `retry_after` says when to come again."""


class Unsupported(RingfortError):
    """Right, and not of this version of the server, or of its machine."""


class ServerError(RingfortError):
    """The server failed, or can't be reached."""


class CommandError(RingfortError):
    """A program that did not end well: Result.check()."""

    def __init__(self, result: "Result") -> None:
        super().__init__(f"{result.status}: exit code {result.exit_code}, {result.stderr.strip()[-200:]}", code=result.status)
        self.result = result


ERRORS: Dict[str, Type[RingfortError]] = {
    "malformed": InvalidRequest, "invalid": InvalidRequest, "too_large": InvalidRequest, "no_type": InvalidRequest,
    "no_method": InvalidRequest, "no_key": NotAuthorized, "forbidden": NotAuthorized, "refused": Refused,
    "not_found": NotFound, "conflict": Conflict, "too_many": TooManyRequests, "unsupported": Unsupported,
}


@dataclasses.dataclass(frozen=True)
class Result:
    """What a program came to; `raw` is the whole document."""

    id: str
    status: str
    exit_code: Optional[int]
    signal: Optional[int]
    stdout: str
    stderr: str
    stdout_bytes: bytes
    stderr_bytes: bytes
    raw: Mapping[str, Any]

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    def check(self) -> "Result":
        """Itself, if it ended well; else CommandError."""
        if not self.ok:
            raise CommandError(self)
        return self


@dataclasses.dataclass(frozen=True)
class Event:
    """What a program wrote: `stream` is "stdout" or "stderr"."""

    stream: str
    data: bytes

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


@dataclasses.dataclass(frozen=True)
class FileInfo:
    name: str
    type: str
    size: int
    mode: str
    modified_ms: int


@dataclasses.dataclass(frozen=True)
class SandboxInfo:
    id: str
    state: str
    created: Optional[str]
    labels: Mapping[str, str]
    age_ms: Optional[int]
    expires_in_ms: Optional[int]
    usage: Mapping[str, Optional[int]]
    programs: Sequence[Mapping[str, Any]]


# --- requests ---

def settle(url: Optional[str], key: Optional[str]) -> Tuple[str, Optional[str], Dict[str, str]]:
    """Where the server is: its address, its socket or None, and what every request carries."""
    url = url or os.environ.get("RINGFORT_URL") or URL
    key = key or os.environ.get("RINGFORT_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    if url.startswith("unix:"):
        return "http://localhost", url[len("unix:"):], headers
    return url.rstrip("/"), None, headers


def program(argv: Optional[Words] = None, command: Optional[str] = None, code: Optional[str] = None,
            language: Optional[str] = None, stdin: Optional[Data] = None, env: Optional[Mapping[str, str]] = None,
            cwd: Optional[str] = None, timeout: Optional[int] = None, files: Optional[Mapping[str, Data]] = None,
            limits: Optional[Mapping[str, Any]] = None, profile: Optional[Words] = None,
            policy: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
    """The body of a run or an exec."""
    said: Dict[str, Any] = {
        "command": command, "code": code, "language": language, "cwd": cwd, "timeout": timeout,
        "env": dict(env) if env else None, "limits": dict(limits) if limits else None,
        "profile": profile if profile is None or isinstance(profile, str) else list(profile),
        "policy": dict(policy) if policy else None,
    }
    if isinstance(argv, str):
        said["command"] = argv
    elif argv is not None:
        said["argv"] = list(argv)
    if isinstance(stdin, bytes):
        said["stdin_base64"] = base64.b64encode(stdin).decode()
    elif stdin is not None:
        said["stdin"] = stdin
    if files:
        said["files"] = [{"path": path, "content": data} if isinstance(data, str) else
                         {"path": path, "content_base64": base64.b64encode(data).decode()}
                         for path, data in files.items()]
    return {name: value for name, value in said.items() if value is not None}


def wait_for(body: Mapping[str, Any]) -> httpx.Timeout:
    """A program may take as long as it may; the server is to answer soon after."""
    return httpx.Timeout(WAIT, read=float(body.get("timeout") or LONGEST) + WAIT)


# --- answers ---

def error_of(status: int, headers: Mapping[str, str], text: str) -> RingfortError:
    try:
        said = json.loads(text)["error"]
    except (ValueError, KeyError, TypeError):
        said = {"code": "", "message": f"the server answered {status}", "remedy": None, "where": None}
    kind = ERRORS.get(said["code"], ServerError)
    after = headers.get("retry-after")
    return kind(said["message"], code=said["code"], remedy=said["remedy"], where=said["where"], status=status,
                request_id=headers.get("x-request-id", ""), retry_after=float(after) if after else None)


def bytes_of(text: str, encoding: str) -> bytes:
    return base64.b64decode(text) if encoding == "base64" else text.encode()


def result_of(raw: Mapping[str, Any], written: Optional[Mapping[str, bytes]] = None) -> Result:
    """`written` is what was told as it came, where it is not in the document."""
    out, err = ((written[name] if written else bytes_of(raw[name], raw["encoding"][name])) for name in ("stdout", "stderr"))
    return Result(raw["id"], raw["status"], raw["exit_code"], raw["signal"], out.decode("utf-8", "replace"),
                  err.decode("utf-8", "replace"), out, err, raw)


def info_of(raw: Mapping[str, Any]) -> SandboxInfo:
    return SandboxInfo(**{field.name: raw[field.name] for field in dataclasses.fields(SandboxInfo)})


class Stream:
    """Reads events from lines; what was written is kept for the result, and told as it comes."""

    def __init__(self, on_stdout: Optional[Writer], on_stderr: Optional[Writer]) -> None:
        self.tell = {"stdout": on_stdout, "stderr": on_stderr}
        self.written: Dict[str, List[bytes]] = {"stdout": [], "stderr": []}
        self.name, self.result = "", None  # type: str, Optional[Result]

    def line(self, text: str) -> None:
        if text.startswith("event: "):
            self.name = text[len("event: "):]
        elif text.startswith("data: "):
            self.take(json.loads(text[len("data: "):]))

    def take(self, data: Dict[str, Any]) -> None:
        if self.name == "result":
            self.result = result_of(data, {name: b"".join(parts) for name, parts in self.written.items()})
        elif self.name == "error":
            raise error_of(200, {}, json.dumps(data))
        elif self.name in self.written:
            event = Event(self.name, bytes_of(data["data"], data["encoding"]))
            self.written[self.name].append(event.data)
            writer = self.tell[self.name]
            if writer:
                writer(event.text)

    def end(self) -> Result:
        if not self.result:
            raise ServerError("the stream ended before the program did", code="unavailable")
        return self.result
