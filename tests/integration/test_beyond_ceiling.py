"""What a request names beyond a ceiling is refused, with its field and the ceiling's rule, or narrowed and listed: every key of the policy, on every way in."""
import json
import pathlib
import subprocess
import sys
import tempfile
import textwrap

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server  # noqa: E402
from wardens import Warden  # noqa: E402

from test_mcp import Pipe, use  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

RUN, BOXES, AGENTS = "/v1/run", "/v1/sandboxes", "/v1/agents"

# For every key: what the ceiling says, what a request names beyond that, and how it is told.
KEYS = {
    "isolation": ("process", "auto", "auto"),
    "weaker": ("refuse", "allow", "allow"),
    "syscalls": ("strict", "default", "default"),
    "limits.memory": ("64M", "2G", "2G"),
    "limits.cpu": ("100%", "200%", "200%"),
    "limits.cpu_time": ("20s", "40s", "40s"),
    "limits.time": ("20s", "40s", "40s"),
    "limits.pids": (64, 65, "65"),
    "limits.open_files": (512, 513, "513"),
    "limits.file_size": ("8M", "9M", "9M"),
    "limits.disk": ("8M", "9M", "9M"),
    "limits.inodes": (1000, 1001, "1001"),
    "limits.output": ("1M", "2M", "2M"),
    "limits.require": (None, None, None),  # no looser than the default: see below
    "files.read": (["/opt/a"], ["/opt/a/b", "/opt/c"], "/opt/c"),
    "files.write": (["/opt/w"], ["/opt/a"], "/opt/a"),
    "files.current": ("none", "read", "read"),
    "files.credentials": ("hide", "show", "show"),
    "files.attributes": ("refuse", "keep", "keep"),
    "env.pass": (["RF_A"], ["RF_A", "RF_B"], "RF_B"),
    "env.set": ({"RF_C": "d"}, {"RF_C": "e"}, "RF_C"),
    "network.link": ("gateway", "host", "host"),
    "network.loopback": ("off", "on", "on"),
    "network.unix": ("off", "on", "on"),
    "network.mode": ("enforce", "open", "open"),
    "network.allow": (["*.test:443"], ["a.test:443", "b.example:443"], "b.example:443"),
    "network.hosts": ({"a.test": "192.0.2.1"}, {"a.test": "192.0.2.2"}, "a.test"),
    "network.publish": (None, [8080], "8080"),
    "network.filter": ("on", "off", "off"),
    "network.roots": (None, ["/etc/b.pem"], "/etc/b.pem"),
    "network.writes": ("hold", "pass", "pass"),
    "network.connections": (5, 6, "6"),
    "network.pending": (5, 6, "6"),
    "network.rate": ("5/s", "6/s", "6/s"),
    "network.bandwidth": ("1M", "2M", "2M"),
    "network.bandwidth_up": ("1M", "2M", "2M"),
    "network.bandwidth_down": ("1M", "2M", "2M"),
    "network.request_size": ("1M", "2M", "2M"),
    "network.response_size": ("1M", "2M", "2M"),
    "network.connect_time": ("5s", "6s", "6s"),
    "network.idle_time": ("5s", "6s", "6s"),
    "network.total_time": ("5s", "6s", "6s"),
    "network.approval_time": ("5s", "6s", "6s"),
    "commands": (["true", "sh"], ["true", "git"], "git"),
    "audit": ("auto", "off", "off"),
    "breaker.counts": ("failures", "limits", "limits"),
    "breaker.failures": (50, 60, "60"),
    "breaker.rate": ("50%", "60%", "60%"),
    "breaker.of": (50, 60, "60"),
    "breaker.within": ("6m", "5m", "5m"),
    "breaker.open": ("6m", "5m", "5m"),
    **{f"budgets.{what}_per_{per}": (1000, 1001, "1001") for what in ("runs", "denials", "timeouts", "requests", "money") for per in ("hour", "day")},
    **{f"budgets.cpu_per_{per}": ("50m", "51m", "51m") for per in ("hour", "day")},
    **{f"budgets.bytes_per_{per}": ("1G", "2G", "2G") for per in ("hour", "day")},
    "alarms.forks": (5000, 6000, "6000"),
    "alarms.writes": ("1G", "2G", "2G"),
    "alarms.on_forks": ("kill", "freeze", "freeze"),
    "alarms.on_writes": ("kill", "freeze", "freeze"),
    "alarms.breaker": ("on", "off", "off"),
    "alarms.rollback": ("on", "off", "off"),
}
# What no request can be beyond: a matter of taste, or one more of it takes away.  `extends` names profiles, whose content nobody asked for; `agent` and `credentials` have tests of their own.
NEVER = {"version", "extends", "hostname", "workdir", "seccomp", "files.deny", "files.canaries", "network.deny", "network.mask", "final"}
OWN = {"agent", "credentials"}
TRIED = [key for key, (_, beyond, _) in KEYS.items() if beyond is not None]


