"""The contenders of bench/run: Ringfort, the program alone, and what others contain programs with.

All are given the same work: no network, a read-only root with the host's /usr, a /tmp of their own.
What each raises beyond that differs, and `raises` says it.  A peer runs as its own documentation
has it; where this machine needs a flag for it to start at all, the flag is here with its reason.
"""
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOME = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
# Where `bench/peers install` puts what is not a package of the distribution.
PEERS = pathlib.Path(os.environ.get("RINGFORT_PEERS") or HOME / "ringfort-peers")
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
IMAGE = "ringfort-bench"
UNIFIED = "/sys/fs/cgroup/unified"


@dataclasses.dataclass
class Contender:
    """Something that runs a program, for bench/run to measure."""
    name: str
    raises: str              # what it puts around the program, in a few words
    argv: object             # (program's words, place, number) -> words to run it with
    needs: tuple = ()        # programs that must be there
    how: str = ""            # how to get them
    dear: int = 1            # measured in 1/dear of the rounds
    before: object = None    # (place) -> None: makes it ready; raises OSError where it can't be
    after: object = None     # (place) -> None
    held: object = None      # words -> words for a box that is to stay, where they differ
    room: str = ""           # commands that arrange the mounts of a namespace for it to run in
    rest_ms: int = 0         # how long something of it works on after the command has ended
    for_users: bool = False  # an ordinary user can run it as it is
    version: object = None   # () -> its version


