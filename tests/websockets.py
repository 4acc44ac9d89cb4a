"""A small client of WebSockets (RFC 6455), which also says what no library would."""
import base64
import json
import os
import socket
import ssl
import struct
import time

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Refused(Exception):
    def __init__(self, status, head, body):
        super().__init__(f"{status}: {body}")
        self.status, self.head, self.body = status, head, body

    @property
    def error(self):
        return json.loads(self.body)["error"]


class WebSocket:
    def __init__(self, port, path, headers=(), protocols=None, tls=None, host=None, timeout=30):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        if tls:
            context = ssl.create_default_context(cafile=tls)
            self.sock = context.wrap_socket(self.sock, server_hostname="localhost")
        fields = {"Host": host or f"localhost:{port}", "Upgrade": "websocket", "Connection": "Upgrade",
                  "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode()}
        if protocols:
            fields["Sec-WebSocket-Protocol"] = ", ".join(protocols)
        fields.update(headers)
        text = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value is not None)
        self.sock.sendall(f"GET {path} HTTP/1.1\r\n{text}\r\n".encode())
        self.rest, self.closed = b"", None
        head = self.until(b"\r\n\r\n").decode()
        self.status = int(head.split()[1])
        self.headers = {name.lower(): value for name, value in
                        (line.split(": ", 1) for line in head.split("\r\n")[1:] if line)}
        if self.status != 101:
            body = self.exactly(int(self.headers.get("content-length", 0)))
            self.sock.close()
            raise Refused(self.status, self.headers, body)

    def more(self):
        data = self.sock.recv(65536)
        if not data:
            raise EOFError("the connection has ended")
        self.rest += data

    def until(self, mark):
        while mark not in self.rest:
            self.more()
        head, self.rest = self.rest.split(mark, 1)
        return head

    def exactly(self, size):
        while len(self.rest) < size:
            self.more()
        data, self.rest = self.rest[:size], self.rest[size:]
        return data

    def frame(self, kind, data, is_last=True, masked=True, bits=0):
        first = (0x80 if is_last else 0) | bits | kind
        size = len(data)
        head = bytes([first, (0x80 if masked else 0) | (size if size < 126 else 126 if size < 65536 else 127)])
        head += b"" if size < 126 else struct.pack(">H", size) if size < 65536 else struct.pack(">Q", size)
        if not masked:
            return head + data
        key = os.urandom(4)
        whole = int.from_bytes(data, "big") ^ int.from_bytes((key * (size // 4 + 1))[:size], "big")
        return head + key + whole.to_bytes(size, "big")

    def send(self, data):
        """Text, bytes, or what becomes JSON."""
        if isinstance(data, bytes):
            self.sock.sendall(self.frame(BINARY, data))
        else:
            text = data if isinstance(data, str) else json.dumps(data)
            self.sock.sendall(self.frame(TEXT, text.encode()))

    def raw(self):
        """The next frame: its kind, and its payload."""
        first, second = self.exactly(2)
        size = second & 127
        if size > 125:
            size = struct.unpack(">H" if size == 126 else ">Q", self.exactly(2 if size == 126 else 8))[0]
        assert first & 0x80 and not second & 0x80
        return first & 15, self.exactly(size)

    def receive(self):
        """The next message: text read as JSON, bytes as they are; None when it is closed.

        A server's pings are answered, and make nobody wait for ever.
        """
        end = time.monotonic() + 60
        while True:
            assert time.monotonic() < end, "nothing comes but pings"
            kind, data = self.raw()
            if kind == TEXT:
                return json.loads(data)
            if kind == BINARY:
                return data
            if kind == PING:
                self.sock.sendall(self.frame(PONG, data))
            if kind == CLOSE:
                self.closed = (struct.unpack(">H", data[:2])[0], data[2:].decode()) if data else (1005, "")
                try:
                    self.sock.sendall(self.frame(CLOSE, data[:2]))
                except OSError:
                    pass
                return None

    def all(self):
        """Everything up to the close: texts, and what each stream said."""
        texts, streams = [], {1: b"", 2: b""}
        while (message := self.receive()) is not None:
            if isinstance(message, bytes):
                streams[message[0]] += message[1:]
            else:
                texts.append(message)
        return texts, streams

    def read_until(self, words, stream=1):
        """What a stream says, up to and with these bytes."""
        got = b""
        while words not in got:
            message = self.receive()
            assert message is not None, (self.closed, got)
            if isinstance(message, bytes) and message[0] == stream:
                got += message[1:]
        return got

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.close()
