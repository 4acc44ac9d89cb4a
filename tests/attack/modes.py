"""Machines that give less: for each the way to have one here, what a box does there, and what it promises.

A mode is made by taking calls away (tests/lesser/older.c, forbid.c), never by a switch in the product.
`start` says what `ringfort run` does:

    runs       a whole box, as everywhere; nothing is missing
    weaker     refused with a remedy; under --weaker allow it runs, and the result names what is `missing`
    refused    nothing starts, also under --weaker allow, and the refusal says what to do

It is a pair (root's, user's) where the two differ.
Where a box runs, the whole catalogue is tried in it.  `gaps` are the attacks that get through there, each
with the words of `missing` that say so; every other attack must bounce.
"""
import collections
import json
import platform

import pytest

from catalogue import ATTACKS, KNOWN, X86_ONLY, Nobody, control_for
from lesser import NOT_PROMISED, NOT_PROMISED_TO_ROOT, WHOLE

Mode = collections.namedtuple("Mode", "name lacks words lesser start missing gaps gaps_of_root promises")

# What a kernel says to whoever asks for what it was built without.
LACKING = {"refused ENOSYS", "refused EAFNOSUPPORT", "refused EPROTONOSUPPORT", "refused EOPNOTSUPP",
           "refused ESOCKTNOSUPPORT", "refused ENOTSUP", "refused ENOTTY"}

MODES = []


def add(name, lacks, words, start, missing="", gaps=None, lesser=False, gaps_of_root=None, promises=""):
    MODES.append(Mode(name, lacks, words, lesser, start, missing, gaps or {}, gaps_of_root or {}, promises))


# What holds a named pipe in a tree that is shown read-only, an abstract socket on the host's network, and a
# program that is not named.
NO_LANDLOCK = {
    "fifo-read-only": "Landlock",
    "unix-abstract-net-host": "Landlock",
    "run-unnamed": "Landlock's right to execute",
    "run-descriptor": "Landlock's right to execute",
}
NO_SCOPE = {
    "unix-abstract-net-host": "Landlock's scope on abstract unix sockets",
}
LESSER = "namespaces of its own"

add("full", "nothing", "", "runs", promises="everything in [the threat model](threat-model.md)")
add("warden", "nothing; boxes come from a standing warden", "warden", "runs", promises="everything")
add("landlock-none", "Landlock", "landlock=0", "weaker", "Landlock", NO_LANDLOCK,
    promises="the mounts alone hold files; pipes in read-only trees, abstract sockets under `--net host` and "
             "`commands` are not held")
add("landlock-off", "Landlock, which is built in and switched off", "landlock=off", "weaker", "Landlock", NO_LANDLOCK,
    promises="as without it")
for number in range(1, 6):
    add(f"landlock-{number}", f"Landlock beyond ABI {number}", f"landlock={number}", "runs", "", NO_SCOPE,
        promises="everything; under `--net host` it is refused, or abstract sockets are `missing`" +
        ("; a file can't be moved to another directory" if number == 1 else ""))
add("landlock-6", "Landlock beyond ABI 6", "landlock=6", "runs", promises="everything")
add("openat2-none", "openat2", "openat2", "runs", promises="everything")
add("pidfd-none", "signals by descriptor (pidfd_send_signal, pidfd_open, pidfd_getfd)", "pidfd", "runs",
    promises="everything")
add("keyctl-none", "keyrings", "keyctl", "runs", promises="everything: there is nothing to be kept apart")
add("memfd-none", "memfd_create", "memfd", "runs", promises="everything")
add("cgroup-none", "control groups", "cgroup", "runs",
    promises="everything but hard limits: memory and cpu time are sampled, processes an rlimit, and the result's "
             "grades say so; `limits.require: hard` is refused")
add("idmap-none", "idmapped mounts", "idmap", ("weaker", "runs"), "idmapped mounts",
    promises="everything; as root, a box that writes a directory of root's is refused, or has root's uid on the "
             "host, without capabilities, which `missing` says")
