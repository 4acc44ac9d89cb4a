"""The network of a server's boxes: within the key's ceiling, with the tenant's credentials, which only the gateway has."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "gateway"))
from helpers import eventually  # noqa: E402
from servers import Server, sockets_of  # noqa: E402
from test_tls_gateway import SECRET, server as origin  # noqa: E402,F401 pylint: disable=unused-import
from wardens import IS_ROOT, USER_ID  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

RUN, BOXES = "/v1/run", "/v1/sandboxes"
PROXY = "http://127.0.0.1:1000"  # of every box that has a gateway


class Site:
    """A server, keys of two tenants whose ceilings lead to an nginx, and a credential of one of them."""

    def __init__(self, ringfort, who, folder, origin):  # pylint: disable=redefined-outer-name
        self.origin, self.server = origin, Server(ringfort, who, folder)
        self.hosts = {"api.test": f"127.0.0.1:{origin.port}", "other.test": f"127.0.0.1:{origin.port}",
                      "plain.test": f"127.0.0.1:{origin.plain}"}
        self.who, self.folder, self.count = who, pathlib.Path(folder), 0
        self.key = self.make_key("one", ["api.test:*", "plain.test:*"])
        self.other = self.make_key("two", ["api.test:*", "plain.test:*", "other.test:*"])
        done = self.server.run("credential", "set", "--tenant", "one", "github", f"hosts=api.test:{origin.port}", "env=GH_TOKEN",
                               input=SECRET + "\n")
        assert done.returncode == 0, done.stderr

    def make_key(self, tenant, allow, **network):
        path = self.folder / f"ceiling-{self.count}.yaml"
        self.count += 1
        path.write_text(json.dumps({"files": {"current": "none"}, "limits": {"time": "1h"}, "network": {
            "allow": allow, "hosts": self.hosts, "roots": [str(self.origin.root)], **network}}))
        if IS_ROOT and self.who == "user":
            os.chown(path, USER_ID, USER_ID)
        path.chmod(0o600)
        return self.server.make_key("--tenant", tenant, "--ceiling", str(path))

    def policy(self, *allow, **network):
        return {"network": {"allow": list(allow) or ["GET,POST api.test:*/**"], "roots": [str(self.origin.root)], **network}}

    def url(self, name, path="/"):
        return f"http://{name}:{self.origin.plain}{path}" if name == "plain.test" else f"https://{name}:{self.origin.port}{path}"

    def run(self, *argv, allow=(), key=None, network=None, **more):
        return self.server.post(RUN, {"argv": list(argv), "policy": self.policy(*allow, **(network or {})), **more},
                                key=key or self.key, timeout=60)

    def gateways(self):
        """Those that the clerk has started, by who is at the other end of its sockets."""
        peers = {}
        for line in subprocess.run(["ss", "-xaH"], capture_output=True, text=True, check=True).stdout.splitlines():
            words = line.split()
            if words[0] == "u_seq" and len(words) >= 8:
                peers[f"socket:[{words[5]}]"] = f"socket:[{words[7]}]"
        found = {}
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                name = (path / "cmdline").read_bytes().split(b"\0")
                if os.path.basename(name[0]) in (b"ringfort-gateway", b"ringfort-clerk", b"ringfort-serve"):
                    found.setdefault(os.path.basename(name[0]).decode(), {})[int(path.name)] = sockets_of(path.name)
        ours = sockets_of(self.server.pid)

        def are_joined(one, two):
            return any(peers.get(end) in two for end in one)

        clerks = [ends for ends in found.get("ringfort-clerk", {}).values() if are_joined(ends, ours)]
        return [pid for pid, ends in found.get("ringfort-gateway", {}).items() if any(are_joined(ends, clerk) for clerk in clerks)]


@pytest.fixture(scope="module")
def sites(ringfort, public, origin):  # noqa: F811
    made = {}
    yield lambda who: made.get(who) or made.setdefault(who, Site(ringfort, who, public / f"network-{who}", origin))
    for site in made.values():
        site.server.close()


@pytest.fixture
def site(sites, as_who):
    return sites(as_who)


@pytest.fixture
def box(site):
    made = site.server.post(BOXES, {"policy": site.policy("plain.test:*", "api.test:*"), "credentials": ["github"]}, key=site.key)
    assert made.status == 201, made.body
    yield f"{BOXES}/{made.json['id']}"
    site.server.delete(f"{BOXES}/{made.json['id']}", key=site.key)


def curl(site, box, name, path="/", **more):
    """The status, or 0, and what came."""
    done = site.server.post(f"{box}/exec", {"argv": ["curl", "-sS", "-m", "20", "-w", "\n%{http_code}", site.url(name, path)]},
                            key=site.key, timeout=60, **more)
    assert done.status == 200, done.body
    body, _, status = done.json["stdout"].rpartition("\n")
    return int(status or 0), body


# --- runs ---

def test_a_run_reaches_what_its_policy_and_the_ceiling_allow(site):
    done = site.run("curl", "-sS", site.url("plain.test"), allow=["plain.test:*"])
    assert done.status == 200 and (done.json["status"], done.json["stdout"]) == ("ok", "plain\n"), done.body
    assert done.json["denials"] == []
    done = site.run("curl", "-sS", site.url("api.test", "/x"))
    assert done.json["stdout"] == "hello GET /x\n", done.body


@pytest.mark.parametrize("name", ["evil.test", "other.test"])
def test_what_the_policy_or_the_ceiling_does_not_allow_is_refused_and_told(site, name):
    """The ceiling has no other.test, whatever the request says: who names it is refused, or has the rest."""
    rules = ["other.test:*", "plain.test:*"]
    refused = site.run("curl", "-sS", "-x", PROXY, f"http://{name}:{site.origin.plain}/", allow=rules)
    error = refused.json["error"]
    assert (refused.status, error["where"]) == (403, "policy.network.allow") and "other.test:*" in error["message"], refused.body
    assert "network.allow: api.test:*, plain.test:*" in error["message"], error
    done = site.run("curl", "-sS", "-x", PROXY, f"http://{name}:{site.origin.plain}/", allow=rules, beyond="drop")
    assert done.status == 200 and done.json["beyond_ceiling"] == ["network.allow: other.test:*"], done.body
    error = json.loads(done.json["stdout"])["error"]
    assert error["code"] == "network_denied" and error["remedy"].startswith("network.allow:")
    assert [(one["kind"], one["remedy"]) for one in done.json["denials"]] == [("network", error["remedy"])]
    done = site.run("curl", "-sS", f"http://{name}:{site.origin.plain}/", allow=rules, beyond="drop")
    assert "Could not resolve" in done.json["stderr"] and done.json["denials"], done.body


def test_a_credential_is_added_outside_and_is_nowhere_inside(site):
    before = len(site.origin.log())
    done = site.run("sh", "-c", f"""
        curl -sS {site.url("api.test", "/echo")}; curl -sS -H "X-Key: $GH_TOKEN" {site.url("api.test", "/echo")}
        env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; cat /etc/ringfort/ca.pem
    """, credentials=["github"])
    assert done.status == 200 and done.json["status"] == "ok", done.body
    asked = site.origin.log()[before:]
    assert asked[0]["auth"] == f"Bearer {SECRET}"
    token = re.search(r"^GH_TOKEN=(.+)$", done.json["stdout"], re.M).group(1)
    assert token != SECRET and len(token) == len(SECRET)
    assert SECRET not in done.body.decode() and SECRET[4:30] not in done.body.decode()


@pytest.mark.skipif(not IS_ROOT, reason="needs root, to look into memory")
def test_a_credentials_value_is_in_no_process_that_reads_what_strangers_send(site, box):
    assert curl(site, box, "api.test", "/echo")[0] == 200
    processes = site.server.children()
    for name in ("ringfort-front", "ringfort-warden"):
        for pid in processes[name]:
            assert SECRET.encode() not in memory_of(pid), name
    assert any(SECRET.encode() in memory_of(pid) for pid in site.gateways())  # the look finds what is there


def memory_of(pid):
    found = b""
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            begin, end = (int(word, 16) for word in line.split()[0].split("-"))
            if "r" in line.split()[1] and end - begin < 1 << 28:
                with contextlib.suppress(OSError, ValueError, OverflowError):
                    memory.seek(begin)
                    found += memory.read(end - begin)
    return found


@pytest.mark.parametrize("body,status,where,words,remedy", [
    ({"credentials": ["none"]}, 422, None, "this key's tenant has no `none`", "ringfort credential set --tenant one none"),
    ({"credentials": ["a/../b"]}, 422, None, "is not the name of a credential", "1 to 32 letters"),
    ({"policy": {"network": {"allow": ["api.test"]}, "credentials": {"x": {"from": "env:HOME", "hosts": ["api.test"]}}}},
     422, "policy.credentials", "has none of this machine's", "ringfort credential set"),
    ({"policy": {"network": {"allow": ["api.test"]}, "credentials": {"x": {"from": "file:/etc/passwd", "hosts": ["api.test"]}}}},
     422, "policy.credentials", "has none of this machine's", "ringfort credential set"),
    ({"policy": {}, "credentials": ["github"]}, 422, "credentials", "the policy has no network", "policy.network.allow"),
    ({"policy": {"network": {"allow": ["plain.test:*"]}}, "credentials": ["github"]}, 422, None,
     "credentials.github: no rule of network.allow leads to api.test:", "policy.network.allow, within the ceiling of this key"),
    ({"policy": {}, "needs": {"network": True}}, 422, "needs.network", "the policy has no network", "policy.network.allow"),
    ({"policy": {"network": {"allow": ["api.test"], "publish": ["8080:80"]}}}, 403, "policy.network.publish", "network.publish: nothing", "leave it out"),
])
def test_what_can_not_be_had_is_refused_before_anything_runs(site, body, status, where, words, remedy):
    for path, more in ((RUN, {"argv": ["true"]}), (BOXES, {})):
        done = site.server.post(path, {"policy": site.policy(), **more, **body}, key=site.key)
        error = done.json["error"]
        assert (done.status, error["where"]) == (status, where) and words in error["message"] and remedy in error["remedy"], done.body


def figures(text):
    return {line.split("{")[1].split("}")[0] for line in text.splitlines() if line.startswith("ringfort_credential_uses_total{")}


def test_a_credential_of_several_hosts_needs_a_rule_for_one_of_them(site):
    done = site.server.run("credential", "set", "--tenant", "one", "several", f"hosts=api.test:{site.origin.port},other.example", "env=RF_TOKEN", input=SECRET + "\n")
    assert done.returncode == 0, done.stderr
    try:
        done = site.run("sh", "-c", "test -n \"$RF_TOKEN\" && echo there", allow=["api.test:*"], credentials=["several"])
        assert done.status == 200 and done.json["stdout"] == "there\n", done.body
        done = site.run("true", allow=["plain.test:*"], credentials=["several"])
        assert done.status == 422 and "credentials.several: no rule of network.allow leads to" in done.json["error"]["message"], done.body
    finally:
        site.server.run("credential", "rm", "--tenant", "one", "several")


def test_figures_of_credentials_are_the_tenants_own(site):
    """Both call theirs the same; each admin key sees its own, and the machine's figures; the operator sees all."""
    for tenant in ("red", "blue"):
        done = site.server.run("credential", "set", "--tenant", tenant, "github", f"hosts=api.test:{site.origin.port}", input=SECRET + "\n")
        assert done.returncode == 0, done.stderr
        key = site.make_key(tenant, ["api.test:*"])
        done = site.run("curl", "-s", site.url("api.test"), credentials=["github"], key=key)
        assert done.json["exit_code"] == 0, done.body
    keys = [site.server.make_key("--tenant", tenant, "--scope=admin") for tenant in ("red", "blue", "green")]
    one, two = (f'credential="{tenant}/github",decision="allow"' for tenant in ("red", "blue"))

    def seen(key):
        answer = site.server.get("/metrics", key=key)
        assert answer.status == 200 and b"\nringfort_runs_total{" in answer.body and b"ringfort_starts_total" in answer.body
        return figures(answer.body.decode())
    assert eventually(lambda: one in seen(keys[0]) and two in seen(keys[1]), 10)
    assert seen(keys[0]) == {one} and seen(keys[1]) == {two} and seen(keys[2]) == set()
    local = site.server.local("print(ask('GET', '/metrics')[1].decode())")
    assert {one, two} <= figures(local.stdout), local.stderr


