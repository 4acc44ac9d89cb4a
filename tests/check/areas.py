"""The areas of the tree, and the tests of each: what `make check ONLY=NAME` runs.

An area has the name of a folder: of src/, of tests/, or another one of the tree that has tests.  Unit tests and
corpora belong to a folder by the name of their program (tests/meson.build); the suites that drive the built
programs from outside, by this table.
"""
import pathlib

from commands import ROOT

# test_NAME.py of tests/integration, and the areas that it tests.
AREAS_OF = {
    "agent": "workspace", "alarms": "watch", "apply": "workspace", "approval": "server cli", "archive": "archive",
    "attributes": "jail workspace", "audit": "audit", "bad_input": "cli", "bench": "bench", "between_boxes": "jail warden",
    "beyond_ceiling": "policy server", "bidirectional": "gateway http2", "books": "gateway watch", "bound": "gateway",
    "breaker": "watch gateway", "caller_groups": "jail", "canary": "jail watch", "canary_sent": "gateway filter",
    "capture": "jail gateway", "ceiling_addresses": "policy gateway", "check": "check", "cli": "cli",
    "closed": "workspace", "colour": "cli", "commands": "jail", "completion": "cli packaging", "config": "cli",
    "cors": "server", "credential": "egress cli", "credential_hosts": "gateway egress", "denials": "jail result",
    "deny": "jail policy", "diff": "workspace", "discard": "workspace", "doctor": "jail cli",
    "egress_programs": "gateway egress", "examples": "examples", "file": "workspace", "files": "jail policy",
    "full_disk": "workspace audit", "gateway": "gateway", "gateway_attacks": "gateway", "gateway_change": "gateway",
    "gateway_custody": "gateway", "gateway_filter": "gateway filter", "gateway_garbage": "gateway",
    "gateway_messages": "gateway wire", "gateway_raw": "gateway", "gateway_rebinding": "gateway",
    "gateway_seal": "gateway", "gateway_trial": "gateway", "held": "gateway", "help": "cli", "herald": "server",
    "http": "http", "http2": "http2", "http_client": "http", "kept": "warden jail", "lang": "cli", "languages": "cli jail",
    "layers": "workspace", "leaks": "warden", "learn": "policy", "leftovers": "jail init", "lesser_box": "jail",
    "library": "lib include", "library_files": "lib", "limits": "jail", "live": "workspace", "manual": "cli packaging",
    "mcp": "server", "mcp_suites": "mcp", "metrics": "watch", "moves": "workspace audit",
    "net_change": "gateway", "net_log": "audit gateway", "openapi": "server", "overlay_attributes": "workspace",
    "planted": "workspace", "policy_cli": "policy", "policy_show": "policy", "profiles": "policy",
    "promises": "docs", "quota": "jail", "readme": "docs", "real_programs": "calls cli", "recovery": "jail watch",
    "reliability": "audit watch reliability", "replaced": "jail", "replica": "workspace", "report": "audit",
    "result": "result", "run": "cli init jail", "sdk_parity": "sdk", "sdk_python": "sdk", "sdk_typescript": "sdk",
    "seccomp": "jail calls", "seccomp_oracle": "jail", "server": "server", "server_agents": "server",
    "server_apply": "server", "server_approvals": "server", "server_clerk": "server", "server_config": "server",
    "server_disk": "server", "server_files": "server", "server_life": "server", "server_network": "server",
    "server_ports": "server", "server_quota": "server", "server_record": "server audit", "server_streams": "server",
    "server_taken": "server", "server_tls": "server tls", "server_workspace": "server", "server_ws": "server",
    "shadow": "workspace", "signals": "init jail", "standing_gateway": "gateway", "stopped": "jail", "terminal": "cli",
    "tls_gateway": "gateway tls", "tls_upstream": "gateway tls", "top": "top", "warden": "warden",
    "warden_ceiling": "warden", "warden_same": "warden wire", "watch": "watch", "why": "policy", "workspace": "workspace",
}
# What tests more than one folder of src/, besides the area that has its own name.
FOLDERS = {"attack": "jail", "bombs": "", "faults": "", "integration": "", "unit": "", "fuzz": ""}
ELSEWHERE = {"scripts": "lint"}  # areas that are another suite of the check's


def files_of(folder):
    return sorted(path.name for path in (ROOT / "tests" / folder).glob("test_*.py"))


def areas_of(folder, file):
    """The areas that a file of tests belongs to."""
    if folder == "integration":
        return {folder, *AREAS_OF.get(pathlib.Path(file).stem.removeprefix("test_"), "").split()}
    return {folder, *FOLDERS.get(folder, "").split()}


def unknown_files():
    """Files that belong to no area, and rows of files that are not there."""
    there = {pathlib.Path(file).stem.removeprefix("test_") for file in files_of("integration")}
    return [f"tests/integration/test_{name}.py: {'is not there' if name in AREAS_OF else 'has no row in AREAS_OF'}"
            for name in sorted(there ^ AREAS_OF.keys())]


def names():
    """All areas: what ONLY= may name."""
    source = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}
    tested = {area for areas in AREAS_OF.values() for area in areas.split()}
    return sorted(source | tested | FOLDERS.keys() | ELSEWHERE.keys())
