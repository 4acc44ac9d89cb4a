"""A request names an address of the host, of its network or of a cloud: it is reached only where the ceiling names it, too."""
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from helpers import eventually  # noqa: E402
from servers import Server  # noqa: E402
from wardens import IS_ROOT, USER_ID  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

RUN, BOXES = "/v1/run", "/v1/sandboxes"
PROXY = "http://127.0.0.1:1000"  # of every box that has a gateway: what a box calls 127.0.0.1 is its own
PUBLIC = "93.184.216.34:443"
WIDE = {"open": {"mode": "open"}, "report": {"mode": "report"}, "every address": {"allow": ["0.0.0.0/0:*"]},
        "every name and address": {"allow": ["*:*", "0.0.0.0/0:*"]}, "half of all": {"allow": ["0.0.0.0/1:*", "128.0.0.0/1:*"]}}


class Plain(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # noqa: N802
        self.send_response(200)
        self.send_header("Content-Length", "9")
        self.end_headers()
        self.wfile.write(b"the host\n")

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


@pytest.fixture(scope="module")
def port():
    """A service of this machine that only this machine reaches."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Plain) as there:
        threading.Thread(target=there.serve_forever, daemon=True).start()
        yield there.server_address[1]
        there.shutdown()


class Site:
    def __init__(self, ringfort, who, folder, port):  # pylint: disable=redefined-outer-name
        self.server, self.who, self.folder, self.port, self.keys = Server(ringfort, who, folder), who, pathlib.Path(folder), port, {}

    def key(self, name, network):
        if name not in self.keys:
            path = self.folder / f"ceiling-{len(self.keys)}.yaml"
            path.write_text(json.dumps({"files": {"current": "none"}, "limits": {"time": "1h"}, "network": network}))
            if IS_ROOT and self.who == "user":
                os.chown(path, USER_ID, USER_ID)
            path.chmod(0o600)
            self.keys[name] = self.server.make_key("--tenant", f"t{len(self.keys)}", "--ceiling", str(path))
        return self.keys[name]

    def fetch(self):
        return ["curl", "-sS", "-m", "20", "-x", PROXY, f"http://127.0.0.1:{self.port}/"]

    def run(self, key, network, **more):
        """What a run got of the service: None where the server refused to begin it."""
        done = self.server.post(RUN, {"argv": self.fetch(), "policy": {"network": network}, **more}, key=key, timeout=60)
        assert done.status in (200, 403), done.body
        return done.json["stdout"] if done.status == 200 else None


@pytest.fixture(scope="module")
def sites(ringfort, public, port):
    made = {}
    yield lambda who: made.get(who) or made.setdefault(who, Site(ringfort, who, public / f"addresses-{who}", port))
    for site in made.values():
        site.server.close()


@pytest.fixture
def site(sites, as_who):
    return sites(as_who)


@pytest.mark.parametrize("name", sorted(WIDE))
def test_a_run_does_not_reach_the_host_by_naming_it(site, name):
    key = site.key(name, WIDE[name])
    for network in ({"allow": [f"127.0.0.1:{site.port}"]}, {"allow": ["127.0.0.0/8:*"]},
                    {"mode": "open", "allow": [f"127.0.0.1:{site.port}"]}, {"allow": ["*:*", "0.0.0.0/0:*", "127.0.0.1:*"]}):
        got = site.run(key, network)
        assert got is None or "the host" not in got, (network, got)


def test_a_ceiling_that_names_the_host_lets_a_run_reach_it(site):
    for name, network in (("named", {"allow": ["127.0.0.1:*"]}), ("named beside all", {"mode": "open", "allow": ["127.0.0.0/8:*"]}),
                          ("host", {"link": "host"})):
        assert site.run(site.key(name, network), {"allow": [f"127.0.0.1:{site.port}"]}) == "the host\n", name


@pytest.mark.parametrize("name", sorted(WIDE))
def test_a_sandboxs_rules_are_not_changed_to_lead_to_the_host(site, name):
    key = site.key(name, WIDE[name])
    made = site.server.post(BOXES, {"policy": {"network": {"allow": [PUBLIC]}}}, key=key)
    assert made.status == 201, made.body
    box = f"{BOXES}/{made.json['id']}"
    try:
        asked = [PUBLIC, f"127.0.0.1:{site.port}", "10.0.0.0/8:*", "169.254.169.254:*"]
        done = site.server.put(f"{box}/network", {"network": {"allow": asked}}, key=key)
        assert done.status in (200, 403), done.body
        left = site.server.get(f"{box}/network", key=key).json["network"]["allow"]
        assert left == ["93.184.216.34:443"], left
        done = site.server.post(f"{box}/exec", {"argv": site.fetch()}, key=key, timeout=60)
        assert done.status == 200 and "the host" not in done.json["stdout"], done.body
    finally:
        site.server.delete(box, key=key)


def test_an_agents_policy_that_means_the_internet_does_not_lead_to_the_host(site):
    """The ceiling names it; the agent's policy does not, whatever the request says."""
    key, name = site.key("named beside all", {"mode": "open", "allow": ["127.0.0.0/8:*"]}), f"wide-{site.who}"
    made = site.server.post("/v1/agents", {"name": name, "timeout": 120, "policy": {"network": {"allow": ["0.0.0.0/0:*"]}}}, key=key)
    assert made.status == 201, made.body
    got = site.run(key, {"allow": [f"127.0.0.1:{site.port}"]}, agent=name)
    assert got is None or "the host" not in got, got
    assert site.server.delete(f"/v1/agents/{name}", key=key).status == 204


def test_a_client_on_the_unix_socket_does_not_reach_the_host_by_naming_it(site):
    said = site.server.local(f"""
        for allow in (["127.0.0.1:{site.port}"], ["127.0.0.0/8:*", "0.0.0.0/0:*"]):
            status, body = ask("POST", "/v1/run", {{"argv": {site.fetch()!r}, "policy": {{"network": {{"allow": allow}}}}}})
            print(status, "the host" in json.loads(body).get("stdout", ""))
    """.replace("\n        ", "\n"))
    lines = [line.split() for line in said.stdout.splitlines()]
    assert [line[1] for line in lines] == ["False"] * 2 and {line[0] for line in lines} <= {"200", "403"}, said


@pytest.mark.parametrize("ceiling,is_reached", [
    ("mode: open", False), ("mode: report", False), ("allow: ['0.0.0.0/0:*']", False), ("allow: ['127.0.0.1:*']", True)])
def test_a_wardens_ceiling_leads_to_the_host_only_where_it_names_it(post, port, public, ceiling, is_reached):
    """The client asks a gateway by itself; the warden tells that one what is left."""
    post.stand()
    path = public / "ceiling.yaml"
    path.write_text(f"network: {{ {ceiling} }}\n")
    path.chmod(0o644)
    warden = post.start("warden", "--ceiling", str(path), stdout=subprocess.DEVNULL)
    try:
        assert eventually(lambda: post.run("warden", "--status").returncode == 0)
        done = post.run("run", "--net", f"127.0.0.1:{port}", "--", "curl", "-sS", "-m", "20", "-x", PROXY, f"http://127.0.0.1:{port}/")
        assert ("the host" in done.stdout) == is_reached, done
    finally:
        warden.terminate()
        warden.wait(timeout=20)


SIX_TO_FOUR = "2002:808:808::1"  # with an IPv4 address within that is another machine's

# In a network of its own, whose loopback has a public address: what a machine on the Internet has.
ON_A_PUBLIC_MACHINE = f"""
    ip link set lo up && ip address add {PUBLIC.split(":", maxsplit=1)[0]}/32 dev lo || exit 3
    if [ -e /proc/net/if_inet6 ]; then
        ip address add {SIX_TO_FOUR}/128 dev lo || exit 3
        python3 -m http.server --bind {SIX_TO_FOUR} --directory "$0" 8080 >/dev/null 2>&1 & other=$!
        for i in 1 2 3 4 5 6 7 8 9 10; do curl -sf -o /dev/null http://[{SIX_TO_FOUR}]:8080/ && break; sleep 0.3; done
    fi
    python3 -m http.server --bind {PUBLIC.split(":", maxsplit=1)[0]} --directory "$0" 8080 >/dev/null 2>&1 & server=$!
    for i in 1 2 3 4 5 6 7 8 9 10; do curl -sf -o /dev/null http://{PUBLIC.split(":", maxsplit=1)[0]}:8080/ && break; sleep 0.3; done
    "$@"; code=$?
    kill $server $other; exit $code
"""


def test_a_public_address_of_this_machine_is_reached_by_network_hosts_alone(ringfort, as_who, tmp_path):
    if as_who != "root" or not IS_ROOT:
        pytest.skip("needs root, to make a network")
    (tmp_path / "page").write_text("the host\n")
    address = PUBLIC.split(":", maxsplit=1)[0]

    def run(url, *options):
        return subprocess.run(["unshare", "--net", "sh", "-c", ON_A_PUBLIC_MACHINE, str(tmp_path), ringfort, "run", "--no-warden", *options,
                               "--", "curl", "-sS", "-m", "20", "-x", PROXY, url], capture_output=True, text=True, timeout=60, check=False)

    done = run(f"http://{address}:8080/page", "--net", f"{address}:*")
    assert "an address of this machine" in done.stdout and "network.hosts" in done.stdout, done
    has_ipv6 = os.path.exists("/proc/net/if_inet6")
    if has_ipv6:
        done = run(f"http://[{SIX_TO_FOUR}]:8080/page", "--net", f"[{SIX_TO_FOUR}]:*")
        assert "an address of this machine" in done.stdout and "network.hosts" in done.stdout, done
    for own in (address, SIX_TO_FOUR) if has_ipv6 else (address,):
        done = run("http://own.test:8080/page", "--net", "own.test:*", "--host", f"own.test={own}")
        assert done.stdout == "the host\n", done
