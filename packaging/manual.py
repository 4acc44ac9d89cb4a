"""The man pages: one for each command of one word, and one for each format that a user writes or reads."""
import datetime
import os

import commands
import roff

# Formats, each made of its page in docs/: the page's name, and what it is in one line.
FORMATS = {
    "ringfort-policy.5": ("policy.md", "what a box may see, use and do"),
    "ringfort-network.7": ("network.md", "what a box may reach, and what is added to its requests"),
    "ringfort-config.5": ("config.md", "a user's own settings of Ringfort"),
    "ringfort-result.5": ("result.md", "what a run tells, as JSON"),
    "ringfort-profiles.7": ("profiles.md", "policies that are there to be named"),
    "libringfort.3": ("library.md", "programs in boxes, from C"),
    "ringfort-languages.7": ("languages.md", "languages whose code can be run by name"),
}

ENVIRONMENT = [
    ("NO_COLOR", "Not empty: no colour, even on a terminal."),
    ("CLICOLOR_FORCE", "Neither empty nor `0`: colour, even in a pipe."),
    ("TERM", "Empty or `dumb`: no colour."),
    ("PATH", "Where a program is looked for that is named without a slash."),
    ("XDG_RUNTIME_DIR", "Holds the records of an ordinary user's boxes, so that nothing of a killed launcher stays."),
]

FILES = [
    ("/etc/ringfort/profiles", "Profiles of this machine, a file `NAME.yaml` each."),
    ("~/.config/ringfort/profiles", "Profiles of your own; `$XDG_CONFIG_HOME` counts."),
    ("/run/ringfort", "Records of root's boxes; those of others are in `$XDG_RUNTIME_DIR/ringfort`."),
]


def heading(page, section, reference):
    stamp = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    day = datetime.datetime.fromtimestamp(stamp, datetime.timezone.utc) if stamp else datetime.datetime.now()
    return [f'.TH {roff.escape(page.upper())} {section} {day:%Y-%m-%d} "Ringfort {reference.version}" '
            '"Ringfort manual"',
            ".nh", ".ad l"]


def prose(text):
    """What help says: paragraphs, and lists that are laid out by spaces."""
    lines = []
    for part in text.split("\n\n"):
        rows = part.split("\n")
        if any(row.startswith("  ") for row in rows):
            lines += roff.literal(rows)
        else:
            lines += roff.paragraph(part)
    return lines


def option_lines(option):
    names = f"\\fB\\-\\-{roff.escape(option.name)}\\fR"
    if option.letter:
        names = f"\\fB\\-{option.letter}\\fR, {names}"
    if option.arg:
        names += f" \\fI{roff.escape(option.arg)}\\fR"
    text = roff.inline(option.help[:1].upper() + option.help[1:])
    if option.key:
        text += f". Key of the policy: \\fB{roff.escape(option.key)}\\fR"
    return [".TP", names, text + "."]


def synopsis(command):
    lines = []
    for line in command.synopsis.split("\n"):
        lines += [".br"] if lines else []
        lines.append(f"\\fBringfort {roff.escape(command.name)}\\fR {roff.escape(line)}".rstrip())
    return lines


def options(command):
    lines = []
    for group, members in commands.groups(command).items():
        lines.append(f'.SS "{roff.escape(group[:1].upper() + group[1:])}"')
        for option in members:
            lines += option_lines(option)
    return lines


def examples(rows):
    lines = []
    for line, about in rows:
        if about:
            lines += roff.paragraph(about[:1].upper() + about[1:] + ":")
        lines += roff.example([line])
    return lines


def formats(docs):
    """Those whose page in docs/ is there."""
    return {page: (docs / source, summary) for page, (source, summary) in FORMATS.items() if (docs / source).exists()}


def see_also(reference, docs, own):
    pages = [("ringfort", 1), *((f"ringfort-{c.name}", 1) for c in commands.top(reference) if c.name != "help"),
             *((name[:-2], int(name[-1])) for name in formats(docs))]
    listed = [f".BR {roff.escape(page)} ({section})" for page, section in pages if (page, section) != own]
    return [".SH SEE ALSO", *(f"{line} ," for line in listed[:-1]), listed[-1]]


def command_page(reference, docs, command):
    name = f"ringfort-{command.name}"
    parts = commands.beneath(reference, command)
    lines = [*heading(name, 1, reference), ".SH NAME", f"{roff.escape(name)} \\- {roff.escape(command.summary)}",
             ".SH SYNOPSIS"]
    for at, one in enumerate(parts or [command]):
        lines += [".br"] if at else []
        lines += synopsis(one)
    lines += [".SH DESCRIPTION", *prose(command.about)]
    for part in parts:
        lines += [f'.SH "{roff.escape(part.name.upper())}"', *prose(part.about), *options(part)]
        lines += ['.SS Examples', *examples(part.examples)] if part.examples else []
        lines += ['.SS "Exit codes"', *prose(part.exits + ".")] if part.exits else []
    if not parts:
        lines += [".SH OPTIONS", *options(command)]
        lines += [".SH EXAMPLES", *examples(command.examples)] if command.examples else []
        lines += [".SH EXIT STATUS", *prose(command.exits[:1].upper() + command.exits[1:] + ".")] if command.exits else []
    lines += see_also(reference, docs, (name, 1))
    return roff.page(lines)


def main_page(reference, docs):
    lines = [*heading("ringfort", 1, reference), ".SH NAME", f"ringfort \\- {roff.escape(reference.summary)}",
             ".SH SYNOPSIS", "\\fBringfort\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]",
             ".SH DESCRIPTION", *prose(reference.about), ".SH COMMANDS"]
    for command in reference.commands:
        lines += [".TP", f"\\fBringfort {roff.escape(command.name)}\\fR",
                  roff.inline(command.summary[:1].upper() + command.summary[1:] + ".")]
    lines += [".PP", "\\fBringfort help\\fR \\fICOMMAND\\fR, and \\fB\\-\\-help\\fR after any command, print its help;",
              "\\fBringfort \\-\\-version\\fR prints the version.",
              ".SH EXAMPLES", *examples(reference.examples), ".SH ENVIRONMENT"]
    for name, text in ENVIRONMENT:
        lines += [".TP", f"\\fB{name}\\fR", roff.inline(text)]
    lines.append(".SH FILES")
    for name, text in FILES:
        lines += [".TP", f"\\fI{roff.escape(name)}\\fR", roff.inline(text)]
    lines += see_also(reference, docs, ("ringfort", 1))
    return roff.page(lines)


def format_page(reference, docs, page, text, summary):
    name, section = page.rsplit(".", 1)
    lines = [*heading(name, section, reference), ".SH NAME", f"{roff.escape(name)} \\- {roff.escape(summary)}",
             ".SH DESCRIPTION", *roff.markdown(text), *see_also(reference, docs, (name, int(section)))]
    return roff.page(lines)


def make(reference, docs):
    """All pages: name → text."""
    pages = {"ringfort.1": main_page(reference, docs)}
    for command in commands.top(reference):
        if command.name != "help":
            pages[f"ringfort-{command.name}.1"] = command_page(reference, docs, command)
    for page, (source, summary) in formats(docs).items():
        pages[page] = format_page(reference, docs, page, source.read_text(encoding="utf-8"), summary)
    return pages
