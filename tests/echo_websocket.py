"""Runs in a sandbox, for the SDKs' tests: says again what it is told over a WebSocket, on port 8001; takes the first protocol that is offered."""
import base64
import hashlib
import socketserver
import struct


class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        lines = [line.decode().strip().partition(": ") for line in iter(self.rfile.readline, b"\r\n")]
        head = {name.lower(): value for name, _, value in lines}
        proof = hashlib.sha1((head["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        chosen = head.get("sec-websocket-protocol", "").split(",")[0].strip()
        answer = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: websocket",
                  f"Sec-WebSocket-Accept: {base64.b64encode(proof).decode()}", *([f"Sec-WebSocket-Protocol: {chosen}"] if chosen else [])]
        self.wfile.write("\r\n".join([*answer, "", ""]).encode())
        while frame := self.rfile.read(2):
            size = frame[1] & 127
            size = int.from_bytes(self.rfile.read(2 if size == 126 else 8), "big") if size > 125 else size
            mask, body = self.rfile.read(4), self.rfile.read(size)
            body = (int.from_bytes(body, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")).to_bytes(size, "big")
            if frame[0] & 15 == 1:
                self.wfile.write(b"\x89\x02hi")  # a ping before a text
            long = bytes([size]) if size < 126 else b"\x7e" + struct.pack("!H", size) if size < 65536 else b"\x7f" + struct.pack("!Q", size)
            self.wfile.write(frame[:1] + long + body)
            if frame[0] & 15 == 8:
                return


socketserver.ThreadingTCPServer(("127.0.0.1", 8001), Echo).serve_forever()
