"""Attacks on what a policy hides in the trees that it shows: files.deny, and well-known credentials."""
from craft import SHOWN, add, begin, private_changed, size_learnt, stolen

begin("hidden files")

REFUSED = "refused EACCES"
MOUNT = "mounts (a cover over the file)"


def hide(name, tries, walls, expect, run, args, judge=stolen):
    add(name, tries, walls, expect, SHOWN, run, args, judge)


def denied(scene, right="--read"):
    return [str(scene.denied(right))]


hide("deny-read", "read a denied file by its path", MOUNT, REFUSED, "read", denied)
hide("deny-dotdot", "the same with .. on the way", MOUNT, REFUSED, "read",
     lambda s: [str(s.denied().parent / "../folder/./private")])
hide("deny-cwd", "the same from the folder it lies in", MOUNT, REFUSED, "read-beneath",
     lambda s: [str(s.denied().parent), "private"])
hide("deny-proc-root", "the same through /proc/self/root", MOUNT, REFUSED, "read",
     lambda s: ["/proc/self/root" + str(s.denied())])
hide("deny-link", "the same through a link planted elsewhere", MOUNT, REFUSED, "read-link", denied)
hide("deny-reopen", "the same through a descriptor that was opened for its name only", MOUNT, REFUSED,
     "read-reopened", denied)
hide("deny-copy", "have the kernel copy it", MOUNT, REFUSED, "copy-within-kernel", denied)
hide("deny-second-place", "the same where the tree is shown at a second place", MOUNT, REFUSED, "read",
     lambda s: (path := s.denied()) and s.box_options.extend(["--read", f"{s.shown}:/mnt/second"])
     or ["/mnt/second/folder/" + path.name])
hide("deny-size", "learn its size", MOUNT, "escaped|refused ENOENT|refused EACCES", "look", denied, size_learnt)
hide("deny-hard-link", "give it a second name in a writable tree", MOUNT, "refused EXDEV", "read-second-name",
     lambda s: denied(s, "--write"), private_changed)
hide("deny-rename", "give it another name in a writable tree", MOUNT, "refused EBUSY", "read-renamed",
     lambda s: denied(s, "--write"), private_changed)
hide("deny-exchange", "exchange it with a file of one's own", MOUNT, "refused EBUSY", "read-exchanged",
     lambda s: denied(s, "--write"), private_changed)
hide("deny-move-folder", "move the folder in which it lies", MOUNT, "refused EBUSY", "read-moved-folder",
     lambda s: [str(s.denied("--write").parent), "private"], private_changed)
hide("deny-race", "read it while that folder is exchanged with another, again and again", MOUNT, REFUSED,
     "read-moving", lambda s: [str(s.denied("--write").parent), "private"], stolen)
hide("deny-unlink", "remove it", MOUNT, "refused EBUSY", "unlink", lambda s: denied(s, "--write"), private_changed)
hide("deny-overwrite", "overwrite it", MOUNT, REFUSED, "overwrite", lambda s: denied(s, "--write"),
     private_changed)
hide("deny-truncate", "truncate it", MOUNT, "refused EACCES|refused EROFS", "truncate",
     lambda s: denied(s, "--write"), private_changed)
hide("deny-replace", "put another file in its place", MOUNT, "refused EBUSY", "replace",
     lambda s: denied(s, "--write"), private_changed)


def denied_folder(scene):
    path = scene.denied()
    scene.hides = ["--deny", str(path.parent)]
    return path


hide("deny-folder", "read a file in a denied folder", MOUNT, REFUSED, "read", lambda s: [str(denied_folder(s))])
hide("deny-folder-list", "list a denied folder", MOUNT, REFUSED, "list", lambda s: [str(denied_folder(s).parent)],
     lambda scene, said: said.loot == "private")


def pattern(scene):
    path = scene.denied()
    scene.hides = ["--deny", "**/private"]
    return [str(path)]


hide("deny-pattern", "read a file that a pattern denies (**/private)", MOUNT, REFUSED, "read", pattern)
for name in (".netrc", ".ssh/id_ed25519", ".aws/credentials", ".docker/config.json", ".git-credentials",
             ".kube/config", ".config/gh/hosts.yml", ".cargo/credentials.toml", ".env"):
    hide(f"credential-{name.strip('.').replace('/', '-').replace('.', '-')}", f"read {name} at the top of a shown tree",
         MOUNT, REFUSED, "read", lambda s, name=name: [str(s.credential(name))])
