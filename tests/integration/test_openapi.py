"""The document that the server gives of its API, held against the server by schemathesis (PyPI).

A sample asks each operation once; whole, it is what schemathesis does in all its phases.
"""
import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import fetched  # noqa: E402
from sampling import is_sample  # noqa: E402
from servers import Server  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = "4.32.5"
EXAMPLES = os.environ.get("RINGFORT_API_EXAMPLES", "1" if is_sample() else "10")  # of each operation
PHASES = "fuzzing" if is_sample() else "examples,coverage,fuzzing"
SEED = os.environ.get("RF_SAMPLE", "1")


@pytest.fixture(scope="session")
def schemathesis():
    """The program, in a place of its own beneath build/: it is fetched once."""
    return fetched.venv(ROOT / "build/schemathesis", f"schemathesis=={VERSION}") / "schemathesis"


@pytest.fixture
def server(ringfort, public):
    with Server(ringfort, "user", public / "openapi") as there:
        yield there


def prepare(document, box):
    """What a generator of random values can't know is taken out: the rules of policies and limits, which other tests
    have; and there is a sandbox to be met, besides some that there are not."""
    schemas = document["components"]["schemas"]
    schemas["Policy"] = schemas["Limits"] = {"type": "object", "additionalProperties": False}
    schemas["ProfileName"]["enum"].remove("strict")  # whose values are final
    schemas["NewNetwork"]["properties"]["network"] = schemas["Policy"]
    schemas["Needs"]["properties"]["network"] = {"const": False}  # without a policy there is none, and no use for
    for kind in ("Run", "NewSandbox"):                            # credentials
        del schemas[kind]["properties"]["credentials"]
    del schemas["Run"]["properties"]["cwd"]  # a policy's `workdir`, with its rules
    for kind in ("Run", "Exec"):
        schemas[kind]["properties"]["language"]["enum"] = ["python", "sh"]  # which every machine has
    for parameter in document["paths"]["/v1/audit"]["get"]["parameters"]:
        if parameter["name"] in ("since", "until"):  # moments are many words, and not every one is one
            parameter["schema"] = {"enum": ["10m", "7d", "2026-11-16", "2026-11-16T06:50:00Z"]}
        if parameter["name"] == "kind":
            parameter["schema"] = {"enum": ["run", "run.ended", "kill"]}
    # What comes after it stands on what it was answered with.
    document["paths"]["/mcp"]["post"]["requestBody"]["content"]["application/json"]["schema"] = {
        "type": "object", "required": ["jsonrpc", "id", "method", "params"],
        "properties": {"jsonrpc": {"const": "2.0"}, "id": {"type": ["integer", "string"]}, "method": {"const": "initialize"},
                       "params": {"type": "object", "required": ["protocolVersion"],
                                  "properties": {"protocolVersion": {"type": "string"}}}}}
    del document["paths"]["/v1/sandboxes/{id}/ports/{port}/{path}"]  # whose answers are a program's: test_server_ports.py
    for path, item in document["paths"].items():
        if path.startswith("/v1/sandboxes/{id}/"):
            item["parameters"][0]["schema"] = {"enum": [box, "none"]}
    return document


def left_out(document):
    """Operations that are no question and answer, or whose bodies a generator can't write: WebSockets (test_server_ws.py is a client of
    those), a stream without an end, archives (one of a whole box breaks off where it may not read) and a form with files (test_server_files.py)."""
    asked = [operation for item in document["paths"].values() for operation in item.values() if isinstance(operation, dict)]
    names = [operation["operationId"] for operation in asked if "101" in operation["responses"]]
    return [word for name in [*names, "watchFiles", "unpackFiles", "packFiles", "uploadFiles"] for word in ("--exclude-operation-id", name)]


def test_requests_of_all_kinds_are_answered_as_the_document_says(server, schemathesis, workdir):
    box = server.post("/v1/sandboxes", {"timeout": 3000}).json["id"]
    path = workdir / "openapi.json"
    document = prepare(server.get("/v1/openapi.json", key="").json, box)
    path.write_text(json.dumps(document))
    done = subprocess.run([schemathesis, "run", path, "--url", f"http://127.0.0.1:{server.port}", "--seed", SEED, "--workers", "1",
                           "--header", f"Authorization: Bearer {server.key}", "--max-examples", EXAMPLES, "--no-color",
                           *left_out(document), "--phases", PHASES, "--request-timeout", "30", "--generation-allow-x00",
                           "false", "--generation-codec", "utf-8", "--generation-database", ":memory:"], cwd=workdir,
                          capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout[-6000:]
    assert server.get("/v1/health").status == 200 and "started anew" not in server.said
