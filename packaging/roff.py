"""Text and Markdown as roff, for man pages: what both groff and mandoc take without a word."""
import re


def escape(text):
    """Plain text: nothing in it is a command or changes its look."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    for char, name in (("`", "ga"), ("'", "aq"), ("^", "ha"), ("~", "ti")):
        text = text.replace(char, f"\\({name}")
    return re.sub(r"(?m)^\.", r"\\&.", text)


INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|\[((?:`[^`]*`|[^\]])+)\]\([^)]*\)")


def inline(text):
    """Markdown within a line: code and bold are bold, emphasis is italic, of a link stays its text."""
    done, at = "", 0
    for match in INLINE.finditer(text):
        done += escape(text[at:match.start()])
        at = match.end()
        code, bold, italic, link = match.groups()
        if link:
            done += inline(link)
        else:
            done += f"\\f{'I' if italic else 'B'}{escape(code or bold or italic)}\\fR"
    done += escape(text[at:])
    # A line that begins with a dot or an apostrophe would be a command.
    return "\\&" + done if done.startswith((".", "'")) else done


def paragraph(text):
    return [".PP", inline(" ".join(text.split()))]


def example(lines):
    return [".PP", ".RS 4", ".nf", *(f"\\fB{escape(line)}\\fR" if line else "" for line in lines), ".fi", ".RE"]


def literal(lines):
    return [".PP", ".RS 4", ".nf", *(escape(line) or "\\&" for line in lines), ".fi", ".RE"]


def page(lines):
    """The text of a page.  A heading begins a paragraph by itself."""
    kept = [line for at, line in enumerate(lines)
            if line != ".PP" or at == 0 or not lines[at - 1].startswith((".SH", ".SS"))]
    return "\n".join(kept) + "\n"


def cells(row):
    parts = re.split(r"(?<!\\)\|", row.strip().strip("|"))
    return [part.strip().replace("\\|", "|") for part in parts]


def table(rows):
    """A table is a list: the first column is the tag, the others follow, named by their heads."""
    heads, *body = [cells(row) for row in rows if not re.fullmatch(r"[|\s:]*-[|\s:-]*", row)]
    if not any(heads):
        heads = [""] * len(heads)
    lines = []
    for row in body:
        rest = [f"{head}: {text}" if head and len(row) > 2 else text
                for head, text in zip(heads[1:], row[1:]) if text]
        text = ". ".join(part.rstrip(".") for part in rest)
        lines += [".TP", inline(row[0]) or "\\&", inline(text) or "\\&"]
    return lines


def markdown(text, skip_title=True):
    """A page of Markdown, as this project writes it, as the body of a man page."""
    out, block = [], []
    lines = text.split("\n")

    def flush():
        if block:
            out.extend(paragraph(" ".join(block)))
            block.clear()

    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("```"):
            flush()
            end = next(i for i in range(at, len(lines)) if lines[i].startswith("```"))
            out += literal(lines[at:end])
            at = end + 1
        elif match := re.match(r"(#+) (.*)", line):
            flush()
            level, title = len(match[1]), match[2]
            if level == 2:
                out.append(f".SH {escape(title.upper() if '(' not in title else title)}")
            elif level > 2:
                out.append(f".SS {escape(title)}")
            elif not skip_title:
                out.append(f".SH {escape(title.upper())}")
        elif line.startswith("|"):
            flush()
            end = next((i for i in range(at, len(lines)) if not lines[i].startswith("|")), len(lines))
            out += table(lines[at - 1:end])
            at = end
        elif line.startswith("- "):
            flush()
            item = [line[2:]]
            while at < len(lines) and lines[at].startswith("  "):
                item.append(lines[at].strip())
                at += 1
            out += [".IP \\(bu 2", inline(" ".join(item))]
        elif line.strip():
            block.append(line.strip())
        else:
            flush()
    flush()
    return out
