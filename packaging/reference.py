#!/usr/bin/python3
"""Makes what tells people about the commands from the program's own table of them.

    reference.py HELP.json DOCS OUT     man pages and completions, below the folder OUT
    reference.py --page HELP.json       docs/cli.md, on standard output

HELP.json is what `ringfort help --json` prints.  OUT gets the folders man, bash-completion, zsh and fish,
each as it lies below /usr/share.
"""
import pathlib
import shutil
import sys

import commands
import complete_bash
import complete_fish
import complete_zsh
import manual
import page


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def make(dump, docs, out):
    reference = commands.read(dump)
    for folder in ("man", "bash-completion", "zsh", "fish"):
        shutil.rmtree(out / folder, ignore_errors=True)  # what is no longer made must not stay
    for name, text in manual.make(reference, docs).items():
        write(out / "man" / f"man{name[-1]}" / name, text)
    write(out / "bash-completion/completions/ringfort", complete_bash.make(reference))
    write(out / "zsh/site-functions/_ringfort", complete_zsh.make(reference))
    write(out / "fish/vendor_completions.d/ringfort.fish", complete_fish.make(reference))


def main(arguments):
    if arguments[:1] == ["--page"] and len(arguments) == 2:
        sys.stdout.write(page.make(commands.read(arguments[1])))
    elif len(arguments) == 3:
        make(arguments[0], pathlib.Path(arguments[1]), pathlib.Path(arguments[2]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
