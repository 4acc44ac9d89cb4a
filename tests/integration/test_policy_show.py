"""What `policy show`, `policy diff` and `policy schema` say: profiles, merged policies, differences, the language."""
import copy
import json
import os
import pathlib
import random
import re

import pytest

pytestmark = pytest.mark.usefixtures("as_who")

ROOT = pathlib.Path(__file__).resolve().parents[2]
IS_ROOT = os.geteuid() == 0
USER_ID = 12345
PROFILES = sorted((ROOT / "src/policy/profiles").glob("*.yaml"))


@pytest.fixture
def put(workdir, as_who):
    def write(name, text):
        path = workdir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        path.chmod(0o644)
        if IS_ROOT and as_who == "user":
            while path != workdir:
                os.chown(path, USER_ID, USER_ID)
                path = path.parent
        return workdir / name

    return write


@pytest.fixture
def config(workdir):
    return {"XDG_CONFIG_HOME": str(workdir / "config")}


# ------------------------------------------------------------- show

@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_built_in_profile_is_shown_as_it_is_written(call, path):
    assert call("policy", "show", path.stem) == (0, path.read_bytes(), b"")
    shown = json.loads(call("policy", "show", path.stem, "--json").out)
    assert shown == {"name": path.stem, "source": "built-in", "path": None, "text": path.read_text()}


def test_the_list_has_every_profile_with_its_summary(call, put, config):
    put("config/ringfort/profiles/team.yaml", "# What we use.\nextends: git\n")
    put("config/ringfort/profiles/broken.yaml", "limit: {}\n")
    put("config/ringfort/profiles/No Name.yaml", "")
    put("config/ringfort/profiles/readme.txt", "")
    done = call("policy", "show", env=config)
    assert done.code == 0 and done.err == b""
    lines = done.out.decode().splitlines()
    assert lines[0] == "built in:" and f"{config['XDG_CONFIG_HOME']}/ringfort/profiles:" in lines
    for path in PROFILES:
        summary = path.read_text().splitlines()[0].lstrip("# ")
        assert len(summary) <= 100 and summary.endswith(".")
        assert any(line.split()[0] == path.stem and line.endswith(summary) for line in lines if line), path
    assert any(re.fullmatch(r"  team +What we use\.", line) for line in lines)
    assert any(re.fullmatch(r"  broken +CAN'T BE USED: limit: unknown key", line) for line in lines)
    listed = json.loads(call("policy", "show", "--json", env=config).out)["profiles"]
    assert {row["name"] for row in listed} == {path.stem for path in PROFILES} | {"team", "broken"}
    assert {row["name"] for row in listed if row["problem"]} == {"broken"}


def test_a_profile_of_ones_own_is_shown_with_where_it_lies(call, put, config):
    path = put("config/ringfort/profiles/team.yaml", "hostname: x")
    assert call("policy", "show", "team", env=config) == (0, f"# {path}\nhostname: x\n".encode(), b"")


def test_options_show_the_one_policy_that_they_come_to(call, put):
    policy = put("p.yaml", "extends: git\nfiles: { read: ['./d:/d'] }\n")
    done = call("policy", "show", "--profile", "python", "--policy", policy, "--memory", "1G", "--json")
    shown = json.loads(done.out)
    assert shown["limits"]["memory"] == "1G" and shown["limits"]["time"] == "5m"
    assert shown["env"]["set"]["MPLBACKEND"] == "Agg" and shown["env"]["set"]["GIT_TERMINAL_PROMPT"] == "0"
    assert shown["files"]["read"] == [f"{policy.parent}/d:/d"] and "extends" not in shown


@pytest.mark.parametrize("notation", [[], ["--json"]], ids=["yaml", "json"])
def test_what_is_shown_is_a_policy_that_comes_to_the_same(call, put, notation):
    options = ["--profile", "agent,offline", "--write", "./out", "--read", "/srv:/a b", "--env", "A=\"'\\\n: #x",
               "--pass", "LANG", "--workdir", "/srv", "--hostname", "h"]
    shown = call("policy", "show", *options, *notation)
    assert shown.code == 0
    put("again.yaml", shown.out.decode())
    assert call("policy", "show", "--policy", "again.yaml", *notation) == shown


@pytest.mark.parametrize("args, words", [
    (["gti"], ["gti", '"git"']), (["../x"], ["--policy"]), (["a", "b"], ["one name"]),
    (["git", "--memory", "1G"], ["--profile git"]), (["--profile", "nix"], ["nix"]), (["--nope"], ["--nope"]),
    (["--policy", "missing.yaml"], ["missing.yaml"])])
def test_what_cannot_be_shown_is_an_error(call, args, words):
    done = call("policy", "show", *args)
    assert done.code == 125 and done.out == b""
    for word in words:
        assert word in done.err.decode()


# ------------------------------------------------------------- diff

