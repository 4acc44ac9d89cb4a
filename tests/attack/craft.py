"""What the table of attacks is made of: rows, controls and judges.

A row is one attack.  `kind` is the class that the score counts it in.  `expect` is the word it must
say in a box, with alternatives; `judge` looks from outside whether the deed was done, and counts for
more than the word.  `control` is the way to run it in which what stops it is not there: there it must
say "escaped" and the judge must agree, or the bounce in the box would prove nothing.  Where an
ordinary user and root need different controls, it is a pair (root's, user's).
"""
import collections
import os
import pathlib
import socket
import stat

Attack = collections.namedtuple("Attack", "kind name tries walls expect control run args judge options")


# --- controls ---

class Without(collections.namedtuple("Without", "walls options")):
    """The same box without these walls."""

    def run(self, scene, attack, args, options):
        return scene.without(self.walls, attack, *args, options=[*options, *self.options])

    def __str__(self):
        return "box without " + ", ".join(self.walls)


class Host(collections.namedtuple("Host", "")):
    """No box at all."""

    def run(self, scene, attack, args, options):
        return scene.on_host(attack, *args)

    def __str__(self):
        return "on the host"


class Unshare(collections.namedtuple("Unshare", "flags before after")):
    """Bare namespaces, with all capabilities over them and nothing else."""

    def run(self, scene, attack, args, options):
        before = self.before.format(**vars(scene)) if self.before else None
        return scene.in_unshare(self.flags, before, self.after, attack, *args)

    def __str__(self):
        return "bare namespaces"


class Open(collections.namedtuple("Open", "options")):
    """The same box, with a policy that allows it."""

    def run(self, scene, attack, args, options):
        return scene.in_box(attack, *args, options=[*options, *self.options])

    def __str__(self):
        return "box with " + " ".join(self.options)


class AnyProgram(collections.namedtuple("AnyProgram", "")):
    """The same box, whose policy does not say which programs it may run."""

    def run(self, scene, attack, args, options):
        scene.commands = []
        return scene.in_box(attack, *args, options=options)

    def __str__(self):
        return "box without --command"


class Shown(collections.namedtuple("Shown", "")):
    """The same box, whose policy hides nothing."""

    def run(self, scene, attack, args, options):
        scene.hides = ["--credentials", "show"]
        return scene.in_box(attack, *args, options=options)

    def __str__(self):
        return "box that hides nothing"


class Nobody(collections.namedtuple("Nobody", "why")):
    """No control: the kernel refuses this user with every wall down."""

    def __str__(self):
        return "none: " + self.why


def without(*walls, options=()):
    return Without(walls, options)


def unshare(*flags, before=None, after=None):
    return Unshare(flags, before, after)


HOST = Host()
ANY = AnyProgram()
SHOWN = Shown()
VIEW = without("mounts", "landlock")
KERNEL = Nobody("the kernel keeps it for root")


# --- judges: was the deed done? ---

def by_word(scene, said):
    return said.word == "escaped"


def stolen(scene, said):
    return scene.secret in said.loot


def dead(scene, said):
    return scene.victim_is_dead()


def heard(scene, said):
    return scene.was_heard()


def survives(scene, said):
    return bool(scene.survivors())


def made_setid(scene, said):
    return scene.planted(lambda st: st.st_mode & (stat.S_ISUID | stat.S_ISGID))


def made_device(scene, said):
    return scene.planted(lambda st: stat.S_ISCHR(st.st_mode) or stat.S_ISBLK(st.st_mode))


def made_capability(scene, said):
    path = scene.workdir / "planted-program"
    return path.exists() and "security.capability" in os.listxattr(path)


def made_note(scene, said):
    path = scene.workdir / "planted-note"
    return path.exists() and any(name.startswith("user.overlay.") for name in os.listxattr(path))


def claimed(scene, said):
    path = scene.workdir / "planted-space"
    return path.exists() and path.stat().st_blocks > 0


def shown_changed(scene, said):
    """What was shown read-only is not as it was."""
    path = scene.shown / "canary"
    return (sorted(p.name for p in scene.shown.iterdir()) != ["canary"] or
            path.read_text() != scene.secret or path.stat().st_mode & 0o777 != 0o666 or
            path.stat().st_nlink != 1)


def program_changed(scene, said):
    path = scene.workdir / "program"
    return path.read_bytes() != b"#" * 4096 and path.stat().st_mode & stat.S_ISUID


def output_changed(scene, said):
    return not scene.stdout_file.read_text().startswith(scene.secret)


def input_changed(scene, said):
    return scene.input_file.read_text() != scene.secret


def outside_changed(scene, said):
    """What lies outside is not as it was."""
    return (sorted(p.name for p in scene.outside.iterdir()) != ["canary"] or
            scene.canary.read_text() != scene.secret or scene.canary.stat().st_nlink != 1)


def private_changed(scene, said):
    """A hidden file is not what it was, or not where it was."""
    path = pathlib.Path(scene.hides[1] if scene.hides[0] == "--deny" else scene.shown / "folder/private")
    return scene.secret in said.loot or not path.exists() or path.read_text() != scene.secret


def size_learnt(scene, said):
    return said.loot == str(len(scene.secret))


def launcher_changed(scene, said):
    return pathlib.Path(scene.ringfort).read_bytes()[:4] != b"\x7fELF"


def core_left(scene, said):
    return by_word(scene, said) or any(p.name.startswith("core") for p in scene.workdir.iterdir())


def host_renamed(scene, said):
    return by_word(scene, said) or socket.gethostname() == scene.token


# --- the table ---

ATTACKS = []
KINDS = []  # the classes, in the order of the table


def begin(name):
    """Begins a class: the rows that follow belong to it."""
    KINDS.append(name)


def add(name, tries, walls, expect, control, run=None, args=lambda scene: [], judge=by_word,
        options=()):
    ATTACKS.append(Attack(KINDS[-1], name, tries, walls, expect, control, run or name, args, judge,
                          list(options)))


def out(scene):
    return [str(scene.canary)]


def beneath(scene):
    return os.path.relpath(scene.canary, scene.workdir)


def control_for(attack, who):
    if isinstance(attack.control, tuple) and not hasattr(attack.control, "_fields"):
        return attack.control[0 if who == "root" else 1]
    return attack.control


def control_tags(parameters):
    """What a sample of controls has at least once: each wall that is left out, each way to run, each class of attack."""
    control = control_for(parameters["attack"], parameters["as_who"])
    walls = control.walls if isinstance(control, Without) else ()
    return {type(control).__name__, parameters["attack"].kind, *walls}
