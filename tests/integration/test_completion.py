"""Completions do in bash, zsh and fish what a user expects, each in its real shell.

One table of lines holds for all three: what must be offered at the end of a line, and what must not.
"""
import contextlib
import json
import os
import pathlib
import pty
import re
import subprocess

import pytest
from helpers import eventually
from sampling import some

ROOT = pathlib.Path(__file__).resolve().parents[2]
MADE = ROOT / "build/packaging"

BASH = r"""
. "$1"
read -ra COMP_WORDS <<<"$2"
[[ $2 != *' ' ]] || COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_ringfort "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"""

# A tab in a real line editor; what is offered to it goes to a file as well.
ZSH = r"""
PS1=; fpath=(%(folder)s $fpath); autoload -U compinit; compinit -D -u; setopt noautomenu noautolist
compadd() {
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
    local -a hits; builtin compadd -A hits "$@"; print -rl -- $hits >>%(out)s
  fi
  builtin compadd "$@"
}
tab() { zle complete-word; print -r END >>%(out)s }
zle -N tab; bindkey '^I' tab; print -r BEGUN >>%(out)s
"""


CLEAR = b"\x15"  # kills the line that stands there


class Shells:
    """Asks each shell what it offers at the end of a line."""

    def __init__(self, folder, ringfort):
        self.folder, self.editor = folder, None
        self.made = folder / "made"
        subprocess.run(["cp", "-r", MADE, self.made], check=True)
        (folder / "there").mkdir()
        (folder / "there/agent.yaml").touch()
        profiles = folder / "config/ringfort/profiles"
        profiles.mkdir(parents=True)
        (profiles / "mine.yaml").write_text("limits: { memory: 1G }\n")
        self.env = {"PATH": f"{os.path.dirname(ringfort)}:/usr/bin:/bin", "HOME": str(folder),
                    "LANG": "C.UTF-8", "TERM": "xterm", "XDG_CONFIG_HOME": str(folder / "config"),
                    "XDG_DATA_HOME": str(folder / "data"), "XDG_DATA_DIRS": "/usr/share"}

    def run(self, *words):
        done = subprocess.run(words, cwd=self.folder / "there", env=self.env, capture_output=True, text=True,
                              timeout=60, check=False)
        assert done.returncode == 0 and done.stderr == "", done
        return done.stdout.splitlines()

    def bash(self, line):
        # As readline does it: = and : are words of their own.
        words = re.sub(r"=", " = ", line) if re.search(r"--\w[\w-]*=", line) else line
        return self.run("bash", "--norc", "-c", BASH, "bash",
                        str(self.made / "bash-completion/completions/ringfort"), words)

    def fish(self, line):
        script = f"source {self.made}/fish/vendor_completions.d/ringfort.fish; complete -C {json.dumps(line)}"
        # With --net=, fish gives the whole word.
        return [offer.split("\t")[0].rpartition("=")[2] for offer in self.run("fish", "-c", script)]

    def zsh(self, line):
        """One shell for all lines: what it loads for completions takes it a second."""
        if not self.editor:
            self.editor = Editor(self.folder, self.made, self.env)
        return self.editor.offers(line)

    def close(self):
        if self.editor:
            self.editor.close()


class Editor:
    """A zsh at a terminal, in which lines are begun and tabs are hit."""

    def __init__(self, folder, made, env):
        self.out = folder / "offers"
        self.terminal, its = pty.openpty()
        self.process = subprocess.Popen(["zsh", "-f", "-i"], stdin=its, stdout=its, stderr=its, env=env,
                                        cwd=folder / "there", start_new_session=True)
        os.close(its)
        os.set_blocking(self.terminal, False)
        setup = folder / "setup.zsh"
        setup.write_text(ZSH % {"folder": made / "zsh/site-functions", "out": self.out})
        os.write(self.terminal, f". {setup}\n".encode())
        assert eventually(lambda: self.has_said("BEGUN"), 30)

    def has_said(self, word):
        with contextlib.suppress(OSError):  # what is drawn is of no interest, but somebody has to take it
            while os.read(self.terminal, 65536):
                pass
        return self.out.exists() and f"{word}\n" in self.out.read_text(errors="replace")

    def offers(self, line):
        self.out.write_text("")
        os.write(self.terminal, CLEAR + line.encode() + b"\t")
        assert eventually(lambda: self.has_said("END"), 30), self.out.read_text()
        return [offer.rstrip("=") if offer.startswith("--") else offer
                for offer in self.out.read_text().split("END\n")[0].splitlines()]

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)


@pytest.fixture(scope="module")
def shells(tmp_path_factory, ringfort):
    if not MADE.exists():
        pytest.skip("no completions were built on this machine")
    made = Shells(tmp_path_factory.mktemp("shells"), ringfort)
    yield made
    made.close()