def test_a_difference_is_told_and_counts_as_1(call, put):
    put("p.yaml", "extends: python\nnetwork: host\nlimits: { memory: 1G }\n")
    done = call("policy", "diff", "python", "p.yaml")
    assert done == (1, "network.link: none → host (MORE OPEN)\nlimits.memory: 2G → 1G (less)\n"
                       "p.yaml is looser than python in 1 point, and stricter in 1.\n".encode(), b"")
    back = json.loads(call("policy", "diff", "./p.yaml", "python", "--json").out)
    assert [(row["key"], row["b_is"], row["a"], row["b"]) for row in back["changes"]] == [
        ("limits.memory", "looser", "1G", "2G"), ("network.link", "stricter", "host", "none")]


def test_what_allows_the_same_counts_as_0(call, put):
    put("p.yaml", "extends: default\n")
    for pair in (["-", "default"], ["-", "p.yaml"], ["agent", "agent"], ["p.yaml", "-"], ["-", "-"]):
        done = call("policy", "diff", *pair)
        assert done.code == 0 and b"the same" in done.out
    assert json.loads(call("policy", "diff", "--json", "-", "default").out)["same"] is True


@pytest.mark.parametrize("args, word", [
    ([], "two policies"), (["-"], "two policies"), (["-", "-", "-"], "too many"), (["-", "nix"], "nix"),
    (["-", "./missing.yaml"], "missing.yaml"), (["--nope", "-", "-"], "--nope"), (["-", "bad.yaml"], "bad.yaml:1:1")])
def test_what_cannot_be_compared_is_an_error_and_no_difference(call, put, args, word):
    put("bad.yaml", "limit: {}")
    done = call("policy", "diff", *args)
    assert done.code == 125 and done.out == b"" and word in done.err.decode()


def test_strict_is_never_looser_than_another_profile(call):
    for path in PROFILES:
        changes = json.loads(call("policy", "diff", path.stem, "strict", "--json").out)["changes"]
        assert not [row for row in changes if row["b_is"] == "looser"], path.stem


# ------------------------------------------------------------- schema

@pytest.fixture
def schema(call):
    jsonschema = pytest.importorskip("jsonschema", reason="no python3-jsonschema on this machine")
    done = call("policy", "schema")
    assert done.code == 0 and done.err == b""
    schema = json.loads(done.out)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.fixture
def load():
    yaml = pytest.importorskip("yaml", reason="no python3-yaml on this machine")
    return yaml.safe_load


def examples():
    for path in [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]:
        if path.name == "config.md":  # a language of its own
            continue
        for i, text in enumerate(re.findall(r"```yaml\n(.*?)```", path.read_text(), re.S)):
            if text.startswith("# ringfort.yaml"):  # a language of its own, too
                continue
            yield pytest.param(text, id=f"{path.stem}-{i}")


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_every_profile_fits_the_schema(schema, load, path):
    schema.validate(load(path.read_text()))


@pytest.mark.parametrize("text", examples())
def test_every_example_of_the_documentation_fits_the_schema(schema, load, text):
    schema.validate(load(text))


def test_what_show_prints_fits_the_schema(call, schema):
    schema.validate(json.loads(call("policy", "show", "--profile", "agent,strict", "--json").out))


