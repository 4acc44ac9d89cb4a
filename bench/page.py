"""Tables in Markdown, and their places in docs/benchmarks.md.

A place is what stands between two comments, <!-- bench NAME --> and <!-- end -->.  What people
wrote around them stays.
"""
import re


def table(head, rows):
    """A table of Markdown; None is an empty cell."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        lines.append("| " + " | ".join("" if cell is None else str(cell) for cell in row) + " |")
    return "\n".join(lines) + "\n"


def figure(value):
    """A number with about three digits that count."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}"


def write(path, tables):
    """Puts each table in its place; gives the names that have none."""
    text, lost = path.read_text(), []
    for name, content in tables.items():
        place = re.compile(rf"(<!-- bench {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not place.search(text):
            lost.append(name)
        text = place.sub(lambda match, content=content: match[1] + content + match[2], text)
    path.write_text(text)
    return lost
