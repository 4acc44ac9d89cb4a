"""An HTTPS server on the loopback that stands for servers of the internet.

    with TlsSite(folder, "api.github.com") as site:
        site.network()     a policy's `network` that leads the names there, and trusts its certificate
        site.seen          each request: (method, host, path, headers, body)
        site.status        what it answers
        site.before        called with each request's path before it is answered
"""
import http.server
import pathlib
import ssl
import subprocess
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.site.seen.append((self.command, self.headers.get("Host"), self.path, dict(self.headers), body))
        self.server.site.before(self.path)
        words = f"{self.command} {self.path}\n".encode()
        self.send_response(self.server.site.status)
        self.send_header("Content-Length", str(len(words)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(words)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class TlsSite:
    def __init__(self, folder, *names):
        self.folder, self.names, self.seen, self.status = pathlib.Path(folder), names, [], 200
        self.before = lambda path: None
        self.folder.mkdir(parents=True, exist_ok=True)
        self.root, key = self.folder / "root.pem", self.folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-subj", "/CN=site", "-addext", "subjectAltName=" + ",".join(f"DNS:{name}" for name in names),
                        "-keyout", key, "-out", self.root], check=True, capture_output=True)
        self.root.chmod(0o644)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.site = self
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.root, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=[0.02], daemon=True).start()

    def network(self, **more):
        return {"hosts": {name: f"127.0.0.1:{self.port}" for name in self.names}, "roots": [str(self.root)], **more}

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.server.shutdown()
        self.server.server_close()
