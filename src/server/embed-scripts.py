#!/usr/bin/python3
"""Writes the scripts of site/ as C: each with the prelude before it, and without comments.

    embed-scripts.py OUTPUT PRELUDE SCRIPT...
"""
import json
import pathlib
import re
import sys


def text_of(path):
    """Lines that do something: in here-documents, too, a comment is one."""
    lines = pathlib.Path(path).read_text().splitlines()
    return "".join(line.strip("\t") + "\n" for line in lines if line.strip() and not re.match(r"\s*#", line))


def main(output, prelude, *scripts):
    with open(output, "w") as out:
        out.write('/* Made by embed-scripts.py. */\n#include "server/site-script.h"\n')
        for path in scripts:
            lines = (text_of(prelude) + text_of(path)).splitlines(keepends=True)
            name = pathlib.Path(path).stem
            out.write(f"\nconst char rf_site_script_{name}[] =\n" + "\n".join("\t" + json.dumps(line) for line in lines) + ";\n")


main(*sys.argv[1:])
