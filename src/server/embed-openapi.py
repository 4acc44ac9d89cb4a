"""Writes openapi.json into a C source, without its white space: embed-openapi.py OUT.c FILE VERSION"""
import json
import sys

out, path, version = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    api = json.load(file)
api["info"]["version"] = version
text = json.dumps(api, separators=(",", ":"), ensure_ascii=True) + "\n"
data = text.encode()
lines = ['#include "server/openapi.h"', "", "const char rf_openapi_text[] = {"]
for i in range(0, len(data), 20):
    lines.append("\t" + " ".join(f"{byte}," for byte in data[i:i + 20]))
lines += ["\t0", "};", f"const size_t rf_openapi_len = {len(data)};", ""]
with open(out, "w", encoding="utf-8") as file:
    file.write("\n".join(lines))