add("clone3-none", "clone3", "clone3", "refused", "Linux 5.12", promises="nothing starts")
add("close-range-none", "close_range", "close_range", "refused", "Linux 5.12", promises="nothing starts")
add("mount-setattr-none", "mount_setattr", "mount_setattr", "refused", "Linux 5.12", promises="nothing starts")
add("seccomp-none", "system call filters", "seccomp", "refused", "CONFIG_SECCOMP_FILTER", promises="nothing starts")
add("lesser", "user namespaces", "", "weaker", LESSER, NOT_PROMISED, True, NOT_PROMISED_TO_ROOT,
    promises="[the lesser box](lesser-box.md)")
add("mount-api-none", "the mount API of Linux 5.2", "mount_api", "weaker", LESSER, NOT_PROMISED, True,
    NOT_PROMISED_TO_ROOT, promises="[the lesser box](lesser-box.md)")
SIGNALS = "signals kept inside (Landlock ABI 6)"
NO_SIGNALS = {**NOT_PROMISED, **{name: SIGNALS for name in (
    "signal-outside", "reach-tkill", "reach-tgkill", "reach-sigqueue", "signal-pidfd", "signal-owner", "signal-pid-1")}}
add("lesser-landlock-5", "user namespaces, and Landlock beyond ABI 5", "landlock=5", "weaker", SIGNALS,
    NO_SIGNALS, True, NOT_PROMISED_TO_ROOT, promises="[the lesser box](lesser-box.md), but for signals")
add("lesser-landlock-3", "user namespaces, and Landlock beyond ABI 3", "landlock=3", "weaker", SIGNALS,
    NO_SIGNALS, True, NOT_PROMISED_TO_ROOT, promises="[the lesser box](lesser-box.md), but for signals")
add("lesser-landlock-2", "user namespaces, and Landlock beyond ABI 2", "landlock=2", "refused", "Landlock", lesser=True,
    promises="nothing starts")
add("lesser-landlock-none", "user namespaces and Landlock", "landlock=0", "refused", "Landlock", lesser=True,
    promises="nothing starts")

BY_NAME = {mode.name: mode for mode in MODES}


def start_of(mode, who):
    return mode.start if isinstance(mode.start, str) else mode.start[0 if who == "root" else 1]


def attacks_of(mode):
    """The catalogue; and in a lesser box what only it has to fear."""
    return [attack for attack in (WHOLE if mode.lesser else ATTACKS)
            if platform.machine() == "x86_64" or attack.name not in X86_ONLY]


class Tools(collections.namedtuple("Tools", "older forbid wardens")):
    """The programs with which a mode is made; and for each user the runtime directory and room of a warden."""

    def enter(self, scene, mode):
        """From now on the scene is a machine of this mode."""
        scene.is_weaker = start_of(mode, scene.who) != "runs"
        scene.is_lesser = mode.lesser
        if mode.words == "cgroup":
            if scene.uid:
                pytest.skip("where an ordinary user has no group, this is the full box")
            scene.forbidden = ["unshare", "--mount", "sh", "-c", 'umount -R -l /sys/fs/cgroup; exec "$@"', "sh"]
        elif mode.words == "warden":
            scene.has_warden = True
            scene.env["XDG_RUNTIME_DIR"], room = self.wardens[scene.who]
            if room:
                scene.forbidden = ["nsenter", f"--target={room}", "--mount", f"--wdns={scene.workdir}"]
        elif mode.words:
            scene.forbidden = [self.older, mode.words]
        if mode.lesser and mode.words != "mount_api":
            scene.forbidden += ([self.forbid, "eperm"] if scene.uid else
                                ["setpriv", "--bounding-set", "-sys_admin", "--"])


# `word` is contained, gap (it gets through, is not promised, and the result says so), refused (the policy
# asks for what this mode can't give, and nothing starts), known (documented for every box), skipped, broken.
Outcome = collections.namedtuple("Outcome", "word story")


# --- the start ---