def test_boxes_with_rules_of_their_own_have_a_most(site):
    """Each set takes memory of its tenant's gateway; the same rules count once, and who is beyond the most is told so."""
    made, refused = [], None
    key = site.make_key("masks", ["api.test:*"])
    try:
        for number in range(40):
            answer = site.server.post(BOXES, {"policy": site.policy(mask=[f"number-{number}-[0-9]{{4}}"])}, key=key, timeout=60)
            if answer.status != 201:
                refused = answer
                break
            made.append(answer.json["id"])
        assert len(made) == 32 and refused.status == 429, (len(made), refused and refused.body)
        assert "sets of rules" in refused.json["error"]["message"] and "count once" in refused.json["error"]["remedy"]
        same = site.server.post(BOXES, {"policy": site.policy(mask=["number-3-[0-9]{4}"])}, key=key)
        assert same.status == 201, same.body
        made.append(same.json["id"])
        assert site.run("true", network={"mask": ["another"]}).json["exit_code"] == 0, "another tenant has its own"
    finally:
        for box in made:
            site.server.delete(f"{BOXES}/{box}", key=key)


def test_another_tenants_credential_is_not_there(site):
    done = site.run("true", credentials=["github"], key=site.other)
    assert done.status == 422 and "this key's tenant has no `github`" in done.json["error"]["message"], done.body