def put(policy, key, value):
    section, _, name = key.rpartition(".")
    (policy.setdefault(section, {}) if section else policy)[name] = value
    return policy


def asking(key, agent="counted"):
    """A policy that names it.  What counts for an agent needs one."""
    policy = put({}, key, KEYS[key][1])
    return {**policy, "agent": agent} if agent and key.partition(".")[0] in ("breaker", "budgets", "alarms") else policy


def group_of(key):
    """Keys that can stand in one ceiling: a gateway needs loopback, and what counts for an agent stands for itself."""
    section = key.partition(".")[0]
    return "loopback" if key == "network.loopback" else "agent" if section in ("breaker", "budgets", "alarms") else "network" if section == "network" else "plain"


GROUPS = sorted({group_of(key) for key in TRIED})


def ceiling(group):
    policy = {"version": 1, "files": {"current": "none"}}
    for key, (most, _, _) in KEYS.items():
        if most is not None and group_of(key) == group:
            put(policy, key, most)
    return policy


def wide(group):
    """What allows all that the rows ask for, so that an agent's policy alone bounds them."""
    policy = {"version": 1}
    for key, (most, beyond, _) in KEYS.items():
        if group_of(key) != group or beyond is None or key in ("network.link", "network.publish", "network.hosts", "files.read", "files.write", "env.pass", "env.set"):
            continue
        put(policy, key, [*(most or []), *beyond] if isinstance(beyond, list) else beyond)
    return put(put(policy, "files.write", ["/opt"]), "env.pass", ["RF_A", "RF_B", "RF_C"])


@pytest.fixture(scope="module")
def standing(ringfort, public):
    found = {}
    yield lambda who: found.get(who) or found.setdefault(who, Server(ringfort, who, public / f"beyond-{who}"))
    for server in found.values():
        server.close()


@pytest.fixture
def server(standing, as_who):
    return standing(as_who)


def make_key(server, policy, name, *options):
    path = pathlib.Path(server.runtime) / f"{name}.yaml"
    path.write_text(json.dumps(policy))
    path.chmod(0o644)
    return server.make_key("--ceiling", str(path), *options)


@pytest.fixture(scope="module")
def keys(standing):
    """For each group one with the ceiling of its rows, and one whose ceiling is wide."""
    made = {}

    def of(who):
        if who not in made:
            server = standing(who)
            made[who] = {group: (make_key(server, ceiling(group), group, "--tenant", "rows"), make_key(server, wide(group), f"wide-{group}", "--tenant", "rows"))
                         for group in GROUPS}
        return made[who]

    return of


def test_every_key_of_the_policy_has_a_row(ringfort):
    """Whoever adds a key says here what is beyond a ceiling of it."""
    known = json.loads(subprocess.run([ringfort, "policy", "schema"], capture_output=True, text=True, check=True).stdout)["properties"]
    names = set()
    for name, said in known.items():
        beneath = [one["properties"] for one in (said, *said.get("anyOf", [])) if "properties" in one]
        names |= {f"{name}.{one}" for part in beneath for one in part} if beneath else {name}
    assert names == set(KEYS) | NEVER | OWN


@pytest.mark.parametrize("key", TRIED)
def test_what_is_named_beyond_is_refused_or_listed(server, keys, as_who, key):
    mine, _ = keys(as_who)[group_of(key)]
    policy, told = asking(key), KEYS[key][2]
    for path, more in ((RUN, {"argv": ["true"]}), (BOXES, {}), (AGENTS, {"name": "never"})):
        refused = server.post(path, {**more, "policy": asking(key, more.get("name", "counted"))}, key=mine)
        error = refused.json["error"]
        assert (refused.status, error["code"], error["where"]) == (403, "refused", f"policy.{key}"), (path, refused.body)
        assert told in error["message"] and "the ceiling of key" in error["message"] and '"beyond": "drop"' in error["remedy"], error
    assert server.get(f"{AGENTS}/never", key=mine).status == 404
    done = server.post(RUN, {"argv": ["true"], "policy": policy, "beyond": "drop"}, key=mine)
    assert done.status == 200 and [one.split(":")[0] for one in done.json["beyond_ceiling"]] == [key], done.body
    assert told in done.json["beyond_ceiling"][0], done.body