def look_at_start(scene, mode):
    """What `ringfort run` does in this mode is what the table says; the scene is already one."""
    scene.is_weaker, is_lesser, scene.is_lesser = False, scene.is_lesser, False
    marker = scene.workdir / "marker"
    plain = scene.launch([*scene.box_command(), "touch", "marker"])
    start = start_of(mode, scene.who)
    if start == "runs":
        is_running = plain.code == 0 and marker.exists()
        return Outcome("contained", "") if is_running else Outcome("broken", f"it does not run: {plain}")
    if plain.code not in (125, 126) or marker.exists() or "hint:" not in plain.err:
        return Outcome("broken", f"it is not refused with a remedy: {plain}")
    scene.is_weaker, scene.is_lesser = True, is_lesser
    leave = scene.launch([*scene.box_command("--json"), "touch", "marker"])
    result = json.loads(leave.out)
    if start == "refused":
        said = f"{result['error']['message']} {result['error'].get('remedy') or ''}"
        if leave.code not in (125, 126) or marker.exists() or mode.missing not in said:
            return Outcome("broken", f"it is not refused with a remedy: {leave}")
        return Outcome("contained", "")
    lacks = result["isolation"]["missing"]
    if leave.code or not lacks or not any(words.startswith(mode.missing) for words in lacks):
        return Outcome("broken", f"it does not run, or does not say what it lacks: {leave}")
    return Outcome("contained", "")


# --- one attack ---

def missing(scene, options):
    said = scene.launch([*scene.box_command("--json", *options), "sh", "-c", ":"])
    try:
        return json.loads(said.out)["isolation"]["missing"]
    except (ValueError, KeyError):
        return []


def excuse_for(mode, attack, who):
    if who == "root" and attack.name in mode.gaps_of_root:
        return mode.gaps_of_root[attack.name]
    return mode.gaps.get(attack.name)


def attempt(mode, attack, scene, who):
    """Tries one attack in a box of this mode; the scene is already one."""
    try:
        args = attack.args(scene)
        said = scene.in_box(attack.run, *args, options=attack.options)
        is_done = attack.judge(scene, said)
    except pytest.skip.Exception as reason:
        return Outcome("skipped", str(reason))
    excuse = excuse_for(mode, attack, who)
    if said.code in (125, 126) and said.word == "nothing":
        if is_done or start_of(mode, who) == "runs" and not (excuse and "--weaker allow" in said.err):
            return Outcome("broken", f"nothing ran: {said}")
        if scene.is_weaker:
            return Outcome("refused", said.err)
        scene.is_weaker = True  # it is refused unless the caller takes less
        said = scene.in_box(attack.run, *args, options=attack.options)
        is_done = attack.judge(scene, said)
    if attack.name in KNOWN:
        return Outcome("known", KNOWN[attack.name])
    if excuse:
        if not is_done:
            return Outcome("broken", f"a gap that is closed must be taken off the list: {said}")
        if not any(words.startswith(excuse) for words in missing(scene, attack.options)):
            return Outcome("broken", f"it gets through, and the result does not say that it lacks {excuse}")
        return Outcome("gap", excuse)
    if is_done:
        return Outcome("broken", f"the deed was done: {said}")
    if scene.secret in said.out and not scene.stdout_file:
        return Outcome("broken", f"it has the secret: {said}")
    if mode.name == "full" and said.word not in attack.expect.split("|"):
        return Outcome("broken", f"another word: {said}")
    if not said.word.startswith(("refused ", "killed ")) and said.word not in attack.expect.split("|"):
        return Outcome("broken", f"no word: {said}")
    return Outcome("contained", "")


def prove(attack, scene, who):
    """Tries its control: "proven" if it escapes there; "absent" if there is nothing to be lifted here."""
    control = control_for(attack, who)
    if type(control) is Nobody:  # pylint: disable=unidiomatic-typecheck
        return Outcome("absent", control.why)
    try:
        args = attack.args(scene)
        said = control.run(scene, attack.run, args, attack.options)
        is_done = attack.judge(scene, said)
    except pytest.skip.Exception as reason:
        return Outcome("absent", str(reason))
    if said.word in LACKING:
        return Outcome("absent", f"this kernel lacks it ({said.word.split()[1]})")
    if said.word == "escaped" and is_done:
        return Outcome("proven", "")
    return Outcome("broken", f"its control does not escape: {said}")


def table():
    """The table in docs/attacks.md."""
    lines = ["| mode | the machine lacks | a box there | what it promises |", "|---|---|---|---|"]
    says = {"runs": "runs, nothing is missing", "weaker": "refused; `--weaker allow` runs it, and `missing` says",
            "refused": "refused, always"}
    for mode in MODES:
        root, user = says[start_of(mode, "root")], says[start_of(mode, "user")]
        box = root if root == user else f"root: {root}; user: {user}"
        lines.append(f"| {mode.name} | {mode.lacks} | {box} | {mode.promises} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
