"""Servers behind the gateway: a real nginx, and sockets that do what no server should."""
import contextlib
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time

NGINX = """
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
worker_processes 1;
events {{ worker_connections 4096; }}
http {{
    access_log {folder}/access.log combined buffer=1 flush=1s;
    log_format short '$request_method $request_uri $host $status $request_length';
    access_log {folder}/requests.log short;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    client_max_body_size 100m;
    root {folder}/root;
    server {{
        listen 127.0.0.1:{port};
        location /echo {{ return 200 "$request_method $host $request_uri\\n"; }}
        location /status/503 {{ return 503; }}
    }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Nginx:
    """One of one's own, on a free port."""

    def __init__(self):
        self.place = tempfile.TemporaryDirectory(prefix="rf-nginx-")
        self.folder = pathlib.Path(self.place.name)
        self.folder.chmod(0o755)
        self.port = free_port()
        (self.folder / "root").mkdir()
        (self.folder / "root/index.html").write_text("hello from nginx\n")
        (self.folder / "root/large").write_bytes(os.urandom(1 << 20) * 32)
        (self.folder / "conf").write_text("user root;\n" * (os.geteuid() == 0) +
                                          NGINX.format(folder=self.folder, port=self.port))
        self.process = subprocess.Popen(["nginx", "-p", str(self.folder), "-c", str(self.folder / "conf")],
                                        stderr=subprocess.PIPE, start_new_session=True)
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            if self.process.poll() is not None:
                raise RuntimeError(self.process.stderr.read().decode())
            time.sleep(0.02)

    def requests(self):
        """What it was asked, one line each."""
        time.sleep(0.05)
        return (self.folder / "requests.log").read_text().splitlines()

    def close(self):
        self.process.send_signal(signal.SIGQUIT if self.process.poll() is None else 0)
        self.process.terminate()
        self.process.wait()
        self.process.stderr.close()
        self.place.cleanup()


class Odd:
    """A server that does with each connection what `how(connection)` does."""

    def __init__(self, how):
        self.how, self.count = how, 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.count += 1
                threading.Thread(target=self.handle, args=[connection], daemon=True).start()

    def handle(self, connection):
        with contextlib.suppress(OSError), connection:
            self.how(connection)

    def close(self):
        self.listener.close()


def read_head(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            break
        data += piece
    return data


def client_hello(name):
    """As Python's ssl writes it."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    connection = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname=name)
    with contextlib.suppress(ssl.SSLWantReadError):
        connection.do_handshake()
    return outgoing.read()