GOOD = [
    {}, None, {"version": 1}, {"version": "1"}, {"network": "none"}, {"network": {"link": "host"}},
    {"network": {"unix": True, "loopback": "off"}}, {"limits": {"memory": 64 * 1024 * 1024}},
    {"limits": {"memory": "1.5G", "pids": 9, "open_files": "64", "cpu": "50%", "time": "1m30s", "output": "none"}},
    {"limits": {"time": "500ms", "cpu_time": "1.5h", "disk": "64MiB", "inodes": 64, "file_size": "4k"}},
    {"extends": "python"}, {"extends": ["python", "./x.yaml"]}, {"extends": []}, {"extends": "own-one"},
    {"files": {"read": ["a", "~/b:/c"], "write": [], "current": "none"}},
    {"env": {"pass": ["A_1"], "set": {"A": "x", "B": 1, "C": True, "D": None, "E": 1.5}}},
    {"final": ["limits", "env.set", "files.current"]}, {"hostname": "a-1", "workdir": "/x"},
    {"isolation": "process", "weaker": "allow", "syscalls": "strict", "limits": {"require": "hard"}},
    {"network": {"allow": ["GET a.example/x/**", "10.0.0.0/8"], "deny": [], "mode": "report", "rate": "5/s burst 9",
                 "hosts": {"a.example": "127.0.0.1:80"}, "publish": [8080, "1:2"], "bandwidth": "1M", "connections": 5}},
    {"credentials": {"a": {"from": "env:A", "hosts": ["a.example"]}, "b-1": {"from": "stdin:", "hosts": "b.example", "body": True}},
     "network": {"allow": ["a.example", "b.example"]}},
    {"credentials": {"c": {"from": "cmd:pass show c", "hosts": ["c.example"], "basic": "me", "budget": "10/day", "env": "C"}},
     "network": {"allow": ["c.example"]}},
]
BAD = [
    {"limit": {}}, {"limits": {"memroy": "1G"}}, {"limits": []}, {"limits": {"memory": "lots"}},
    {"limits": {"memory": 1}}, {"limits": {"memory": "none"}}, {"limits": {"memory": "1MB"}}, {"limits": {"time": 60}},
    {"limits": {"time": "60"}}, {"limits": {"cpu": 50}}, {"limits": {"time": "1s1m"}}, {"limits": {"time": ""}},
    {"version": 2}, {"isolation": "vm"}, {"network": "all"}, {"network": {"links": "none"}}, {"network": ["none"]},
    {"files": {"read": "a"}}, {"files": {"read": ["../a"]}}, {"files": {"read": [""]}}, {"env": {"pass": ["1A"]}},
    {"env": {"set": {"1A": "x"}}}, {"env": {"set": ["A=1"]}}, {"env": {"set": {"A": ["x"]}}}, {"final": ["nothing"]},
    {"final": "limits"}, {"hostname": "-"}, {"workdir": "x"}, {"extends": {}}, {"extends": ["A b"]},
    {"network": {"allow": "a.example"}}, {"network": {"rate": "5"}}, {"network": {"hosts": {"a.example": "b.example"}}},
    {"network": {"publish": [0]}}, {"network": {"mode": "on"}}, {"credentials": {"a": "env:A"}}, {"credentials": []},
    {"credentials": {"a": {"from": "env:A"}}}, {"credentials": {"a": {"from": "secret", "hosts": ["a.example"]}}},
    {"credentials": {"a": {"from": "env:A", "hosts": ["a.example"], "password": "x"}}},
    {"extends": [f"p{i}" for i in range(17)]}, {"weaker": True}, [], "x", 1,
]


def is_read(call, put, document):
    put("document.json", json.dumps(document))
    # A profile that the schema can't know is not there is no fault of the document's form.
    done = call("policy", "check", "document.json")
    return done.code == 0 or b"there is no profile" in done.err or b"No such file" in done.err, done.err


@pytest.mark.parametrize("document", GOOD, ids=str)
def test_the_schema_accepts_what_the_reader_accepts(call, put, schema, document):
    assert schema.is_valid(document)
    text = "" if document is None else document
    put("document.json", text)
    if document is not None:
        assert is_read(call, put, document)[0]


@pytest.mark.parametrize("document", BAD, ids=str)
def test_the_schema_refuses_what_the_reader_refuses(call, put, schema, document):
    assert not schema.is_valid(document)
    assert not is_read(call, put, document)[0]


def mutate(document, words, luck):
    """Changes one thing somewhere: a key's name, a value, or a whole part."""
    document = copy.deepcopy(document)
    place = document
    while True:
        key = luck.choice(list(place))
        if isinstance(place[key], dict) and place[key] and luck.random() < 0.7:
            place = place[key]
            continue
        break
    kind = luck.randrange(4)
    if kind == 0:
        place[luck.choice(words)] = place.pop(key)
    elif kind == 1:
        place[key] = luck.choice([0, 1, "x", "1G", "none", "on", True, [], {}, ["x"], "5s", "50%", "/x", "host", 1.5, None])
    elif kind == 2:
        place[luck.choice(words)] = luck.choice(["x", [], {}, "1G", "none", True])
    else:
        del place[key]
    return document


def test_mutated_documents_mean_the_same_to_schema_and_reader(call, put, schema, as_who):
    luck = random.Random(f"schema {as_who}")
    words = sorted({word for part in [schema.schema["properties"]] for word in part} |
                   {word for part in schema.schema["properties"].values()
                    for side in [part, *part.get("anyOf", [])] if isinstance(side, dict)
                    for word in side.get("properties", {})}) + ["memroy", "limit", "x"]
    base = {"version": 1, "limits": {"memory": "1G", "time": "5s", "pids": 9}, "files": {"read": ["/a"], "current": "none"},
            "env": {"pass": ["A"], "set": {"B": "c"}}, "network": {"link": "none", "unix": "off"}, "final": ["limits"],
            "hostname": "x", "extends": ["git"]}
    accepted = read = 0
    for turn in range(150):
        document = mutate(base, words, luck)
        if turn % 2:
            document = mutate(document, words, luck)
        is_valid = schema.is_valid(document)
        was_read, why = is_read(call, put, document)
        unknown = [error for error in schema.iter_errors(document) if error.validator == "additionalProperties"
                   and error.validator_value is False]
        if unknown:
            assert not was_read, (document, why)
        accepted += is_valid
        read += is_valid and was_read
    assert accepted >= 10 and read >= 0.9 * accepted, (accepted, read)


def test_the_schema_takes_no_argument(call):
    assert call("policy", "schema", "x").code == 125
