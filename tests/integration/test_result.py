"""The result: every kind of outcome fits docs/result.schema.json and says what happened."""
import json
import os
import pathlib
import re
import subprocess
import time

import pytest

jsonschema = pytest.importorskip("jsonschema", reason="no python3-jsonschema on this machine")

pytestmark = pytest.mark.usefixtures("as_who")

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
SCHEMA = json.loads((DOCS / "result.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
FACTS = ["descriptors", "directory", "identity", "capabilities", "no_new_privs", "namespaces", "landlock",
         "seccomp", "session", "limits"]

OUTCOMES = {
    "ok": (["--", "true"], "ok", 0),
    "failed": (["--", "false"], "failed", 1),
    "crashed": (["--", "sh", "-c", "kill -SEGV $$"], "failed", 139),
    "timeout": (["--time", "100ms", "--", "sleep", "9"], "timeout", 124),
    "timeout at once": (["--time", "1ms", "--", "sleep", "9"], "timeout", 124),
    "cpu": (["--cpu-time", "100ms", "--", "sh", "-c", "while :; do :; done"], "cpu", 137),
    "memory": (["--memory", "32M", "--", "python3", "-c", "bytearray(10**9)"], "memory", 137),
    "disk": (["--disk", "1M", "--", "dd", "if=/dev/zero", "of=/tmp/f", "bs=1M", "count=9"], "disk", 1),
    "size": (["--file-size", "1M", "--", "dd", "if=/dev/zero", "of=/tmp/f", "bs=1M", "count=9"], "disk", 153),
    "output": (["--output", "100", "--", "yes"], "output", 137),
    "binary": (["--", "head", "-c", "1000", "/dev/urandom"], "ok", 0),
    "warned": (["--", "true"], "ok", 0),
    "not found": (["--", "no-such-program"], "error", 127),
    "not executable": (["--", "/etc/passwd"], "error", 126),
    "no program": ([], "error", 125),
    "bad option": (["--no-such-option", "--", "true"], "error", 125),
    "bad limit": (["--memory", "lots", "--", "true"], "error", 125),
    "bad policy": (["--policy", "bad.yaml", "--", "true"], "error", 125),
    "no source": (["--read", "/no/such/place", "--", "true"], "error", 125),
    "bad workdir": (["--workdir", "/no/such/place", "--", "true"], "error", 125),
    "network": (["--net", "host", "--", "true"], "ok", 0),
    "strict": (["--profile", "strict", "--", "true"], "ok", 0),
    "weaker": (["--weaker", "allow", "--", "true"], "ok", 0),
}


def validate(result):
    errors = sorted(VALIDATOR.iter_errors(result), key=str)
    assert not errors, "\n".join(f"{'/'.join(map(str, e.path))}: {e.message}" for e in errors)


def test_the_schema_is_one_and_documents_every_field():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def walk(node, path):
        for name, field in node.get("properties", {}).items():
            where = f"{path}.{name}"
            if path.count(".") < 2:
                assert "description" in field or "$ref" in field or "enum" in field or "type" in field, where
            if field.get("type") == "object":
                assert field.get("additionalProperties") is False, where
            walk(field, where)

    assert SCHEMA["additionalProperties"] is False
    assert set(SCHEMA["required"]) == set(SCHEMA["properties"])
    for name, field in SCHEMA["properties"].items():
        assert field["description"], name
    walk(SCHEMA, "")


def test_the_page_explains_every_field_and_every_status():
    page = (DOCS / "result.md").read_text(encoding="utf-8")
    for name in (*SCHEMA["properties"], *SCHEMA["properties"]["usage"]["properties"]):
        assert f"`{name}" in page, name
    for status in SCHEMA["properties"]["status"]["enum"]:
        assert re.search(rf"^\| `{status}` \|", page, re.M), status


@pytest.mark.parametrize("kind", OUTCOMES)
def test_every_outcome_fits_the_schema(call, workdir, kind):
    args, status, code = OUTCOMES[kind]
    (workdir / "bad.yaml").write_text("limits:\n  memroy: 1G\n")
    done = call("run", "--json", *args, cwd="/" if kind == "warned" else None)
    result = json.loads(done.out)
    validate(result)
    assert (result["status"], done.code) == (status, code)
    assert done.err == b"", "what there is to say is in the object"
    if kind == "warned":
        assert len(result["warnings"]) == 1
    if status == "error":
        assert result["error"]["message"]
    if kind == "not found":
        assert result["isolation"]["got"] == "process", "the box stood"


def test_refused_and_killed_runs_fit_the_schema(run_json, start):
    result = run_json("--require", "hard", "--", "true")
    validate(result)
    assert result["status"] in ("ok", "denied")
    process = start("--json", "--", "sleep", "9")
    time.sleep(0.2)
    process.terminate()
    result = json.loads(process.communicate(timeout=10)[0])
    validate(result)
    assert result["status"] == "killed"


def test_the_schema_refuses_what_it_does_not_know(run_json):
    result = run_json("--", "true")
    validate(result)
    for change in ({"extra": 1}, {"status": "fine"}, {"exit_code": "0"}, {"truncated": {"stdout": True}},
                   {"usage": {**result["usage"], "more": 1}}, {"error": {"code": "EINVAL"}},
                   {"encoding": {"stdout": "latin-1", "stderr": "utf-8"}},
                   {"isolation": {**result["isolation"], "limits": {"memory": "hard"}}}):
        assert list(VALIDATOR.iter_errors({**result, **change})), change


# ------------------------------------------------------------- the proof

def test_every_fact_of_the_proof_holds(run_json):
    for options in ((), ("--net", "host"), ("--profile", "strict"), ("--weaker", "allow")):
        proof = run_json(*options, "--", "true")["isolation"]["proof"]
        assert [proof.get(fact) for fact in FACTS] == [True] * len(FACTS), options
        assert proof["landlock_abi"] >= 1


def test_every_namespace_differs_from_the_hosts_and_is_the_programs(run_json):
    result = run_json("--", "python3", "-c", "import os\nfor n in 'user mnt pid net ipc uts cgroup'.split():"
                      " print(n, os.stat('/proc/self/ns/' + n).st_ino)")
    ids = result["isolation"]["proof"]["namespace_ids"]
    assert {line.split()[0]: int(line.split()[1]) for line in result["stdout"].splitlines()} == ids
    for name, inode in ids.items():
        assert inode != os.stat(f"/proc/self/ns/{name}").st_ino, name


def test_the_hosts_network_is_shared_only_when_asked_for(run_json):
    ids = run_json("--net", "host", "--", "true")["isolation"]["proof"]["namespace_ids"]
    for name, inode in ids.items():
        assert (inode == os.stat(f"/proc/self/ns/{name}").st_ino) == (name == "net"), name


def test_two_boxes_share_no_namespace_and_no_id(start):
    both = [start("--json", "--", "sleep", "0.5") for _ in range(2)]
    a, b = (json.loads(p.communicate(timeout=10)[0]) for p in both)
    assert a["id"] != b["id"]
    assert a["status"] == b["status"] == "ok", (a, b)
    for name in a["isolation"]["proof"]["namespace_ids"]:
        assert (a["isolation"]["proof"]["namespace_ids"][name]
                != b["isolation"]["proof"]["namespace_ids"][name]), name


# ------------------------------------------------------------- usage

def test_usage_of_a_quiet_run_is_plausible(run_json):
    began = time.monotonic()
    usage = run_json("--", "sleep", "0.2")["usage"]
    took = (time.monotonic() - began) * 1000
    assert 200 <= usage["wall_ms"] <= took
    assert 0 < usage["start_ms"] < usage["wall_ms"]
    assert 0 < usage["cpu_ms"] < 100
    assert 100_000 < usage["memory_peak"] < 64 * 2**20
    assert usage["pids_peak"] == 1


def test_processor_time_is_what_was_spent(run_json):
    usage = run_json("--", "python3", "-c",
                     "import time\nwhile time.process_time() < 0.4: pass")["usage"]
    assert 390 <= usage["cpu_ms"] <= 700


def test_memory_is_what_was_touched(run_json):
    usage = run_json("--", "python3", "-c", "x = bytearray(b'x' * 10**8); import time; time.sleep(0.1)")["usage"]
    assert 1e8 <= usage["memory_peak"] <= 3.2e8


def test_processes_are_counted_at_their_highest(run_json):
    usage = run_json("--", "sh", "-c", "for i in 1 2 3 4 5; do sleep 0.3 & done; wait")["usage"]
    assert usage["pids_peak"] == 6


def test_stats_tell_a_person_the_same(run_box):
    done = run_box("--stats", "--", "sh", "-c", "echo out; exit 3")
    assert (done.code, done.out) == (3, b"out\n")
    assert b"failed, exit code 3" in done.err and b" ms" in done.err and b"MiB" in done.err


def test_the_object_is_all_there_is_on_standard_output(call):
    done = call("run", "--json", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (done.code, done.err) == (3, b"")
    assert json.loads(done.out)["stdout"] == "out\n"
    assert done.out.endswith(b"}\n")


def test_the_object_is_read_by_jq(call, need):
    need("jq")
    done = call("run", "--json", "--", "head", "-c", "3000", "/dev/urandom")
    assert subprocess.run(["jq", "-r", ".status"], input=done.out, capture_output=True,
                          check=True).stdout == b"ok\n"