def test_a_ceiling_without_network_says_so_and_what_helps(site):
    plain = site.server.make_key("--tenant", "three")
    for path, more in ((RUN, {"argv": ["true"]}), (BOXES, {})):
        done = site.server.post(path, {"policy": site.policy(), **more}, key=plain)
        error = done.json["error"]
        assert done.status == 403 and error["code"] == "refused", done.body
        assert re.search(r"ceiling of key [0-9a-f]{12}, which allows no network", error["message"])
        assert error["where"] == "policy.network.allow" and "ringfort key create --ceiling" in error["remedy"]
        done = site.server.post(path, {"policy": site.policy(), "beyond": "drop", **more}, key=plain)
        assert done.status == (200 if path == RUN else 201), done.body
        assert any(one.startswith("network.allow: GET,POST api.test") for one in done.json["beyond_ceiling"]), done.body


def test_a_need_for_a_network_is_met_or_refused(site):
    done = site.run("curl", "-sS", site.url("plain.test"), allow=["plain.test:*"], needs={"network": True})
    assert done.json["stdout"] == "plain\n", done.body


def test_what_nobody_may_reach_stays_out_of_reach_under_any_ceiling(site):
    """Everything that is public: not this machine, not its neighbours, not a cloud's metadata."""
    wide = site.make_key("wide", [], mode="open")
    for place in (f"127.0.0.1:{site.origin.plain}", "169.254.169.254", "10.0.0.1", f"localhost:{site.origin.plain}"):
        done = site.run("curl", "-sS", "-m", "20", "-o", "/dev/null", "-w", "%{http_code}", "--noproxy", "", "-x", PROXY, f"http://{place}/",
                        network={"mode": "open"}, key=wide)
        assert done.status == 200 and done.json["stdout"] == "403", (place, done.body)


