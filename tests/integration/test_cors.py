"""Pages of origins that the server was told of may ask it, and a browser is told so; no others."""
import pathlib
import sys

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

PAGE = "https://ui.example"
ASKS = {"Origin": PAGE, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}


@pytest.fixture(scope="module")
def standing(ringfort, public):
    found = {}
    yield lambda who: found.get(who) or found.setdefault(
        who, Server(ringfort, who, public / f"cors-{who}", f"--origin={PAGE}"))
    for server in found.values():
        server.close()


@pytest.fixture
def server(standing, as_who):
    return standing(as_who)


def test_a_browser_that_asks_whether_it_may_is_told_what_without_a_key(server):
    told = server.ask("OPTIONS", "/v1/run", key="", headers=ASKS)
    assert told.status == 204 and told.body == b""
    assert told.headers["Access-Control-Allow-Origin"] == PAGE
    assert told.headers["Access-Control-Allow-Methods"] == "POST"
    allowed = told.headers["Access-Control-Allow-Headers"].lower().split(", ")
    assert {"authorization", "content-type", "x-api-key"} <= set(allowed)
    assert int(told.headers["Access-Control-Max-Age"]) > 0 and told.headers["Vary"] == "Origin"
    assert "Access-Control-Allow-Credentials" not in told.headers
    several = server.ask("OPTIONS", "/v1/sandboxes/abc", key="", headers=ASKS).headers["Access-Control-Allow-Methods"]
    assert set(several.split(", ")) >= {"GET", "DELETE"}


SERVES = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_OPTIONS(self):
        self.send_response(299)
        self.end_headers()
    def do_PUT(self):
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        self.wfile.write(b"inside")
print("ready", flush=True)
http.server.HTTPServer(("127.0.0.1", 8000), Handler).serve_forever()
"""


def test_a_port_of_a_sandbox_can_be_asked_by_a_page(server):
    box = server.post("/v1/sandboxes", {}).json["id"]
    started = server.post(f"/v1/sandboxes/{box}/exec", {"argv": ["python3", "-c", SERVES], "background": True})
    assert started.status < 300, started.body
    path = f"/v1/sandboxes/{box}/ports/8000/x"
    told = server.ask("OPTIONS", path, key="", headers={**ASKS, "Access-Control-Request-Headers": "x-api-key,x-own"})
    assert told.status == 204 and told.headers["Access-Control-Allow-Origin"] == PAGE
    assert "PUT" in told.headers["Access-Control-Allow-Methods"].split(", ")
    assert told.headers["Access-Control-Allow-Headers"] == "x-api-key,x-own"
    done = eventually(lambda: (lambda one: one if one.status == 200 else None)(server.ask("PUT", path, headers={"Origin": PAGE})))
    assert done.body == b"inside" and done.headers.get_all("Access-Control-Allow-Origin") == [PAGE]
    assert server.ask("OPTIONS", path, headers=ASKS).status == 299  # who has a key asks the program itself
    assert server.ask("PUT", path, key="", headers={"Origin": PAGE}).status == 401
    server.ask("DELETE", f"/v1/sandboxes/{box}")


def test_every_answer_to_such_a_page_can_be_read_by_it(server):
    for done, status in ((server.post("/v1/run", {"argv": ["true"]}, headers={"Origin": PAGE}), 200),
                         (server.post("/v1/run", {"argv": 1}, headers={"Origin": PAGE}), 422),
                         (server.post("/v1/run", {}, key="", headers={"Origin": PAGE}), 401),
                         (server.get("/v1/nothing", headers={"Origin": PAGE}), 404)):
        assert done.status == status, done.body
        assert done.headers["Access-Control-Allow-Origin"] == PAGE and done.headers["Vary"] == "Origin"
        assert "X-Request-Id" in done.headers["Access-Control-Expose-Headers"]


@pytest.mark.parametrize("origin", ["https://evil.example", "http://ui.example", PAGE + ".evil.example", "null", PAGE + ":8443"])
def test_pages_of_others_are_told_nothing(server, origin):
    for done in (server.ask("OPTIONS", "/v1/run", key="", headers={**ASKS, "Origin": origin}),
                 server.post("/v1/run", {"argv": ["true"]}, headers={"Origin": origin})):
        assert done.status == 403, done.body
        assert not [name for name in done.headers if name.lower().startswith("access-control-")]


def test_who_is_no_page_is_told_nothing_of_it(server):
    assert not [name for name in server.get("/v1/health").headers if name.lower().startswith("access-control-")]
    assert server.ask("OPTIONS", "/v1/run", key="").status == 405
    assert server.ask("OPTIONS", "/v1/nothing", key="", headers=ASKS).status == 404
