"""Frames of WebSockets (RFC 6455).  No input or output."""
from __future__ import annotations

import base64
import hashlib
import os
import struct
from typing import Dict, List, Optional, Sequence, Tuple

import httpx

from ._api import Data, ServerError

LARGEST = 64 << 20  # bytes of a message: what comes through a port was sent by whoever runs in the sandbox
PART = 256          # what a part of one costs besides its bytes


class Frames:
    """Frames of one connection, written and read; no input or output."""

    def __init__(self) -> None:
        self.key = base64.b64encode(os.urandom(16)).decode()
        self._in = bytearray()
        self._parts: List[bytes] = []
        self._kind = 0  # of a message whose last part has not come
        self._size = 0
        self.closed: Optional[int] = None  # why: the code of the other side's last frame

    def headers(self, protocols: Sequence[str] = ()) -> Dict[str, str]:
        said = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": self.key}
        return {**said, "Sec-WebSocket-Protocol": ", ".join(protocols)} if protocols else said

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
        first, size, at = self._in[0], self._in[1], 2
        kind, is_last = first & 15, bool(first & 0x80)
        if first & 0x70 or size & 0x80 or kind not in (0, 1, 2, 8, 9, 10) or (kind > 2 and (size > 125 or not is_last)):
            raise no_frame("a frame that is none")
        if size >= 126:
            wide = 2 if size == 126 else 8
            if len(self._in) < 2 + wide:
                return None
            size, at = int.from_bytes(self._in[2:2 + wide], "big"), 2 + wide
        if kind < 3 and self._size + size > LARGEST:
            raise no_frame(f"a message of more than {LARGEST} bytes")
        if len(self._in) < at + size:
            return None
        body = bytes(self._in[at:at + size])
        del self._in[:at + size]
        return kind, is_last, body

    def _take(self, kind: int, is_last: bool, body: bytes) -> Optional[Data]:
        """The message that a part makes whole."""
        if (kind == 0) != (self._kind != 0):
            raise no_frame("parts of a message in disorder")
        whole_kind = kind or self._kind
        self._kind = 0 if is_last else whole_kind
        self._parts.append(body)
        self._size += len(body) + PART
        if not is_last:
            return None
        whole = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        try:
            return whole.decode() if whole_kind == 1 else whole
        except UnicodeDecodeError:
            raise no_frame("text that is no UTF-8") from None

    def feed(self, data: bytes) -> Tuple[List[Data], List[bytes]]:
        """Messages that are whole now, and frames that have to be sent for them."""
        self._in += data
        messages: List[Data] = []
        answers: List[bytes] = []
        while self.closed is None:
            frame = self._next()
            if not frame:
                break
            kind, is_last, body = frame
            if kind == 9:
                answers.append(self.frame(body, 10))
            elif kind == 8:
                self.closed = int.from_bytes(body[:2], "big") if len(body) >= 2 else 1005
                answers.append(self.frame(body[:2], 8))
            elif kind < 3:
                message = self._take(kind, is_last, body)
                if message is not None:
                    messages.append(message)
        return messages, answers


def no_frame(what: str) -> ServerError:
    return ServerError(f"what came over the WebSocket is {what}", code="malformed")