def test_clients_on_the_unix_socket_have_a_network_where_they_ask_for_one(site):
    said = site.server.local(f"""
        for policy in ({{"network": {{"allow": ["api.test"]}}}}, {{"network": {{"mode": "open"}}}}, {{}}):
            status, body = ask("POST", "/v1/run", {{"argv": ["curl", "-sS", "-m", "20", "-x", {PROXY!r},
                                                           "http://127.0.0.1:{site.origin.plain}/"], "policy": policy}})
            print(status, json.loads(body)["stdout"][:40].strip() or "nothing")
    """.replace("\n        ", "\n"))
    lines = said.stdout.splitlines()
    assert [line.split(" ", 1)[0] for line in lines] == ["200"] * 3, said
    assert '"error"' in lines[0] and '"error"' in lines[1] and lines[2] == "200 nothing"


# --- sandboxes ---

def test_a_sandboxs_network_is_shown_changed_and_bounded_by_the_ceiling(site, box):
    shown = site.server.get(f"{box}/network", key=site.key).json
    assert (sorted(shown["network"]["allow"]), shown["credentials"]) == (["api.test:*", "plain.test:*"], ["github"])
    assert curl(site, box, "plain.test")[0] == 200

    less = site.server.put(f"{box}/network", {"network": {"allow": ["api.test:*"]}}, key=site.key)
    assert less.status == 200 and less.json["network"]["allow"] == ["api.test:*"] and less.json["beyond_ceiling"] == [], less.body
    assert curl(site, box, "plain.test")[0] in (0, 403) and curl(site, box, "api.test")[0] == 200

    wide = {"network": {"allow": ["api.test:*", "plain.test:*", "other.test:*"]}}
    refused = site.server.put(f"{box}/network", wide, key=site.key)
    error = refused.json["error"]
    assert (refused.status, error["code"], error["where"]) == (403, "refused", "network.allow"), refused.body
    assert "other.test:*" in error["message"] and "api.test:*, plain.test:*" in error["message"] and "drop" in error["remedy"], error
    assert site.server.get(f"{box}/network", key=site.key).json["network"]["allow"] == ["api.test:*"]  # nothing has changed
    open_ = site.server.put(f"{box}/network", {"network": {"mode": "open"}}, key=site.key)
    assert (open_.status, open_.json["error"]["where"]) == (403, "network.mode"), open_.body
    assert site.server.put(f"{box}/network", {**wide, "beyond": "odd"}, key=site.key).json["error"]["where"] == "beyond"
    more = site.server.put(f"{box}/network", {**wide, "beyond": "drop"}, key=site.key)
    assert more.json["network"]["allow"] == ["api.test:*", "plain.test:*"] and more.json["beyond_ceiling"] == ["network.allow: other.test:*"]
    assert more.json["credentials"] == ["github"]
    assert curl(site, box, "plain.test")[0] == 200 and curl(site, box, "other.test")[0] in (0, 403)
    again = site.server.put(f"{box}/network", {"network": shown["network"]}, key=site.key)  # what was shown can be asked for
    assert again.status == 200 and again.json["network"]["allow"] == shown["network"]["allow"], again.body


