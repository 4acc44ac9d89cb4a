"""Writes files into a C source: embed.py OUT.c NAME=FILE ...

Gives `const struct rf_profile_text rf_profile_texts[]`, ended by a NULL name.
"""
import sys

out, *pairs = sys.argv[1:]
lines = ['#include "policy/profile.h"', "", "const struct rf_profile_text rf_profile_texts[] = {"]
for pair in pairs:
    name, path = pair.split("=", 1)
    with open(path, encoding="utf-8") as file:
        text = file.read().splitlines()
    lines.append('\t{ "%s",' % name)
    for line in text:
        lines.append('\t  "%s\\n"' % line.replace("\\", "\\\\").replace('"', '\\"'))
    lines.append("\t},")
lines += ["\t{ 0 },", "};", ""]
with open(out, "w", encoding="utf-8") as file:
    file.write("\n".join(lines))
