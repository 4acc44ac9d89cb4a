#!/usr/bin/python3
"""Prints what `make bombs` saw as tables; with --write FILE, also between that file's markers.

    <!-- bombs:NAME --> ... <!-- /bombs:NAME -->
"""
import json
import os
import pathlib
import platform
import re
import statistics
import sys

from catalogue import BOMBS, IS_V1, MIB, MODES, NotHeld

RESULTS = pathlib.Path(__file__).resolve().parents[2] / "build/results/bombs-all.json"
WORDS = {"memory": "killed: memory", "cpu": "killed: cpu time", "timeout": "killed: time",
         "output": "killed: output"}


def read():
    if not RESULTS.exists():
        sys.exit(f"{RESULTS} is not there: run `make bombs`")
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def ended(bomb, mode, row):
    if isinstance(bomb.ends[mode], NotHeld):
        return "**not held**" if not row["ok"] else "held"
    end = row["seen"]["end"]
    if end == "beyond":
        return "kept within it"
    return ("" if row["ok"] else "**failed**: ") + WORDS.get(end, end)


def mib(count):
    return f"{count / MIB:.0f}"


def of_mode(rows, mode):
    """One line a bomb."""
    seen = {row["bomb"]: row for row in rows if row["mode"] == mode and row["test"].endswith(" held")}
    speeds = {}
    for row in rows:
        if "speed" in row:
            speeds.setdefault(row["bomb"], {}).update(row["speed"])
    has_speed = mode == "root"
    head = ["bomb", "limit", "stopped by", "dead after, ms", "host's memory, MiB", "kernel's, MiB"]
    head += ["neighbour, share 50 %", "share 100 %"] if has_speed else []
    lines = [head, ["---"] * len(head)]
    for bomb in BOMBS:
        row = seen.get(bomb.name)
        if row is None:
            continue
        figures = row["seen"]
        death = "" if figures["death_ms"] is None else f"{figures['death_ms']:.0f}"
        line = [bomb.name, bomb.limit_name, ended(bomb, mode, row), death, mib(figures["drop"]),
                mib(figures["kernel"])]
        if has_speed:
            of_bomb = speeds.get(bomb.name, {})
            line += [f"{of_bomb[share][0]:.2f}" if share in of_bomb else "" for share in ("50%", "100%")]
        lines.append(line)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def reasons(_rows):
    lines = ["| bomb | what it takes | not held | because |", "|---|---|---|---|"]
    for bomb in BOMBS:
        why = {}
        for mode in MODES:
            if isinstance(bomb.ends[mode], NotHeld):
                why.setdefault(bomb.ends[mode].why, []).append(mode)
        lines += [f"| {bomb.name} | {bomb.takes} | {', '.join(modes)} | {text} |" for text, modes in why.items()]
    return "\n".join(lines)


def all_bombs(_rows):
    lines = ["| bomb | takes |", "|---|---|"]
    return "\n".join(lines + [f"| {bomb.name} | {bomb.takes} |" for bomb in BOMBS])


def overshoot(rows):
    """By how much a sampled limit is passed before the box is dead."""
    lines = ["| bomb | limit, MiB | host's memory fell by, MiB | beyond the limit |", "|---|---|---|---|"]
    for row in rows:
        bomb = next(bomb for bomb in BOMBS if bomb.name == row["bomb"])
        if row["mode"] != "user" or not row["test"].endswith(" held") or \
                bomb.limit_name != "memory 32M" or row["seen"]["end"].startswith("refused"):
            continue
        drop = max(row["seen"]["drop"], row["seen"]["kernel"])
        if isinstance(bomb.ends["user"], NotHeld):
            lines.append(f"| {bomb.name} | 32 | {mib(drop)}, where the bomb itself stopped | unseen |")
        elif "memory" in bomb.ends["user"]:
            lines.append(f"| {bomb.name} | 32 | {mib(drop)} | {max(0, drop / MIB - 32):.0f} |")
    return "\n".join(lines)


def machine(rows):
    version = "1" if IS_V1 else "2"
    crowds = [row["seen"]["crowd"] for row in rows if isinstance(row["seen"], dict)]
    crowd = statistics.median(crowds) if crowds else 1
    others = f"Other programs worked meanwhile: {crowd:.1f} for each processor, in the median." if crowd > 1 else \
        "The machine was at rest otherwise."
    return f"Linux {platform.release()}, {os.cpu_count()} processors, cgroups of version {version}. {others}"


PARTS = {"machine": machine, "all": all_bombs, "not-held": reasons, "overshoot": overshoot,
         **{mode: lambda rows, mode=mode: of_mode(rows, mode) for mode in MODES}}


def main(arguments):
    rows = read()
    made = {name: part(rows) for name, part in PARTS.items()}
    for mode in MODES:
        print(f"{mode}\n{made[mode]}\n")
    print(f"not held\n{made['not-held']}")
    if arguments[:1] == ["--write"]:
        path = pathlib.Path(arguments[1])
        text = path.read_text(encoding="utf-8")
        for name, part in made.items():
            text = re.sub(rf"(<!-- bombs:{name} -->\n).*?(<!-- /bombs:{name} -->)",
                          lambda match, part=part: f"{match[1]}{part}\n{match[2]}", text, flags=re.DOTALL)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