def test_what_is_left_of_sandboxes_and_agents_is_listed_too(server, keys, as_who):
    mine, _ = keys(as_who)["plain"]
    body = {"limits": {"memory": "2G", "pids": 10}, "timeout": 40, "policy": {"files": {"read": ["/opt/c"]}}, "beyond": "drop"}
    listed = ["limits.memory: 2G", "limits.time: 40s", "files.read: /opt/c"]
    box = server.post(BOXES, body, key=mine)
    assert box.status == 201 and box.json["beyond_ceiling"] == listed and box.json["expires_in_ms"] <= 20000, box.body
    assert "beyond_ceiling" not in server.get(f"{BOXES}/{box.json['id']}", key=mine).json
    server.delete(f"{BOXES}/{box.json['id']}", key=mine)
    agent = server.post(AGENTS, {"name": "less", **body}, key=mine)
    assert agent.status == 201 and agent.json["beyond_ceiling"] == listed, agent.body
    assert agent.json["policy"]["limits"]["memory"] == "64M", agent.body
    again = server.ask("PUT", f"{AGENTS}/less", {"name": "less", **body}, key=mine)
    assert again.status == 200 and again.json["beyond_ceiling"] == listed, again.body
    assert server.ask("PUT", f"{AGENTS}/less", {"name": "less", "limits": {"memory": "2G"}}, key=mine).json["error"]["where"] == "limits.memory"
    assert server.delete(f"{AGENTS}/less", key=mine).status == 204
    # Streams tell it last; bytes alone have no place for it.
    stream = server.post(RUN, {"argv": ["true"], **body}, key=mine, headers={"Accept": "text/event-stream"})
    assert stream.events[-1][1]["beyond_ceiling"] == listed, stream.body
    raw = server.post(RUN, {"argv": ["true"], **body}, key=mine, headers={"Accept": "application/octet-stream"})
    assert (raw.status, raw.json["error"]["where"]) == (422, "beyond"), raw.body


@pytest.mark.parametrize("key", [key for key in TRIED if key not in ("network.link", "network.publish", "network.hosts", "network.roots")])
def test_what_is_beyond_an_agents_policy_is_refused_or_listed(server, keys, as_who, key):
    """The key's ceiling allows it."""
    _, other = keys(as_who)[group_of(key)]
    name = f"rows-{group_of(key)}"
    if server.get(f"{AGENTS}/{name}", key=other).status == 404:
        own = ceiling(group_of(key))
        own.get("network", {}).pop("hosts", None)
        made = server.post(AGENTS, {"name": name, "policy": own}, key=other)
        assert made.status == 201, made.body
    policy, told = asking(key, None), KEYS[key][2]
    for more in ({"agent": name, "policy": policy}, {"policy": {"agent": name, **policy}}):
        refused = server.post(RUN, {"argv": ["true"], **more}, key=other)
        error = refused.json["error"]
        assert (refused.status, error["where"]) == (403, f"policy.{key}") and f"the policy of agent {name}" in error["message"], refused.body
        done = server.post(RUN, {"argv": ["true"], "beyond": "drop", **more}, key=other)
        assert done.status == 200 and [one.split(":")[0] for one in done.json["beyond_ceiling"]] == [key], done.body
        assert told in done.json["beyond_ceiling"][0], done.body


def test_an_agent_that_a_ceiling_names_is_no_other(server):
    own = make_key(server, {"version": 1, "files": {"current": "none"}, "agent": "one"}, "one")
    refused = server.post(RUN, {"argv": ["true"], "policy": {"agent": "two"}}, key=own)
    assert (refused.status, refused.json["error"]["where"]) == (403, "policy.agent") and "agent: one" in refused.json["error"]["message"], refused.body
    assert server.post(RUN, {"argv": ["true"], "policy": {"agent": "one"}}, key=own).status == 200


def test_what_nobody_named_is_never_refused(server, keys, as_who):
    """Defaults of the server, a profile, and clients that say nothing or no more than the ceiling."""
    mine, _ = keys(as_who)["plain"]
    for path, body in ((RUN, {"argv": ["true"]}), (RUN, {"argv": ["true"], "profile": "python"}), (RUN, {"argv": ["true"], "outputs": ["a"]}),
                       (RUN, {"argv": ["true"], "timeout": 20, "limits": {"memory": "64M"}, "env": {"RF_B": "x"}, "cwd": "/tmp"}),
                       (RUN, {"argv": ["true"], "policy": {"limits": {"time": "1s"}, "network": "none"}}), (BOXES, {}),
                       (BOXES, {"profile": ["python", "node"]}), (BOXES, {"timeout": 20, "policy": {"hostname": "here"}})):
        done = server.post(path, body, key=mine)
        assert done.status in (200, 201) and "beyond_ceiling" not in done.json, (body, done.body)
        if path == BOXES:
            server.delete(f"{BOXES}/{done.json['id']}", key=mine)


LIMITS = [key for key in TRIED if key.startswith("limits.") and key != "limits.time"]


def check_tool(result, where):
    text = result["content"][0]["text"]
    assert result["isError"] and text.startswith(f"{where}: ") and "the ceiling of key" in text, text
    assert "drop" not in text and "policy." not in text, text  # no tool has such an argument