def test_an_agents_network_is_its_policys_and_stays_so_when_the_rules_are_changed(site):
    """The ceiling has api.test besides; a request that says nothing has what the agent has, and no hand on the box has more."""
    name = f"net-{site.who}"
    made = site.server.post("/v1/agents", {"name": name, "timeout": 120, "policy": {"network": {"allow": ["plain.test:*"]}}}, key=site.key)
    assert made.status == 201, made.body

    def run(**more):
        done = site.server.post(RUN, {"argv": ["curl", "-sS", site.url("plain.test")], "agent": name, **more}, key=site.key, timeout=60)
        assert done.status == 200, done.body
        return done.json["stdout"]

    assert run() == "plain\n" and run(policy={"network": "none"}) == ""
    for more in ({"agent": name}, {}):  # by its name in the policy alone, too
        body = {**more, "policy": {"agent": name, **site.policy("plain.test:*", "api.test:*")}}
        refused = site.server.post(BOXES, body, key=site.key)
        error = refused.json["error"]
        assert (refused.status, error["where"]) == (403, "policy.network.allow") and f"agent {name}" in error["message"], refused.body
        box = site.server.post(BOXES, {**body, "beyond": "drop"}, key=site.key)
        assert box.status == 201 and box.json["beyond_ceiling"] == ["network.allow: api.test:*", f"network.roots: {site.origin.root}"], box.body
        path = f"{BOXES}/{box.json['id']}"
        assert curl(site, path, "plain.test") == (200, "plain\n") and curl(site, path, "api.test")[0] != 200
        wide = {"network": {"allow": ["plain.test:*", "api.test:*"]}}
        assert site.server.put(f"{path}/network", wide, key=site.key).status == 403
        wide = site.server.put(f"{path}/network", {**wide, "beyond": "drop"}, key=site.key)
        assert wide.status == 200 and wide.json["network"]["allow"] == ["plain.test:*"], wide.body
        assert wide.json["beyond_ceiling"] == ["network.allow: api.test:*"] and curl(site, path, "api.test")[0] != 200
        site.server.delete(path, key=site.key)
    assert site.server.delete(f"/v1/agents/{name}", key=site.key).status == 204


@pytest.mark.parametrize("body,status", [
    ({}, 422), ({"network": {"allow": ["a b"]}}, 422), ({"network": {"filter": "off"}}, 422), ({"network": {"odd": 1}}, 422),
    ({"network": "host"}, 422), ({"network": {"allow": []}, "files": {}}, 422)])
def test_a_change_that_is_none_is_refused_and_nothing_changes(site, box, body, status):
    before = site.server.get(f"{box}/network", key=site.key).json
    done = site.server.put(f"{box}/network", body, key=site.key)
    assert done.status == status, done.body
    assert site.server.get(f"{box}/network", key=site.key).json == before


