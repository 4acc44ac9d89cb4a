"""What the two clients share: requests that are written, answers that are read, and errors.  No input or output."""
from __future__ import annotations

import base64
import dataclasses
import json
import os
import random
import ssl
import time
import urllib.parse
import uuid
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type, Union

import httpx

URL = "http://127.0.0.1:7070"
WAIT = 30.0  # seconds for a server to answer, besides what a program may take
LONGEST = 86400.0
RETRIES = 2        # times that something is asked again which failed for a moment
PATIENCE = 5.0     # seconds that a server may ask us to wait before that
BYTES, TAR = "application/octet-stream", "application/x-tar"

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
    """Not as things are now.  Of an apply, `conflicts` are the paths that both have changed."""

    conflicts: Sequence[str] = ()


class TooManyRequests(RingfortError):
    """The key has as much as it may; `retry_after` says when to come again."""


class Unsupported(RingfortError):
    """Right, and not of this version of the server, or of its machine."""


class ServerError(RingfortError):
    """The server failed, or can't be reached."""


class Unreachable(ServerError):
    """It can't be reached, or the connection was lost; `was_sent`: it may have been done all the same."""

    def __init__(self, method: str, error: Exception, has_key: bool = False) -> None:
        super().__init__(f"the server can't be reached: {error or type(error).__name__}", code="unavailable")
        self.was_sent = not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol))
        self.is_repeatable = method in ("GET", "PUT") or not self.was_sent or has_key
        self.__cause__ = without_frames(error)


class CommandError(RingfortError):
    """A program that did not end well: Result.check()."""

    def __init__(self, result: "Result") -> None:
        super().__init__(f"{result.status}: exit code {result.exit_code}, {result.stderr.strip()[-200:]}", code=result.status)
        self.result = result