class Place:
    """A folder that the contenders of one run share, and what they keep running meanwhile."""

    def __init__(self, folder, ringfort):
        self.folder = pathlib.Path(folder)
        self.ringfort = str(ringfort)
        self.work = self.folder / "work"
        self.daemon = None
        self.wardens = []
        self.rooms = {}

    def environment(self):
        return {"PATH": PATH, "LANG": "C.UTF-8", "HOME": str(self.folder / "home"),
                "XDG_RUNTIME_DIR": str(self.folder / "runtime"),
                "CODEX_HOME": str(PEERS / "codex-home"),
                "DOCKER_HOST": f"unix://{self.folder}/docker/sock"}

    def room(self, contender):
        """The process in whose mount namespace a contender runs, or None; made when first asked for."""
        if not contender.room or os.geteuid():
            return None
        if contender.name not in self.rooms:
            holder = subprocess.Popen(
                ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                 f"{contender.room} && echo ready && exec sleep infinity"], env=self.environment(),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            if not holder.stdout.readline():
                raise OSError("its mounts can't be made")
            self.rooms[contender.name] = holder
        return self.rooms[contender.name].pid

    def enter(self, contender):
        """What to put before a command so that it runs there."""
        pid = self.room(contender)
        return ["nsenter", f"--target={pid}", "--mount", f"--wdns={self.work}"] if pid else []

    def close(self):
        for process in [*self.wardens, *self.rooms.values()]:
            process.terminate()
            process.wait()

    def run(self, *words, check=True, timeout=60):
        return subprocess.run([str(word) for word in words], env=self.environment(),
                              cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", check=check, timeout=timeout)


def found(program):
    """Its full name, looked for where `bench/peers` installs and where the distribution does."""
    own = PEERS / "bin" / program
    if own.exists():
        return str(own)
    # The distribution's before /usr/local: a client and its daemon should be of one make.
    return shutil.which(program, path="/usr/bin:/usr/sbin:" + PATH)


def version_of(program, *words):
    def ask():
        said = subprocess.run([found(program), *(words or ["--version"])], capture_output=True,
                              text=True, check=False)
        return (said.stdout or said.stderr).split("\n")[0].strip()
    return ask


def runsc_version():
    """What Go built does not know its own version; Go does."""
    if not (PEERS / "bin/runsc").exists():
        return version_of("runsc")()
    said = subprocess.run(["go", "version", "-m", PEERS / "bin/runsc"], capture_output=True,
                          text=True, check=False).stdout
    return next((line.split()[2] for line in said.split("\n") if line.split()[:1] == ["mod"]), "")


# --- our own standing warden ---

# A folder for its socket that nobody else sees: the machine's other boxes go on without it.  What
# all boxes of root must agree upon stays where it is.
WARDEN_ROOM = """
	mkdir -p -m 700 /run/ringfort/boxes && touch /run/ringfort/uids &&
	mount --bind /run/ringfort "$HOME" && mount -t tmpfs -o mode=700 none /run/ringfort &&
	mkdir -m 700 /run/ringfort/boxes && touch /run/ringfort/uids &&
	mount --bind "$HOME/boxes" /run/ringfort/boxes &&
	mount --bind "$HOME/uids" /run/ringfort/uids && umount "$HOME" """


def ringfort_warden():
    path = ROOT / "build/ringfort-warden"
    return path if path.exists() else None


def bench_floor():
    path = ROOT / "build/bench-floor"
    return path if path.exists() else None


def warden_before(place, prefix=()):
    """Starts one for whoever `prefix` makes us; root's stands in a room of its own."""
    before = list(prefix) or place.enter(by_name("**ringfort run, with a warden**"))
    place.wardens.append(subprocess.Popen(
        [*before, place.ringfort, "warden"], env=place.environment(), cwd=place.work,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    until = time.monotonic() + 10
    while place.run(*before, place.ringfort, "warden", "--status", check=False).returncode:
        if time.monotonic() > until:
            raise OSError("the warden does not start here")
        time.sleep(0.05)


# --- OCI: one root and one configuration, as each runtime's own `spec` writes it ---

def make_root(place):
    """A root whose /usr is the host's: a few folders and links."""
    root = place.folder / "rootfs"
    if root.exists():
        return root
    for name in ("usr", "proc", "dev", "sys", "tmp", "etc"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    return root


def make_bundle(runtime):
    """A function that writes a bundle for each program that is measured."""
    def make(place):
        make_root(place)
        model = place.folder / f"{runtime}-spec"
        model.mkdir()
        subprocess.run([found(runtime), "spec"], cwd=model, check=True, capture_output=True)
    return make


def bundle(runtime, place, program):
    """The folder of a bundle that runs `program`, written when it is first asked for."""
    folder = place.folder / f"{runtime}-{pathlib.Path(program[0]).name}"
    if folder.exists():
        return str(folder)
    spec = json.loads((place.folder / f"{runtime}-spec/config.json").read_text())
    spec["process"].update(terminal=False, args=list(program))
    spec["root"] = {"path": str(place.folder / "rootfs"), "readonly": True}
    spec["mounts"] += [
        {"destination": "/usr", "type": "bind", "source": "/usr", "options": ["rbind", "ro"]},
        {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"]},
    ]
    # A network namespace without a way out is what `spec` asks for; runsc's asks for none at all.
    kinds = {row["type"] for row in spec["linux"]["namespaces"]}
    spec["linux"]["namespaces"] += [{"type": kind} for kind in {"network"} - kinds]
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(spec))
    return str(folder)


# --- podman and docker: an image of the same root ---

def podman_words(place):
    return [found("podman"), "--root", f"{place.folder}/podman", "--runroot",
            f"{place.folder}/podman-run", "--cgroup-manager", "cgroupfs", "--runtime", "runc"]


def podman_before(place):
    place.run("tar", "-C", make_root(place), "-cf", place.folder / "image.tar", ".")
    place.run(*podman_words(place), "import", place.folder / "image.tar", IMAGE)


def in_background(words):
    """A client that waits for its box is no part of the box: it can be left out."""
    at = words.index("run") + 1
    return [*words[:at], "--detach", *words[at:]]


def docker_before(place):
    """A daemon of our own, in our own folder, whether or not the machine has one."""
    folder = place.folder / "docker"
    folder.mkdir()
    place.run("tar", "-C", make_root(place), "-cf", place.folder / "image.tar", ".")
    with open(folder / "log", "wb") as log:
        # No bridge and no firewall's rules: the boxes have no network, and the machine's is not ours.
        place.daemon = subprocess.Popen(
            [found("dockerd"), "--bridge=none", "--iptables=false", "--ip6tables=false",
             # Root without CAP_SYS_RESOURCE can't raise its limits, which is the default.
             "--default-ulimit", "nofile=512:512", "--data-root", folder / "data", "--exec-root",
             folder / "exec", "--pidfile", folder / "pid", "-H", f"unix://{folder}/sock"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=place.environment(),
            start_new_session=True)
    until = time.monotonic() + 30
    while place.run(found("docker"), "info", check=False).returncode:
        if time.monotonic() > until or place.daemon.poll() is not None:
            docker_after(place)
            raise OSError("its daemon does not start here: " +
                          (folder / "log").read_text(errors="replace").strip().split("\n")[-1])
        time.sleep(0.2)
    place.run(found("docker"), "import", place.folder / "image.tar", IMAGE)


def docker_after(place):
    if place.daemon:
        place.daemon.terminate()
        try:
            place.daemon.wait(20)
        except subprocess.TimeoutExpired:
            place.daemon.kill()
            place.daemon.wait()
        place.daemon = None


# --- the coding agents' own ---

def codex_binary():
    """The program itself: the command that npm installs starts Node first, which takes longer."""
    return next(iter(PEERS.glob("npm/node_modules/@openai/codex-linux-*/vendor/*/bin/codex")), None)


def srt_script():
    path = PEERS / "npm/node_modules/.bin/srt"
    return path if path.exists() else None


def npm_version(package):
    def ask():
        path = PEERS / "npm/node_modules" / package / "package.json"
        return json.loads(path.read_text())["version"]
    return ask


# --- the table ---

BWRAP = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session",
         "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib",
         "--symlink", "usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin"]


def bwrap_most(program, place, _number):
    """The mounts that a box of ours has, so that the same programs run."""
    words = [found("bwrap"), *BWRAP[1:], "--symlink", "usr/sbin", "/sbin"]
    for path in ("/etc/ld.so.cache", "/etc/ssl/certs", "/etc/alternatives", "/etc/nsswitch.conf",
                 "/etc/fonts", "/etc/mime.types"):
        words += ["--ro-bind-try", path, path]
    return [*words, "--ro-bind", str(place.work), "/work", "--proc", "/proc", "--dev", "/dev",
            "--tmpfs", "/tmp", "--tmpfs", "/home", "--tmpfs", "/run", "--chdir", "/work", *program]


def runsc_words(program, place, number):
    return [found("runsc"), "--platform=systrap" if (PEERS / "bin/runsc").exists() else
            "--platform=ptrace", "--network=none", "--ignore-cgroups", "--root",
            f"{place.folder}/runsc-state", "run", "-bundle", bundle("runsc", place, program),
            f"rf-bench-{number}"]


APT = "bench/peers install (a package of the distribution)"
NPM = "bench/peers install (from npm)"

# One contender a row, the cheapest first.
TABLE = [
    Contender("bare exec", "nothing", lambda program, place, number: list(program), for_users=True),
    Contender("**ringfort run**", "every wall, and a proof of each",
              lambda program, place, number: [place.ringfort, "run", "--no-warden", "--", *program],
              for_users=True),
    Contender("**ringfort run, with a warden**", "the same, and the next box stands ready",
              lambda program, place, number: [place.ringfort, "run", "--", *program],
              (ringfort_warden,), "make build", before=warden_before, room=WARDEN_ROOM,
              rest_ms=10, for_users=True),
    Contender("the kernel's steps alone", "the same walls; no proof of them, no policy, no result",
              lambda program, place, number: [place.folder / "bin/bench-floor", "once", *program],
              (bench_floor,), "bench/build"),
    Contender("bwrap, comparable mounts", "namespaces, mounts", bwrap_most, ("bwrap",), APT,
              for_users=True, version=version_of("bwrap")),
    Contender("bwrap, fewest mounts", "namespaces, mounts",
              lambda program, place, number: [found("bwrap"), *BWRAP[1:], "--proc", "/proc",
                                              "--dev", "/dev", "--tmpfs", "/tmp", *program],
              ("bwrap",), APT, for_users=True),
    # It does not know machines that have both versions of cgroups mounted.
    Contender("crun", "namespaces, mounts, capabilities, cgroups",
              lambda program, place, number: [found("crun"), "run", "-b",
                                              bundle("crun", place, program),
                                              f"rf-bench-{number}"],
              ("crun",), APT, dear=3, before=make_bundle("crun"),
              room=f"{{ ! mountpoint -q {UNIFIED} || umount --lazy {UNIFIED}; }}",
              version=version_of("crun")),
    Contender("runc", "namespaces, mounts, capabilities, cgroups",
              lambda program, place, number: [found("runc"), "run", "-b",
                                              bundle("runc", place, program),
                                              f"rf-bench-{number}"],
              ("runc",), APT, dear=3, before=make_bundle("runc"), version=version_of("runc")),
    Contender("firejail", "namespaces, mounts",
              lambda program, place, number: [found("firejail"), "--quiet", "--noprofile",
                                              "--net=none", "--read-only=/", "--private-tmp",
                                              *program],
              ("firejail",), APT, dear=5, version=version_of("firejail")),
    Contender("codex sandbox", "namespaces, mounts, a system call filter (through bwrap)",
              lambda program, place, number: [str(codex_binary()), "sandbox", "--", *program],
              (codex_binary,), NPM, dear=5, version=npm_version("@openai/codex")),
    Contender("runsc (gVisor)", "a kernel of its own in user space", runsc_words, ("runsc",),
              "bench/peers install (from Go's modules, or a package of the distribution)", dear=10,
              before=make_bundle("runsc"), version=runsc_version),
    Contender("podman, runc", "namespaces, mounts, capabilities, cgroups, a system call filter",
              lambda program, place, number: [
                  *podman_words(place), "run", "--rm", "--network", "none", "--read-only",
                  "--tmpfs", "/tmp", "--ulimit", "nofile=512:512", "--ulimit", "nproc=512:512",
                  "-v", "/usr:/usr:ro", IMAGE, *program],
              ("podman", "runc"), APT, dear=15, before=podman_before, held=in_background,
              version=version_of("podman")),
    Contender("docker, runc", "namespaces, mounts, capabilities, cgroups, a system call filter",
              lambda program, place, number: [
                  found("docker"), "run", "--rm", "--network", "none", "--read-only", "--tmpfs",
                  "/tmp", "-v", "/usr:/usr:ro", IMAGE, *program],
              ("docker", "dockerd", "runc"), APT, dear=15, before=docker_before,
              after=docker_after, held=in_background, version=version_of("dockerd")),
    Contender("srt (sandbox-runtime)", "namespaces, mounts, a proxy (through bwrap)",
              lambda program, place, number: [str(srt_script()), "--", *program],
              (srt_script, "bwrap", "socat", "rg", "node"), NPM, dear=20,
              version=npm_version("@anthropic-ai/sandbox-runtime")),
]


def by_name(name):
    return next(contender for contender in TABLE if contender.name == name)


def lacks(contender):
    """The programs that it needs and that are not there."""
    return [need if isinstance(need, str) else need.__name__.replace("_", " ")
            for need in contender.needs
            if not (found(need) if isinstance(need, str) else need())]