SHELLS = ["bash", "zsh", "fish"]

# A line, what must be offered at its end, and what must not.
CASES = [
    ("ringfort ", {"run", "policy", "doctor", "help"}, {"check"}),
    ("ringfort ru", {"run"}, {"policy"}),
    ("ringfort --ver", {"--version"}, {"run"}),
    ("ringfort policy ", {"check", "explain"}, {"run"}),
    ("ringfort policy why ", {"read", "write", "connect"}, {"PATH"}),
    ("ringfort policy why read ag", {"agent.yaml"}, set()),
    ("ringfort shell --me", {"--memory"}, set()),
    ("ringfort policy expl", {"explain"}, {"check"}),
    ("ringfort policy explain --sys", {"--syscalls"}, {"--stats"}),
    ("ringfort policy check ag", {"agent.yaml"}, set()),
    ("ringfort run --me", {"--memory"}, {"--write"}),
    ("ringfort run --current ", {"read", "none"}, {"agent.yaml"}),
    ("ringfort run --current=n", {"none"}, {"read"}),
    ("ringfort run --net ", {"none", "host"}, {"agent.yaml"}),
    ("ringfort run --unix o", {"on", "off"}, set()),
    ("ringfort run --profile ", {"default", "python", "strict", "mine"}, {"agent.yaml"}),
    ("ringfort run -p st", {"strict"}, {"python"}),
    ("ringfort run --memory 64M -p m", {"mine"}, {"strict"}),
    ("ringfort run --policy ag", {"agent.yaml"}, set()),
    ("ringfort run --read ag", {"agent.yaml"}, set()),
    ("ringfort run -- setpr", {"setpriv"}, set()),
    ("ringfort run setpr", {"setpriv"}, set()),
    ("ringfort run --time 1s -- cat ag", {"agent.yaml"}, {"--memory"}),
    ("ringfort run cat ag", {"agent.yaml"}, set()),
    ("ringfort help pol", {"policy"}, {"run"}),
    ("ringfort doctor --", {"--json", "--help"}, {"--memory"}),
]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("line, wanted, unwanted", CASES, ids=[case[0] for case in CASES])
def test_what_is_offered(shells, need, shell, line, wanted, unwanted):
    need(shell)
    offers = set(getattr(shells, shell)(line))
    assert wanted <= offers and not unwanted & offers, sorted(offers)[:50]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_second_profile_can_be_named_after_a_comma(shells, need, shell):
    need(shell)
    offers = getattr(shells, shell)("ringfort run --profile python,st")
    assert {"python,strict", "strict"} & set(offers), offers


@pytest.mark.parametrize("shell", SHELLS)
def test_every_option_of_every_command_is_offered(shells, call, need, shell):
    need(shell)
    for command in some(json.loads(call("help", "--json").out)["commands"], shell):
        wanted = {f"--{option['name']}" for option in command["options"]}
        offers = set(getattr(shells, shell)(f"ringfort {command['name']} --"))
        assert wanted - {"--help"} <= offers, (command["name"], wanted - offers)


def test_fish_and_bash_hand_the_line_to_the_programs_own_completion(shells, need):
    need("fish", "git")
    assert "--all" in shells.fish("ringfort run -- ls --al")
    assert "status" in shells.fish("ringfort run --memory 64M git stat")
    script = shells.made / "bash-completion/completions/ringfort"
    before = script.read_text()
    script.write_text(before + "_command_offset() { COMPREPLY=(\"offset $1\"); }\n")
    try:
        assert shells.bash("ringfort run --memory 64M -- ls --al") == ["offset 5"]
        assert shells.bash("ringfort run ls --al") == ["offset 2"]
    finally:
        script.write_text(before)


def test_zsh_hands_the_line_to_the_programs_own_completion(shells, need):
    need("zsh")
    assert "--preserve-context" not in shells.zsh("ringfort run --me")
    assert "--reference" in shells.zsh("ringfort run -- chmod --ref")


def test_the_shells_find_nothing_wrong_with_their_scripts(shells, need):
    for shell, path, check in (("bash", "bash-completion/completions/ringfort", "-n"),
                               ("zsh", "zsh/site-functions/_ringfort", "-n"),
                               ("fish", "fish/vendor_completions.d/ringfort.fish", "--no-execute")):
        need(shell)
        assert shells.run(shell, check, str(shells.made / path)) == []


def test_names_that_can_not_be_listed_are_refused(call):
    done = call("help", "--names", "spoons")
    assert done.code == 125 and b"spoons" in done.err and b"hint: " in done.err
