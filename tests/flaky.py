"""Stands before a server, and cuts the first connections when it has heard the request: for clients that ask again."""
import socket
import threading


class Flaky:
    def __init__(self, port, cuts):
        self.port, self.cuts, self.seen = port, cuts, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.seen += 1
            if self.seen <= self.cuts:
                client.recv(65536)
                client.close()
                continue
            there = socket.create_connection(("127.0.0.1", self.port))
            for one, other in ((client, there), (there, client)):
                threading.Thread(target=self.pass_on, args=(one, other), daemon=True).start()

    @staticmethod
    def pass_on(one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
