"""docs/cli.md: the reference of the command line, as one page."""
import commands


def cell(text):
    return text.replace("|", "\\|")


def option_row(option):
    names = f"`--{option.name}{' ' + cell(option.arg) if option.arg else ''}`"
    if option.letter:
        names = f"`-{option.letter}`, {names}"
    key = f"[`{option.key}`](policy.md)" if option.key else ""
    return f"| {names} | {cell(option.help)} | {key} |"


def command_lines(command):
    yield f"## ringfort {command.name}"
    yield ""
    yield "```"
    for line in command.synopsis.split("\n"):
        yield f"ringfort {command.name} {line}".rstrip()
    yield "```"
    yield ""
    yield from about_lines(command.about)
    for group, options in commands.groups(command).items():
        yield f"**{group[:1].upper()}{group[1:]}**"
        yield ""
        yield "| option | what it does | key |"
        yield "|---|---|---|"
        yield from (option_row(option) for option in options)
        yield ""
    if command.examples:
        yield from example_lines(command.examples)
    if command.exits:
        yield f"Exit codes: {' '.join(command.exits.split())}."
        yield ""


def about_lines(text):
    """Prose is one paragraph; what is laid out by spaces stays as it is."""
    for part in text.split("\n\n"):
        if any(line.startswith("  ") for line in part.split("\n")):
            yield "```"
            yield part
            yield "```"
        else:
            yield " ".join(part.split())
        yield ""


def example_lines(examples):
    yield "```console"
    for line, about in examples:
        yield f"$ {line}" + (f"    # {about}" if about else "")
    yield "```"
    yield ""


def make(reference):
    lines = ["# The command line", "",
             "Made from the program's own table of commands and options by `make docs`; `ringfort help COMMAND` "
             "and the manual pages", "say the same.", "",
             *about_lines(reference.about), "| command | |", "|---|---|"]
    for command in reference.commands:
        anchor = f"ringfort-{command.name.replace(' ', '-')}"
        lines.append(f"| [`ringfort {command.name}`](#{anchor}) | {cell(command.summary)} |")
    lines.append("")
    lines += example_lines(reference.examples)
    for command in reference.commands:
        lines += command_lines(command)
    return "\n".join(lines).rstrip("\n") + "\n"