ERRORS: Dict[str, Type[RingfortError]] = {
    "malformed": InvalidRequest, "invalid": InvalidRequest, "too_large": InvalidRequest, "no_type": InvalidRequest,
    "no_method": InvalidRequest, "no_key": NotAuthorized, "forbidden": NotAuthorized, "refused": Refused,
    "no_range": InvalidRequest, "not_found": NotFound, "conflict": Conflict, "under_way": Conflict, "too_many": TooManyRequests, "unsupported": Unsupported,
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
    files: Mapping[str, bytes]  # by name: those of `outputs` that there are
    raw: Mapping[str, Any]

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def beyond_ceiling(self) -> Sequence[str]:
        """Of a run with `beyond="drop"`: what it named beyond the ceiling and was not given, as "limits.memory: 2G"."""
        return list(self.raw.get("beyond_ceiling", []))

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
class WrittenFile:
    path: str
    size: int


@dataclasses.dataclass(frozen=True)
class Found:
    """A file that was found by its name, or a line that has a text."""

    path: str
    type: Optional[str] = None
    size: Optional[int] = None
    line: Optional[int] = None
    text: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class ProcessInfo:
    number: int
    name: str
    background: bool
    ended: bool


@dataclasses.dataclass(frozen=True)
class SandboxInfo:
    id: str
    state: str
    created: Optional[str]
    labels: Mapping[str, str]
    age_ms: Optional[int]
    expires_in_ms: Optional[int]
    usage: Mapping[str, Optional[int]]
    programs: Sequence[ProcessInfo]
    workspace: Optional[str]
    agent: Optional[str]
    raw: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Metrics:
    """What a sandbox uses: milliseconds and bytes; None is not known."""

    uptime_ms: Optional[int]
    cpu_ms: Optional[int]
    memory: Optional[int]
    memory_peak: Optional[int]
    pids: Optional[int]
    disk: Optional[int]
    raw: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """What the files of a workspace were at some time."""

    number: int
    name: str
    created: str


@dataclasses.dataclass(frozen=True)
class Workspace:
    """Files that outlive sandboxes."""

    name: str
    created: str
    named: bool
    in_use: bool
    origin: Optional[str]  # of which it is a fork


@dataclasses.dataclass(frozen=True)
class Applied:
    """What an apply did to the origin of a fork, or would do; `checkpoint` brings back what was before."""

    origin: str
    dry_run: bool
    checkpoint: Optional[int]
    added: int
    modified: int
    deleted: int
    changes: Mapping[str, str]    # by path: "added", "modified" or "deleted"
    protected: Mapping[str, str]  # those of them that act later on who uses the files: "git hook"
    conflicts: Sequence[str]
    truncated: bool


@dataclasses.dataclass(frozen=True)
class AgentInfo:
    """An agent; `policy`, `breaker` and `running` are told of one that is looked at by itself."""

    name: str
    description: Optional[str]
    labels: Mapping[str, str]
    workspace: str
    created: str
    policy: Optional[Mapping[str, Any]]
    breaker: Optional[Mapping[str, Any]]
    running: Optional[Sequence[Mapping[str, Any]]]
    raw: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class FileEvent:
    """`kind` is "created", "modified", "removed" or "renamed"; of the last, `old` is what it was called before."""

    kind: str
    path: str
    type: Optional[str]
    old: Optional[str]


@dataclasses.dataclass(frozen=True)
class Network:
    """Which rules hold; `beyond_ceiling` is what was asked for with `beyond="drop"` and not given, as "network.allow: b.example"."""

    rules: Mapping[str, Any]
    credentials: Sequence[str]
    beyond_ceiling: Sequence[str]


@dataclasses.dataclass(frozen=True)
class NetworkLog:
    events: Sequence[Mapping[str, Any]]
    cursor: int
    lost: int


@dataclasses.dataclass(frozen=True)
class Approval:
    """A request of a sandbox's that waits until somebody decides; `state` is "waiting", "approved", "denied" or "expired".

    `head`, `body` and `is_cut` are of one that waits and was asked for by itself.
    """

    id: str
    state: str
    sandbox: Optional[str]
    agent: Optional[str]
    method: str
    url: str  # without its query
    size: int
    asked: str
    expires: str
    reason: Optional[str]
    head: Optional[str]
    body: Optional[bytes]
    is_cut: bool
    raw: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Decision:
    """What became of one: `status` is what it was answered with, or None; `refused` says that the gateway did not send it."""

    id: str
    state: str
    status: Optional[int]
    refused: Optional[str]


@dataclasses.dataclass(frozen=True)
class AuditEvent:
    """What is recorded; `cursor` leads on behind it, where it was followed."""

    kind: str
    time: str
    cursor: Optional[str]
    raw: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class AuditPage:
    """Some of it; `next_cursor` is there while there is more, `cursor` always, to go on from later."""

    events: Sequence[AuditEvent]
    cursor: str
    next_cursor: Optional[str]


@dataclasses.dataclass(frozen=True)
class Breaker:
    """What stops an agent: `state` is "closed", "open" or "half-open"; `reason` and `retry_ms` are told in a list."""

    name: str
    state: str
    reason: Optional[str]
    retry_ms: Optional[int]
    raw: Mapping[str, Any]


# --- requests ---

class Key(str):
    """A key, or a header with one.  What prints variables (a log, a traceback with locals, pytest) does not print it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<key>"


def hide(key: Optional[str]) -> Optional[Key]:
    """The same key, for a variable that takes the place of the caller's."""
    return None if key is None else Key(key)


def settle(url: Optional[str], key: Optional[Key]) -> Tuple[str, Optional[str], Optional[Key]]:
    """Where the server is: its address, its socket or None, and the key that is shown, or None."""
    url = url or os.environ.get("RINGFORT_URL") or URL
    key = key or hide(os.environ.get("RINGFORT_KEY") or None)
    if url.startswith("unix:"):
        return "http://localhost", url[len("unix:"):], key
    return url.rstrip("/"), None, key


def show(key: Optional[Key]) -> Dict[str, str]:
    return {"Authorization": Key(f"Bearer {key}")} if key else {}


def to_port(request: httpx.Request, key: Optional[Key]) -> None:
    """Shows the key to the server alone: `Authorization` is for what listens there."""
    if key:
        if request.headers.get("authorization") == f"Bearer {key}":
            del request.headers["authorization"]
        request.headers["x-api-key"] = key


def forget_key(*requests: Optional[httpx.Request]) -> None:
    """Takes the key from requests that who asked can see: an answer's, an error's, and the one that a redirect leads to."""
    for request in requests:
        if request is not None:
            request.headers.pop("x-api-key", None)


def is_beneath(url: httpx.URL, place: httpx.URL) -> bool:
    """Whether it leads to `place`, whose path ends in a slash, or beneath it, also for a proxy that resolves dots once more."""
    path = url.raw_path.split(b"?")[0]
    dots = {part for part in urllib.parse.unquote_to_bytes(path).replace(b"\\", b"/").split(b"/") if part in (b".", b"..")}
    return (url.scheme, url.host, url.port) == (place.scheme, place.host, place.port) and path.startswith(place.raw_path) and not dots


def check_beneath(url: httpx.URL, place: str) -> None:
    """The path of a request may come from a program in a sandbox."""
    if not is_beneath(url, httpx.URL(place)):
        raise InvalidRequest(f"{url} leads away from {place}", code="invalid", where="path")


def without_frames(error: BaseException) -> BaseException:
    """Frames of httpx have headers among their variables, and the key with them."""
    seen: List[BaseException] = []
    found: Optional[BaseException] = error
    while found is not None and found not in seen:
        seen.append(found)
        found.__traceback__ = None
        found = found.__cause__ or found.__context__
    return error


def program(argv: Optional[Words] = None, command: Optional[str] = None, code: Optional[str] = None,
            language: Optional[str] = None, stdin: Optional[Data] = None, env: Optional[Mapping[str, str]] = None,
            cwd: Optional[str] = None, timeout: Optional[int] = None, files: Optional[Mapping[str, Data]] = None,
            limits: Optional[Mapping[str, Any]] = None, profile: Optional[Words] = None,
            policy: Optional[Mapping[str, Any]] = None, needs: Optional[Mapping[str, Any]] = None,
            credentials: Optional[Sequence[str]] = None, workspace: Union[None, bool, str] = None,
            outputs: Optional[Sequence[str]] = None, agent: Optional[str] = None, beyond: Optional[str] = None) -> Dict[str, Any]:
    """The body of a run, an exec, a sandbox or an agent."""
    said: Dict[str, Any] = {
        "command": command, "code": code, "language": language, "cwd": cwd, "timeout": timeout, "agent": agent, "beyond": beyond,
        "env": dict(env) if env else None, "limits": dict(limits) if limits else None,
        "profile": profile if profile is None or isinstance(profile, str) else list(profile),
        "policy": dict(policy) if policy else None, "needs": dict(needs) if needs else None,
        **lists(credentials=credentials, outputs=outputs), **place_of(workspace),
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


def agent(name: str, description: Optional[str], labels: Optional[Mapping[str, str]], **rules: Any) -> Dict[str, Any]:
    """The body of an agent that is made, or put in the place of another."""
    said = {**program(**rules), **without_none({"name": name, "description": description})}
    return {**said, "labels": dict(labels)} if labels else said


def tell(writer: Optional[Writer], event: Event) -> Any:
    return writer(event.text) if writer else None


def without_none(said: Mapping[str, Optional[str]]) -> Dict[str, str]:
    return {name: value for name, value in said.items() if value is not None}


def lists(**said: Optional[Sequence[str]]) -> Dict[str, List[str]]:
    return {name: list(value) for name, value in said.items() if value}


def input_of(data: Data) -> Dict[str, str]:
    return {"data": data} if isinstance(data, str) else {"data_base64": base64.b64encode(data).decode()}


def segment(name: str) -> str:
    """A name as a part of a path: it leads nowhere else."""
    return urllib.parse.quote(name, safe="")


def label_of(labels: Optional[Mapping[str, str]]) -> Optional[str]:
    """The one that a server looks for."""
    return next((f"{name}={value}" for name, value in (labels or {}).items()), None)


def has_labels(there: Mapping[str, str], labels: Optional[Mapping[str, str]]) -> bool:
    return all(there.get(name) == value for name, value in (labels or {}).items())


def form_of(files: Mapping[str, Data]) -> List[Tuple[str, Tuple[str, bytes, str]]]:
    """Several files, as the parts of a form."""
    return [("file", (path, data.encode() if isinstance(data, str) else data, BYTES)) for path, data in files.items()]


ONCE = "Idempotency-Key"                   # what is asked for twice under one key is done once
DONE_ONCE = ("/v1/run", "/v1/sandboxes")  # where the server does that


def headers_of(method: str, path: str, kind: Optional[str]) -> Dict[str, str]:
    headers = {ONCE: str(uuid.uuid4())} if method == "POST" and path in DONE_ONCE else {}
    return {**headers, "Content-Type": kind} if kind else headers


def trust(ca: Optional[str]) -> Union[bool, ssl.SSLContext]:
    """Whose certificates are believed: those of a file, or those that the system trusts."""
    ca = ca or os.environ.get("RINGFORT_CA")
    return ssl.create_default_context(cafile=ca) if ca else True


def wait_for(body: Mapping[str, Any]) -> httpx.Timeout:
    """A program may take as long as it may; the server is to answer soon after."""
    return httpx.Timeout(WAIT, read=float(body.get("timeout") or LONGEST) + WAIT)


# --- answers ---

def error_of(status: int, headers: Mapping[str, str], text: str) -> RingfortError:
    """The error that an answer is.  One that is not of our form is somebody else's: a proxy's, for example."""
    try:
        whole = json.loads(text)
        said = whole["error"]
    except (ValueError, KeyError, TypeError):
        whole, said = {}, None
    said = {name: value for name, value in said.items() if isinstance(value, str)} if isinstance(said, dict) else {}
    after = headers.get("retry-after", "")
    error = ERRORS.get(said.get("code", ""), ServerError)(
        said.get("message") or f"the server answered {status}", code=said.get("code", ""), remedy=said.get("remedy"), where=said.get("where"),
        status=status, request_id=headers.get("x-request-id", ""), retry_after=float(after) if after.isascii() and after.isdigit() else None)
    if isinstance(error, Conflict) and isinstance(whole.get("conflicts"), list):
        error.conflicts = [path for path in whole["conflicts"] if isinstance(path, str)]
    return error


def failure_of(answer: httpx.Response) -> Optional[RingfortError]:
    """The API redirects nobody: what does is somebody else."""
    return None if answer.is_success else error_of(answer.status_code, answer.headers, answer.text)


def pause_before(attempt: int, retries: int, failure: RingfortError, is_repeatable: bool) -> Optional[float]:
    """Seconds to wait before it is asked again; None: it is not."""
    if attempt >= retries:
        return None
    if isinstance(failure, Unreachable):
        return float(0.1 * 2 ** attempt * (1 + random.random())) if failure.is_repeatable else None
    is_for_a_moment = isinstance(failure, TooManyRequests) or (failure.status == 503 and is_repeatable)
    return failure.retry_after if is_for_a_moment and failure.retry_after is not None and failure.retry_after <= PATIENCE else None


class Attempts:
    """How often something was asked, and what follows from how it failed."""

    def __init__(self, method: str, headers: Dict[str, str], retries: int, patience: float) -> None:
        self.method, self.headers, self.retries = method, headers, retries
        self.until = time.monotonic() + patience
        self.count, self.was_lost = 0, False

    def pause_after(self, failure: RingfortError) -> float:
        """Seconds to wait before it is asked again; raises the failure where it is not."""
        self.was_lost = self.was_lost or (isinstance(failure, Unreachable) and failure.was_sent)
        if failure.where == ONCE and ONCE in self.headers:
            if isinstance(failure, TooManyRequests) or (failure.status == 503 and not self.was_lost):
                del self.headers[ONCE]  # the server keeps no more answers: it is done without, and not asked again
                return 0
            if self.was_lost and failure.code == "under_way" and time.monotonic() < self.until:
                return 1  # what we asked for and lost sight of
        pause = pause_before(self.count, self.retries, failure, self.method in ("GET", "PUT") or ONCE in self.headers)
        self.count += 1
        if pause is None:
            raise failure
        return pause


def bytes_of(text: str, encoding: str) -> bytes:
    return base64.b64decode(text) if encoding == "base64" else text.encode()


def file_of(row: Mapping[str, Any]) -> bytes:
    return row["content"].encode() if "content" in row else base64.b64decode(row["content_base64"])


def result_of(raw: Mapping[str, Any], written: Optional[Mapping[str, bytes]] = None) -> Result:
    """`written` is what was told as it came, where it is not in the document."""
    out, err = ((written[name] if written else bytes_of(raw[name], raw["encoding"][name])) for name in ("stdout", "stderr"))
    return Result(raw["id"], raw["status"], raw["exit_code"], raw["signal"], out.decode("utf-8", "replace"),
                  err.decode("utf-8", "replace"), out, err, {row["path"]: file_of(row) for row in raw.get("files", [])}, raw)


def info_of(raw: Mapping[str, Any]) -> SandboxInfo:
    return SandboxInfo(raw["id"], raw["state"], raw["created"], raw["labels"], raw["age_ms"], raw["expires_in_ms"], raw["usage"],
                       [ProcessInfo(row["number"], row["name"], row["background"], row["ended"]) for row in raw["programs"]],
                       raw.get("workspace"), raw.get("agent"), raw)


def found_of(raw: Mapping[str, Any]) -> Found:
    return Found(raw["path"], raw.get("type"), raw.get("size"), raw.get("line"), raw.get("text"))


def metrics_of(raw: Mapping[str, Any]) -> Metrics:
    return Metrics(raw["uptime_ms"], raw["cpu_ms"], raw["memory"], raw["memory_peak"], raw["pids"], raw["disk"], raw)


def network_of(raw: Mapping[str, Any]) -> Network:
    return Network(raw["network"], raw["credentials"], raw.get("beyond_ceiling", []))


def checkpoint_of(raw: Mapping[str, Any]) -> Checkpoint:
    return Checkpoint(raw["number"], raw["name"], raw["created"])


def workspace_of(raw: Mapping[str, Any]) -> Workspace:
    return Workspace(raw["name"], raw["created"], raw["named"], raw["in_use"], raw.get("origin"))


def applied_of(raw: Mapping[str, Any]) -> Applied:
    return Applied(raw["origin"], raw["dry_run"], raw["checkpoint"], raw["added"], raw["modified"], raw["deleted"],
                   {row["path"]: row["change"] for row in raw["changes"]},
                   {row["path"]: row["protected"] for row in raw["changes"] if row["protected"]}, raw["conflicts"], raw["truncated"])


def agent_of(raw: Mapping[str, Any]) -> AgentInfo:
    return AgentInfo(raw["name"], raw["description"], raw["labels"], raw["workspace"], raw["created"], raw.get("policy"),
                     raw.get("breaker"), raw.get("running"), raw)


def approval_of(raw: Mapping[str, Any]) -> Approval:
    body = raw["body"].encode() if "body" in raw else base64.b64decode(raw["body_base64"]) if "body_base64" in raw else None
    return Approval(raw["id"], raw["state"], raw.get("sandbox"), raw.get("agent"), raw["method"],
                    f"{raw['scheme']}://{raw['host']}:{raw['port']}{raw['path']}", raw["size"], raw["asked"], raw["expires"],
                    raw.get("reason"), raw.get("head"), body, raw.get("is_cut", False), raw)


def decision_of(raw: Mapping[str, Any]) -> Decision:
    return Decision(raw["id"], raw["state"], raw.get("status"), raw.get("refused"))


def audit_event_of(raw: Mapping[str, Any], cursor: Optional[str] = None) -> AuditEvent:
    return AuditEvent(raw["kind"], raw["time"], cursor, raw)


def breaker_of(raw: Mapping[str, Any]) -> Breaker:
    return Breaker(raw["name"], raw["state"], raw.get("reason"), raw.get("retry_ms"), raw)


def place_of(workspace: Union[None, bool, str]) -> Dict[str, Any]:
    """A workspace by its name, or (True) one that goes with the sandbox."""
    if not workspace:
        return {}
    return {"workspace": {} if workspace is True else {"name": workspace}}


class Changes:
    """Reads what changes in a folder from lines of a stream."""

    def __init__(self) -> None:
        self.name = ""

    def line(self, text: str) -> Optional[FileEvent]:
        if text.startswith("event: "):
            self.name = text[len("event: "):]
        elif text.startswith("data: "):
            data = json.loads(text[len("data: "):])
            if self.name == "error":
                raise error_of(200, {}, json.dumps(data))
            if self.name in ("created", "modified", "removed", "renamed"):
                return FileEvent(self.name, data["path"], data.get("type"), data.get("from"))
        return None


class Records:
    """Reads what is recorded from lines of a stream; `last` is where to go on behind."""

    def __init__(self, last: Optional[str]) -> None:
        self.name, self.last = "", last

    def headers(self) -> Dict[str, str]:
        return {"Accept": "text/event-stream", **({"Last-Event-ID": self.last} if self.last else {})}

    def line(self, text: str) -> Optional[AuditEvent]:
        if text.startswith("id: "):
            self.last = text[len("id: "):]
        elif text.startswith("event: "):
            self.name = text[len("event: "):]
        elif text.startswith("data: "):
            data = json.loads(text[len("data: "):])
            if self.name == "error":
                raise error_of(200, {}, json.dumps(data))
            if self.name == "audit":
                return audit_event_of(data, self.last)
        return None


class Stream:
    """Reads events from lines; what was written is kept for the result."""

    def __init__(self) -> None:
        self.written: Dict[str, List[bytes]] = {"stdout": [], "stderr": []}
        self.name = ""
        self.result: Optional[Result] = None

    def line(self, text: str) -> Optional[Event]:
        if text.startswith("event: "):
            self.name = text[len("event: "):]
        elif text.startswith("data: "):
            return self.take(json.loads(text[len("data: "):]))
        return None

    def take(self, data: Mapping[str, Any]) -> Optional[Event]:
        if self.name == "result":
            self.result = result_of(data, self.whole())
        elif self.name == "error":
            raise error_of(200, {}, json.dumps(data))
        elif self.name in self.written:
            return self.keep([{**data, "stream": self.name}])[0]
        return None

    def keep(self, rows: Sequence[Mapping[str, Any]]) -> List[Event]:
        events = [Event(row["stream"], bytes_of(row["data"], row["encoding"])) for row in rows]
        for event in events:
            self.written[event.stream].append(event.data)
        return events

    def whole(self) -> Dict[str, bytes]:
        return {name: b"".join(parts) for name, parts in self.written.items()}

    def end(self) -> Result:
        if not self.result:
            raise ServerError("the stream ended before the program did", code="unavailable")
        return self.result
