"""Writes mcp-tools.json into a C source: embed-tools.py OUT.c FILE

The source has the text that tools/list tells (without white space and with common schemas filled in), and each tool's inputSchema as the table that
mcp-arguments.c checks calls by: what models are told and what is accepted are one file.
"""
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


TYPES = {"string": "RF_MCP_STRING", "integer": "RF_MCP_INTEGER", "boolean": "RF_MCP_BOOLEAN", "object": "RF_MCP_OBJECT"}
KNOWN = {"type", "description", "properties", "required", "additionalProperties", "minimum", "maximum", "enum"}
tables = []  # C text, those that others point to first


def put_table(declaration, rows):
    tables.append(f"static const {declaration} table_{len(tables)}[] = {{\n" + "".join(f"\t{row},\n" for row in rows) + "};\n")
    return f"table_{len(tables) - 1}"


def row_of(name, schema, is_required, where):
    """One row of the table: every word of the schema is checked by mcp-arguments.c, so one that it does not know ends the build."""
    unknown = set(schema) - KNOWN
    if unknown:
        sys.exit(f"{path}: {where}: {', '.join(sorted(unknown))}: mcp-arguments.c does not check this")
    types = schema.get("type", "string" if "enum" in schema else None)
    types = [types] if isinstance(types, str) else types
    if not types or set(types) - set(TYPES):
        sys.exit(f"{path}: {where}: mcp-arguments.c does not know the type {types}")
    fields = [f".name = {json.dumps(name)}" if name else ".name = NULL", f".types = {' | '.join(TYPES[one] for one in types)}"]
    if is_required:
        fields.append(".is_required = true")
    fields += [f".least = {schema.get('minimum', 0)}ull", f".most = {schema['maximum']}ull" if "maximum" in schema else ".most = UINT64_MAX"]
    if "enum" in schema:
        fields.append(f".choices = {put_table('char *const', [json.dumps(one) for one in schema['enum']] + ['NULL'])}")
    if "object" in types:
        others = schema.get("additionalProperties", True)
        if others is True:
            sys.exit(f"{path}: {where}: an object says which members it has: additionalProperties is missing")
        rows = [row_of(one, value, one in schema.get("required", ()), f"{where}.{one}") for one, value in schema.get("properties", {}).items()]
        if rows:
            fields += [f".members = {put_table('struct rf_mcp_argument', rows)}", f".count = {len(rows)}"]
        if others:
            fields.append(f".others = {put_table('struct rf_mcp_argument', [row_of(None, others, False, where + '.*')])}")
    return "{ " + ", ".join(fields) + " }"


with open(path, encoding="utf-8") as file:
    tools = fill(json.load(file))
text = ",".join(json.dumps(tool, separators=(",", ":"), ensure_ascii=True) for tool in tools)
data = text.encode()
rows = [row_of(tool["name"], tool["inputSchema"], False, tool["name"]) for tool in tools]
lines = ['#include "server/mcp-arguments.h"', '#include "server/mcp-tool.h"', ""] + tables
lines += ["const struct rf_mcp_argument rf_mcp_schemas[] = {", *(f"\t{row}," for row in rows), "};", f"const size_t rf_mcp_schema_count = {len(rows)};", ""]
lines += ["const char rf_mcp_tool_list[] = {"]
for i in range(0, len(data), 20):
    lines.append("\t" + " ".join(f"{byte}," for byte in data[i:i + 20]))
lines += ["\t0", "};", ""]
with open(out, "w", encoding="utf-8") as file:
    file.write("\n".join(lines))