def test_what_the_network_did_is_read_by_a_cursor_and_summed_up(site, box):
    log = f"{box}/network/log"
    assert curl(site, box, "api.test", "/first")[0] == 200

    def find(cursor, path):
        page = site.server.get(f"{log}?cursor={cursor}", key=site.key).json
        found = [one for one in page["events"] if one["kind"] == "request" and one["path"] == path]
        return found and (found[0], page)

    event, page = eventually(lambda: find(0, "/first"))
    assert (event["verdict"], event["host"], event["method"], event["status"], event["port"]) == \
        ("allowed", "api.test", "GET", 200, site.origin.port)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["time"]) and event["credential"] in (None, "github")
    assert curl(site, box, "api.test", "/second")[0] == 200
    _, later = eventually(lambda: find(page["cursor"], "/second"))
    assert not [one for one in later["events"] if one["path"] == "/first"] and later["lost"] == 0
    curl(site, box, "other.test")
    sums = eventually(lambda: (lambda one: one if one["denied"] else None)(site.server.get(f"{box}/network/summary", key=site.key).json))
    hosts = {one["host"]: one for one in sums["hosts"]}
    assert hosts["api.test"]["requests"] == 2 and hosts["api.test"]["bytes_down"] > 0 and hosts["other.test"]["denied"] >= 1
    assert sums["requests"] >= 2
    assert SECRET not in json.dumps([page, later, sums])


def test_another_tenant_does_not_see_a_sandboxs_network(site, box):
    for method, path in (("GET", "network"), ("PUT", "network"), ("GET", "network/log"), ("GET", "network/summary")):
        body = {"network": {"allow": []}} if method == "PUT" else None
        assert site.server.ask(method, f"{box}/{path}", body, key=site.other).status == 404
        assert site.server.ask(method, f"{BOXES}/nobody/{path}", body, key=site.key).status == 404
    assert curl(site, box, "plain.test")[0] == 200


def test_a_sandbox_without_network_has_none_to_show(site):
    made = site.server.post(BOXES, {}, key=site.key)
    path = f"{BOXES}/{made.json['id']}"
    for part in ("network", "network/log", "network/summary"):
        done = site.server.get(f"{path}/{part}", key=site.key)
        assert done.status == 409 and "has no network" in done.json["error"]["message"], done.body
    assert site.server.delete(path, key=site.key).status == 204


def test_a_gateway_that_is_killed_takes_networks_along_opens_nothing_and_is_followed_by_another(ringfort, as_who, public, origin):  # noqa: F811
    folder = public / f"fallen-{as_who}-{time.monotonic_ns()}"
    site = Site(ringfort, as_who, folder, origin)  # pylint: disable=redefined-outer-name
    with site.server:
        made = site.server.post(BOXES, {"policy": site.policy("plain.test:*")}, key=site.key)
        assert made.status == 201, made.body
        box = f"{BOXES}/{made.json['id']}"  # pylint: disable=redefined-outer-name
        assert curl(site, box, "plain.test")[0] == 200
        gateways = site.gateways()
        assert len(gateways) == 1
        os.kill(gateways[0], signal.SIGKILL)
        eventually(lambda: curl(site, box, "plain.test")[0] == 0)
        done = eventually(lambda: (lambda one: one if one.status == 409 else None)(site.server.get(f"{box}/network", key=site.key)))
        assert "gateway" in done.json["error"]["message"], done.body
        assert site.run("curl", "-sS", site.url("plain.test"), allow=["plain.test:*"]).json["stdout"] == "plain\n"
        assert curl(site, box, "plain.test")[0] == 0
        assert len(site.gateways()) == 1


def test_tenants_have_a_gateway_each(ringfort, as_who, public, origin):  # noqa: F811
    folder = public / f"apart-{as_who}-{time.monotonic_ns()}"
    site = Site(ringfort, as_who, folder, origin)  # pylint: disable=redefined-outer-name
    with site.server:
        for key in (site.key, site.other, site.key):
            assert site.run("curl", "-sS", site.url("plain.test"), allow=["plain.test:*"], key=key).json["stdout"] == "plain\n"
        gateways = site.gateways()
        assert len(gateways) == 2
    eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in gateways))  # and they end with the server
