"""What the two clients share: requests that are written, answers that are read, and errors.  No input or output."""
from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import os
import random
import ssl
import struct
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
    """Not as things are now."""


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
        self.__cause__ = error


class CommandError(RingfortError):
    """A program that did not end well: Result.check()."""

    def __init__(self, result: "Result") -> None:
        super().__init__(f"{result.status}: exit code {result.exit_code}, {result.stderr.strip()[-200:]}", code=result.status)
        self.result = result


ERRORS: Dict[str, Type[RingfortError]] = {
    "malformed": InvalidRequest, "invalid": InvalidRequest, "too_large": InvalidRequest, "no_type": InvalidRequest,
    "no_method": InvalidRequest, "no_key": NotAuthorized, "forbidden": NotAuthorized, "refused": Refused,
    "no_range": InvalidRequest, "not_found": NotFound, "conflict": Conflict, "too_many": TooManyRequests, "unsupported": Unsupported,
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


@dataclasses.dataclass(frozen=True)
class FileEvent:
    """`kind` is "created", "modified", "removed" or "renamed"; of the last, `old` is what it was called before."""

    kind: str
    path: str
    type: Optional[str]
    old: Optional[str]


@dataclasses.dataclass(frozen=True)
class Network:
    """Which rules hold; `beyond_ceiling` are those that were asked for and not given."""

    rules: Mapping[str, Any]
    credentials: Sequence[str]
    beyond_ceiling: Sequence[str]


@dataclasses.dataclass(frozen=True)
class NetworkLog:
    events: Sequence[Mapping[str, Any]]
    cursor: int
    lost: int


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


def tell(writer: Optional[Writer], event: Event) -> Any:
    return writer(event.text) if writer else None


def without_none(said: Mapping[str, Optional[str]]) -> Dict[str, str]:
    return {name: value for name, value in said.items() if value is not None}


def lists(**said: Optional[Sequence[str]]) -> Dict[str, List[str]]:
    return {name: list(value) for name, value in said.items() if value}


def input_of(data: Data) -> Dict[str, str]:
    return {"data": data} if isinstance(data, str) else {"data_base64": base64.b64encode(data).decode()}


def form_of(files: Mapping[str, Data]) -> List[Tuple[str, Tuple[str, bytes, str]]]:
    """Several files, as the parts of a form."""
    return [("file", (path, data.encode() if isinstance(data, str) else data, BYTES)) for path, data in files.items()]


ONCE = ("/v1/run", "/v1/sandboxes")  # where what is asked for twice under one key is done once


def headers_of(method: str, path: str, kind: Optional[str]) -> Dict[str, str]:
    headers = {"Idempotency-Key": str(uuid.uuid4())} if method == "POST" and path in ONCE else {}
    return {**headers, "Content-Type": kind} if kind else headers


def trust(ca: Optional[str]) -> Union[bool, ssl.SSLContext]:
    """Whose certificates are believed: those of a file, or those that the system trusts."""
    ca = ca or os.environ.get("RINGFORT_CA")
    return ssl.create_default_context(cafile=ca) if ca else True


def wait_for(body: Mapping[str, Any]) -> httpx.Timeout:
    """A program may take as long as it may; the server is to answer soon after."""
    return httpx.Timeout(WAIT, read=float(body.get("timeout") or LONGEST) + WAIT)


# --- WebSockets (RFC 6455), as far as a terminal needs them ---

class Socket:
    """Frames of one connection, written and read; no input or output."""

    def __init__(self) -> None:
        self.key = base64.b64encode(os.urandom(16)).decode()
        self._in = bytearray()
        self._parts: List[bytes] = []
        self._kind = 0
        self.closed: Optional[int] = None  # why: the code of the server's last frame

    def headers(self) -> Dict[str, str]:
        return {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": self.key}

    def accepts(self, answer: httpx.Response) -> bool:
        proof = base64.b64encode(hashlib.sha1((self.key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        return answer.status_code == 101 and answer.headers.get("sec-websocket-accept") == proof

    @staticmethod
    def frame(data: Data, kind: Optional[int] = None) -> bytes:
        """A text for text, bytes for bytes; or of another kind.  What a client sends is masked."""
        kind = kind or (1 if isinstance(data, str) else 2)
        body, mask = data.encode() if isinstance(data, str) else data, os.urandom(4)
        head = struct.pack("!BB", 0x80 | kind, 0x80 | len(body)) if len(body) < 126 else \
            struct.pack("!BBH", 0x80 | kind, 0x80 | 126, len(body)) if len(body) < 65536 else \
            struct.pack("!BBQ", 0x80 | kind, 0x80 | 127, len(body))
        many = (mask * (len(body) // 4 + 1))[:len(body)]
        return head + mask + (int.from_bytes(body, "big") ^ int.from_bytes(many, "big")).to_bytes(len(body), "big")

    def _next(self) -> Optional[Tuple[int, bool, bytes]]:
        """The next frame, if all of it is here: its kind, whether it ends a message, and what it says."""
        if len(self._in) < 2:
            return None
        size, at = self._in[1] & 0x7f, 2
        if size >= 126:
            wide = 2 if size == 126 else 8
            if len(self._in) < 2 + wide:
                return None
            size, at = int.from_bytes(self._in[2:2 + wide], "big"), 2 + wide
        if len(self._in) < at + size:
            return None
        first, body = self._in[0], bytes(self._in[at:at + size])
        del self._in[:at + size]
        return first & 15, bool(first & 0x80), body

    def feed(self, data: bytes) -> Tuple[List[Data], List[bytes]]:
        """Messages that are whole now, and frames that have to be sent for them."""
        self._in += data
        messages: List[Data] = []
        answers: List[bytes] = []
        while True:
            frame = self._next()
            if not frame:
                return messages, answers
            kind, is_last, body = frame
            if kind == 9:
                answers.append(self.frame(body, 10))
            elif kind == 8:
                self.closed = int.from_bytes(body[:2], "big") if len(body) >= 2 else 1005
                answers.append(self.frame(body[:2], 8))
            elif kind < 3:
                self._kind = kind or self._kind
                self._parts.append(body)
                if is_last:
                    whole = b"".join(self._parts)
                    self._parts.clear()
                    messages.append(whole.decode() if self._kind == 1 else whole)


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


def failure_of(answer: httpx.Response) -> Optional[RingfortError]:
    return error_of(answer.status_code, answer.headers, answer.text) if answer.is_error else None


def pause_before(attempt: int, retries: int, failure: RingfortError) -> Optional[float]:
    """Seconds to wait before it is asked again; None: it is not."""
    if attempt >= retries:
        return None
    if isinstance(failure, Unreachable):
        return float(0.1 * 2 ** attempt * (1 + random.random())) if failure.is_repeatable else None
    if isinstance(failure, Conflict) and failure.where == "Idempotency-Key" and attempt > 0:
        return float(0.5 * 2 ** attempt)  # what we asked for is under way
    is_full = isinstance(failure, TooManyRequests) and failure.retry_after is not None
    return failure.retry_after if is_full and failure.retry_after is not None and failure.retry_after <= PATIENCE else None


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
                       [ProcessInfo(row["number"], row["name"], row["background"], row["ended"]) for row in raw["programs"]], raw)


def found_of(raw: Mapping[str, Any]) -> Found:
    return Found(raw["path"], raw.get("type"), raw.get("size"), raw.get("line"), raw.get("text"))


def metrics_of(raw: Mapping[str, Any]) -> Metrics:
    return Metrics(raw["uptime_ms"], raw["cpu_ms"], raw["memory"], raw["memory_peak"], raw["pids"], raw["disk"], raw)


def network_of(raw: Mapping[str, Any]) -> Network:
    return Network(raw["network"], raw["credentials"], raw.get("beyond_ceiling", []))


def checkpoint_of(raw: Mapping[str, Any]) -> Checkpoint:
    return Checkpoint(raw["number"], raw["name"], raw["created"])


def workspace_of(raw: Mapping[str, Any]) -> Workspace:
    return Workspace(raw["name"], raw["created"], raw["named"], raw["in_use"])


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