def test_a_tool_of_mcp_says_what_is_beyond(server, keys, as_who):
    mine, _ = keys(as_who)["plain"]
    for key in LIMITS:
        name = key.partition(".")[2]
        check_tool(use(server, "create_sandbox", key=mine, limits={name: KEYS[key][1]}), key)
    check_tool(use(server, "create_sandbox", key=mine, timeout=40), "timeout")
    check_tool(use(server, "run_command", key=mine, command="true", timeout=40), "timeout")
    check_tool(use(server, "run_code", key=mine, language="sh", code="true", timeout=40), "timeout")
    assert not use(server, "run_command", key=mine, command="true", timeout=20)["isError"]


def test_on_a_pipe_a_tool_says_what_is_beyond_too(server):
    path = pathlib.Path(server.runtime) / "pipe.yaml"
    path.write_text(json.dumps({"version": 1, "limits": ceiling("plain")["limits"], "files": {"current": "none"}}))
    path.chmod(0o644)
    with Pipe(server, options=["--ceiling", str(path)]) as pipe:
        pipe.begin()
        for key in LIMITS:
            check_tool(pipe.use("create_sandbox", limits={key.partition(".")[2]: KEYS[key][1]}), key)
        check_tool(pipe.use("run_command", command="true", timeout=40), "timeout")
        assert not pipe.use("run_command", command="true")["isError"]
    with Pipe(server) as pipe:  # whose own ceiling is large
        pipe.begin()
        check_tool(pipe.use("create_sandbox", limits={"memory": "1T"}), "limits.memory")
        assert not pipe.use("create_sandbox", limits={"memory": "8G"}, timeout=3600)["isError"]


# --- the warden's socket ---

@pytest.fixture(scope="module")
def wardens(ringfort, public):
    found = {}
    yield lambda who: found.get(who) or found.setdefault(who, Warden(ringfort, who, public / f"beyond-warden-{who}"))
    for warden in found.values():
        warden.close()


def test_the_warden_refuses_who_speaks_to_it_directly(wardens, as_who):
    """A connection on terms: refused with the key, unless the errand says that it is to be narrowed.  Without terms nothing is."""
    rows = {key: [json.dumps(asking(key)), json.dumps(ceiling(group_of(key)))] for key in TRIED}
    code = """
        import json
        sock, rows = connect(), json.loads(sys.argv[2])

        def run(line, body):
            with line:
                run = Run(line, body)
                try:
                    kind, _, answer = receive(line)
                    return answer.decode(errors="replace") if kind == REFUSED else "begun"
                finally:
                    run.close()

        print(json.dumps({key: [run(bind(sock, ceiling=ceiling), errand("true", policy=text)),
                                run(bind(sock, ceiling=ceiling), errand("true", policy=text, drops=True))]
                          for key, (text, ceiling) in rows.items()}))
    """
    said = json.loads(wardens(as_who).python(textwrap.dedent(code), json.dumps(rows)))
    assert set(said) == set(TRIED)
    for key, (refused, narrowed) in said.items():
        assert f"{key}: " in refused and "is beyond" in refused, (key, refused)
        assert narrowed == "begun" or "is beyond" not in narrowed and key.startswith("network."), (key, narrowed)  # which needs a gateway


def test_a_link_in_a_tree_of_the_ceiling_tells_nothing_of_the_host(server, public, as_who):
    tree = pathlib.Path(tempfile.mkdtemp(prefix="linked-", dir=public))
    tree.chmod(0o777)
    key, told = make_key(server, {"files": {"current": "none", "write": [str(tree)]}}, f"linked-{as_who}"), set()
    for name, target in (("there", "/usr/bin"), ("away", "/usr/no-such-file")):
        (tree / name).symlink_to(target)
        for path in (tree / name, tree / name / "more"):
            error = server.post(RUN, {"argv": ["true"], "policy": {"files": {"read": [str(path)]}}}, key=key).json["error"]
            told.add(json.dumps(error).replace(str(path), "PATH"))
    assert len(told) == 1 and "PATH leads through a symbolic link" in told.pop(), told


def test_what_an_agents_policy_does_not_have_is_the_agents_to_get(server, as_who):
    key = make_key(server, {"files": {"current": "none"}, "network": {"allow": ["*.test"]}}, f"lent-{as_who}", "--tenant", f"lent-{as_who}")
    assert server.post(AGENTS, {"name": "bot"}, key=key).status == 201
    done = server.post(RUN, {"argv": ["true"], "agent": "bot", "policy": {"network": {"allow": ["a.test"]}}}, key=key)
    assert done.status == 403 and "the policy of agent bot, which allows no network" in done.json["error"]["message"], done.body
    assert "PUT /v1/agents/bot" in done.json["error"]["remedy"] and "key create" not in done.json["error"]["remedy"], done.body
