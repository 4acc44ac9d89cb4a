#!/usr/bin/python3
"""Prints what `make bombs` saw as tables, and sums it up in build/results/bombs.json.

With --write FILE, the tables are also written between that file's markers:

    <!-- bombs:NAME --> ... <!-- /bombs:NAME -->
"""
import json
import os
import pathlib
import platform
import re
import statistics
import sys

from catalogue import BOMBS, HARD, IS_V1, MIB, MODES, NotHeld

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
        lines += [f"| {bomb.name} | {bomb.takes} | {', '.join(modes)} | {text} |"
                  for text, modes in why.items()]
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
    others = "The machine was at rest otherwise." if crowd <= 1 else \
        f"Other programs worked meanwhile: {crowd:.1f} for each processor, in the median."
    return f"Linux {platform.release()}, {os.cpu_count()} processors, cgroups of version {version}. {others}"


def summary(rows):
    """For the page of promises: a few lines instead of hundreds."""
    said = []

    def say(test, mode, ok, figure):
        said.append({"promise": 8, "test": f"make bombs: {test}", "mode": mode, "figure": figure, "ok": ok})

    for mode in MODES:
        held, open_ = [], []
        for row in rows:
            if row["mode"] == mode and row["test"].endswith(" held"):
                bomb = next(bomb for bomb in BOMBS if bomb.name == row["bomb"])
                (open_ if isinstance(bomb.ends[mode], NotHeld) else held).append(row)
        deaths = [row["seen"]["death_ms"] for row in held if row["seen"]["death_ms"] is not None]
        if held:
            say("stopped at the limit", mode, all(row["ok"] for row in held),
                f"{sum(row['ok'] for row in held)} of {len(held)}; dead after "
                f"{statistics.median(deaths or [0]):.0f} ms in the median, {max(deaths, default=0):.0f} at most")
        over = [max(row["seen"]["drop"], row["seen"]["kernel"]) / MIB - 32 for row in held
                if row["seen"]["end"] == "memory"]
        if over:
            say("the host's memory", mode, mode not in HARD or max(over) <= 16,
                f"fell by the limit and {max(0, max(over)):.0f} MiB at most")
        if open_:
            say("not held, and said so", mode, not any(row["ok"] for row in open_),
                ", ".join(row["bomb"] for row in open_))
    for share in ("50%", "100%"):
        speeds = [row["speed"][share][0] for row in rows if share in row.get("speed", {})]
        if speeds:
            say(f"a neighbour beside a box with {share}", "root",
                all(row["ok"] for row in rows if share in row.get("speed", {})),
                f"keeps {min(speeds):.2f} of its speed at least, {statistics.median(speeds):.2f} in the median")
    bare = [row for row in rows if row["mode"] == "none"]
    if bare:
        say("controls without a box go beyond", "none", all(row["ok"] for row in bare),
            f"{sum(row['ok'] for row in bare)} of {len(bare)}")
    return said


PARTS = {"machine": machine, "all": all_bombs, "not-held": reasons, "overshoot": overshoot,
         **{mode: lambda rows, mode=mode: of_mode(rows, mode) for mode in MODES}}


def main(arguments):
    rows = read()
    made = {name: part(rows) for name, part in PARTS.items()}
    for mode in MODES:
        print(f"{mode}\n{made[mode]}\n")
    print(f"not held\n{made['not-held']}")
    RESULTS.with_name("bombs.json").write_text(json.dumps(summary(rows), indent=1) + "\n", encoding="utf-8")
    if arguments[:1] == ["--write"]:
        path = pathlib.Path(arguments[1])
        text = path.read_text(encoding="utf-8")
        for name, part in made.items():
            text = re.sub(rf"(<!-- bombs:{name} -->\n).*?(<!-- /bombs:{name} -->)",
                          lambda match, part=part: f"{match[1]}{part}\n{match[2]}", text, flags=re.DOTALL)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
