"""The tables of docs/faults.md, from the figures of tests/faults/run.

A table stands between two comments, `<!-- faults:NAME -->` and `<!-- /faults:NAME -->`, and is written anew there.
"""
import collections
import os
import re

from stage import ROOT, VARIANTS

PAGE = ROOT / "docs/faults.md"
VICTIMS = {"launcher": "the launcher", "janitor": "the janitor", "launcher,janitor": "both", "init": "pid 1",
           "client": "the client"}


def table(heads, lines):
    return "\n".join(["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads),
                      *("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)])


def order(part):
    names = [*VARIANTS, "warden"]
    return names.index(part["variant"]), part["who"]


def sum_of(part):
    return collections.Counter(part["setup"]) + collections.Counter(part["after"])


def faults(found, is_always):
    lines, whole = [], collections.Counter()
    for part in sorted((part for part in found if "setup" in part and bool(part["always"]) == is_always), key=order):
        score = sum_of(part)
        score["tried"] = sum(score.values()) - score["unreached"]
        whole += score
        lines.append([part["variant"], part["who"], part["calls"], score["tried"], score["refused"], score["stood"],
                      score["graded"], score["said"], score["ended"], len(part["failed"])])
    lines.append(["**all**", "", "", *(f"**{whole[kind]}**" for kind in ("tried", "refused", "stood", "graded", "said",
                                                                        "ended", "FAILED"))])
    return table(["variant", "as", "calls", "faults", "refused", "all walls", "graded", "said", "ended", "failed"], lines)


def kills(found):
    lines = []
    for part in sorted((part for part in found if "kills" in part), key=order):
        what = "at a random instant" if part["kill"] == "instants" else "at every call"
        victims = "the launcher, the janitor or both" if part["kill"] == "instants" else VICTIMS[part["kill"]]
        if part["variant"] == "warden" and part["kill"] == "launcher":
            victims = "the warden"
        where = "with a warden" if part["variant"] == "warden" else "without"
        lines.append([victims, what, where, part["who"], part["reached"], len(part["failed"])])
    return table(["killed", "when", "warden", "as", "kills", "left anything"], lines)


def machine():
    return f"Linux {os.uname().release}, {os.cpu_count()} processors."


def write(found):
    """Puts the tables into the page."""
    tables = {"machine": machine(), "scores": faults(found, False), "always": faults(found, True), "kills": kills(found)}
    text = PAGE.read_text(encoding="utf-8")
    for name, body in tables.items():
        text = re.sub(f"(<!-- faults:{name} -->\n).*?(<!-- /faults:{name} -->)", lambda m, body=body: m[1] + body + "\n" + m[2],
                      text, flags=re.DOTALL)
    PAGE.write_text(text, encoding="utf-8")
