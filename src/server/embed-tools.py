"""Writes mcp-tools.json into a C source, without its white space and with its common schemas filled in: embed-tools.py OUT.c FILE"""
import json
import sys

out, path = sys.argv[1:]

# What more than one tool gives.
SCHEMAS = {
    "RUN": {
        "type": "object",
        "properties": {
            "status": {"type": "string", "description": "ok, failed, timeout, cpu, memory, pids, disk, output, killed, denied or error"},
            "exit_code": {"type": ["integer", "null"]},
            "signal": {"type": ["integer", "null"]},
            "stdout": {"type": "string"},
            "stderr": {"type": "string"},
            "truncated": {"type": "boolean", "description": "There was more output than is told"},
            "duration_ms": {"type": "integer"},
            "limits_hit": {"type": "array", "items": {"type": "string"}},
            "denials": {"type": "array", "items": {"type": "string"}, "description": "What the sandbox kept it from doing, as far as it is known"},
        },
        "required": ["status", "exit_code", "signal", "stdout", "stderr", "truncated", "limits_hit", "denials"],
    },
    "BOX": {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "state": {"enum": ["running", "paused", "ending"]},
            "labels": {"type": "object"},
            "agent": {"type": ["string", "null"]},
            "expires_in_ms": {"type": ["integer", "null"]},
            "usage": {"type": "object"},
            "programs": {"type": "array", "items": {"type": "object"}},
        },
        "required": ["id", "state"],
    },
    "POINT": {
        "type": "object",
        "properties": {"number": {"type": "integer"}, "name": {"type": "string"}, "created": {"type": "string"}},
        "required": ["number"],
    },
    "WORKSPACE": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "created": {"type": "string"},
            "named": {"type": "boolean", "description": "false: it goes with its sandbox"},
            "in_use": {"type": "boolean", "description": "A sandbox or a run has it"},
            "origin": {"type": ["string", "null"], "description": "The workspace that it is a fork of"},
        },
        "required": ["name", "in_use", "origin"],
    },
    "DONE": {"type": "object", "properties": {"done": {"type": "boolean"}}, "required": ["done"]},
}


def fill(value):
    if isinstance(value, dict):
        return {name: SCHEMAS[one] if name in ("outputSchema", "items") and isinstance(one, str) else fill(one)
                for name, one in value.items()}
    return [fill(one) for one in value] if isinstance(value, list) else value


with open(path, encoding="utf-8") as file:
    tools = fill(json.load(file))
text = ",".join(json.dumps(tool, separators=(",", ":"), ensure_ascii=True) for tool in tools)
data = text.encode()
lines = ['#include "server/mcp-tool.h"', "", "const char rf_mcp_tool_list[] = {"]
for i in range(0, len(data), 20):
    lines.append("\t" + " ".join(f"{byte}," for byte in data[i:i + 20]))
lines += ["\t0", "};", ""]
with open(out, "w", encoding="utf-8") as file:
    file.write("\n".join(lines))
