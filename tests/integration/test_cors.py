"""Pages of origins that the server was told of may ask it, and a browser is told so; no others."""
import pathlib
import sys

import pytest

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
