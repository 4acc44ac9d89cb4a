"""The commands and options, as `ringfort help --json` tells them.

One table in the program is the source of its help, its manual, its reference and the completions of
three shells; this module is what the last four read it with.
"""
import collections
import json
import re

# What a value is, for completion: one of a few words, a name that ringfort can list, or a path.
Option = collections.namedtuple("Option", "name letter arg group key help kind choices")

# `operands`: what comes after the options; "program", "file", "command", a listable kind, or None.
Command = collections.namedtuple(
    "Command", "name words summary synopsis about exits holds_others examples options operands verbs")

Reference = collections.namedtuple("Reference", "version about summary examples commands")

# Values that `ringfort help --names KIND` lists.
LISTED = {"profile": "profiles", "lang": "languages"}


def kind_of(row):
    """What the value of an option is."""
    arg = row["arg"]
    if not arg:
        return None
    if row["name"] in LISTED:
        return LISTED[row["name"]]
    if "|" in arg:
        return "choice"
    if arg.startswith(("SRC", "FILE", "PATH", "DIR")):
        return "file"
    return "text"


def operands_of(synopsis):
    for word, kind in (("PROGRAM", "program"), ("SHELL", "program"), ("COMMAND", "command"), ("PROFILE", "profiles"),
                       ("FILE", "file"), ("PATH", "file")):
        if word in synopsis:
            return kind
    return None


def verbs_of(synopsis):
    """Words that a first operand is one of: in "read|write PATH" these two."""
    return [word for words in re.findall(r"(?<![\w-])[a-z]+(?:\|[a-z]+)*(?= [A-Z])", synopsis)
            for word in words.split("|")]


def read_option(row):
    kind = kind_of(row)
    choices = row["arg"].split("|") if kind == "choice" else []
    return Option(row["name"], row["letter"], row["arg"], row["group"], row["key"], row["help"],
                  kind, choices)


def read_examples(rows):
    return [(row["line"], row["about"]) for row in rows]


def read(path):
    """The reference in a file that holds the output of `ringfort help --json`."""
    with open(path, encoding="utf-8") as file:
        dump = json.load(file)
    commands = [Command(row["name"], row["name"].split(), row["summary"], row["synopsis"],
                        row["about"], row["exits"], row["holds_others"],
                        read_examples(row["examples"]), [read_option(o) for o in row["options"]],
                        operands_of(row["synopsis"]), verbs_of(row["synopsis"]))
                for row in dump["commands"]]
    return Reference(dump["version"], dump["about"], dump["summary"],
                     read_examples(dump["examples"]), commands)


def top(reference):
    """The commands of one word."""
    return [command for command in reference.commands if len(command.words) == 1]


def beneath(reference, parent):
    """The commands that another one holds."""
    return [command for command in reference.commands
            if len(command.words) == 2 and command.words[0] == parent.name]


def groups(command):
    """The options of a command by their headings, in order."""
    found = collections.OrderedDict()
    for option in command.options:
        found.setdefault(option.group or "options", []).append(option)
    return found
