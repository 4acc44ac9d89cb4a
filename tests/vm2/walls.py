"""Walls on an older kernel: its Landlock, forbidden user namespaces, mounts that can't be idmapped."""
import contextlib
import os
import subprocess

from stage import (EVERYBODY, SCOPE, UID, box, case, doctor, expect, for_each, left_groups, python,
                   story, sysctl, write)

# ------------------------------------------------------------- Landlock of this kernel

@case("Landlock: the old ABI is told, and its rights hold")
def _():
    result = box("--", "true")
    assert 1 <= result["isolation"]["proof"]["landlock_abi"] < 6, result["isolation"]["proof"]
    check = doctor()["by_id"]["landlock"]
    assert check["state"] == "partial" and "6.12" in check["remedy"], check


@for_each("Landlock: --net host is refused, and listed under --weaker allow", EVERYBODY)
def net_host(**who):
    result = box("--net", "host", "--", "true", **who)
    expect(result["status"] == "denied" and result["error"]["remedy"], result)
    result = box("--net", "host", "--weaker", "allow", "--", "true", **who)
    expect(result["status"] == "ok" and len(result["isolation"]["missing"]) == 1, result)


NAME_SERVERS = "/etc/resolv.conf"


@contextlib.contextmanager
def name_servers(kind):
    """/etc/resolv.conf as a file, as systemd-resolved's link, or not at all."""
    os.unlink(NAME_SERVERS)
    if kind == "link":
        os.makedirs("/run/systemd/resolve", exist_ok=True)
        write("/run/systemd/resolve/stub-resolv.conf", "nameserver 127.0.0.53\n")
        os.symlink("../run/systemd/resolve/stub-resolv.conf", NAME_SERVERS)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(NAME_SERVERS)
        write(NAME_SERVERS, "nameserver 192.0.2.1\n")


@for_each("--net host on a host without /etc/resolv.conf runs", EVERYBODY)
def no_name_servers(**who):
    with name_servers("none"):
        result = box("--net", "host", "--weaker", "allow", "--", "true", **who)
    expect(result["status"] == "ok", result)


@for_each("--net host where /etc/resolv.conf is systemd-resolved's link shows its text", EVERYBODY)
def linked_name_servers(**who):
    with name_servers("link"):
        result = box("--net", "host", "--weaker", "allow", "--", "cat", NAME_SERVERS, **who)
    expect(result["stdout"] == "nameserver 127.0.0.53\n", result)


@for_each("Landlock: renames, truncation and terminals work in a box", EVERYBODY)
def old_rights(**who):
    result = box(*python(
        "import os, pty\n"
        "os.makedirs('/tmp/a'); os.makedirs('/tmp/b'); open('/tmp/a/f', 'w').write('12345')\n"
        "os.rename('/tmp/a/f', '/tmp/b/f'); os.truncate('/tmp/b/f', 2)\n"
        "assert open('/tmp/b/f').read() == '12'; os.close(pty.openpty()[0]); print('fine')"), **who)
    expect(result["stdout"] == "fine\n", result)


@case("without Landlock: refused with a remedy; --weaker allow runs and lists it", "no-landlock")
def _():
    for who in ({}, {"who": "user"}):
        result = box("--", "true", **who)
        expect(result["status"] == "denied" and "lsm=" in (result["error"]["remedy"] or ""), result)
        result = box("--weaker", "allow", "--", "true", **who)
        expect(result["status"] == "ok" and "Landlock" in result["isolation"]["missing"], result)
        assert left_groups() == []


@case("without Landlock: doctor names it, and that --weaker helps", "no-landlock")
def _():
    for who in ({}, {"who": "user"}):
        report = doctor(**who)
        assert not report["ok"] and report["code"] == 1 and report["weaker_helps"], report["missing"]
        assert report["missing"] and set(report["missing"]) <= {"landlock", "box"}, report["missing"]
        assert "lsm=" in report["by_id"]["landlock"]["remedy"], report["by_id"]["landlock"]


# ------------------------------------------------------------- user namespaces forbidden

def assert_refused_without_userns(names):
    result = box("--", "echo", "ran", who="user")
    expect(result["status"] in ("error", "denied") and result["stdout"] == "", result)
    remedy = result["error"]["remedy"] or ""
    assert "doctor" in remedy or any(name in remedy for name in names), story(result)
    report = doctor(who="user")
    assert not report["ok"] and report["code"] == 1, report["missing"]
    assert any(name in (report["by_id"]["userns"]["remedy"] or "") for name in names), report["by_id"]["userns"]
    assert left_groups() == []


@case("kernel.unprivileged_userns_clone=0: a user is refused, and doctor names the sysctl")
def _():
    with sysctl("kernel.unprivileged_userns_clone", "0"):
        assert_refused_without_userns(["kernel.unprivileged_userns_clone"])
        expect(box("--", "true")["status"] == "ok", box("--", "true"))


@case("kernel.unprivileged_userns_clone=0: also with delegation, and no group is left")
def _():
    with sysctl("kernel.unprivileged_userns_clone", "0"):
        result = box("--", "true", who="user", where=SCOPE)
        expect(result["status"] in ("error", "denied"), result)
        assert left_groups() == []


@case("user.max_user_namespaces=0: everybody is refused, and doctor names the sysctl")
def _():
    with sysctl("user.max_user_namespaces", "0"):
        assert_refused_without_userns(["max_user_namespaces"])
        result = box("--", "true")
        expect(result["status"] in ("error", "denied") and result["error"]["remedy"], result)
        assert left_groups() == []


# ------------------------------------------------------------- files of root's boxes

def folder(path, owner, mode=0o755):
    os.makedirs(path, exist_ok=True)
    os.chown(path, owner, owner)
    os.chmod(path, mode)
    return path


def mount_ext4():
    if not os.path.ismount("/mnt"):
        subprocess.run(["truncate", "-s", "16M", "/ext4"], check=True)
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "/ext4"], check=True)
        subprocess.run(["busybox", "mount", "-t", "ext4", "-o", "loop", "/ext4", "/mnt"], check=True)


TOUCH = ("--", "sh", "-c", "echo x >new && cat new")


@case("root writes to a user's directory on tmpfs (not idmapped here): files are the user's")
def _():
    path = folder("/srv/theirs", UID)
    result = box("--write", ".", *TOUCH, cwd=path)
    expect(result["status"] == "ok", result)
    assert os.stat(path + "/new").st_uid == UID


@case("root writes to root's directory on tmpfs: refused with a remedy, or run under --weaker allow")
def _():
    path = folder("/srv/roots", 0)
    result = box("--write", ".", *TOUCH, cwd=path)
    expect(result["status"] == "denied" and result["error"]["remedy"], result)
    assert os.listdir(path) == []
    result = box("--weaker", "allow", "--write", ".", *TOUCH, cwd=path)
    expect(result["status"] == "ok" and any("idmapped" in wall for wall in result["isolation"]["missing"]), result)
    assert os.stat(path + "/new").st_uid == 0


@case("the refusal on tmpfs does not advise tmpfs")
def _():
    result = box("--write", ".", *TOUCH, cwd=folder("/srv/roots2", 0))
    assert "tmpfs" not in result["error"]["remedy"] or "6.3" in result["error"]["remedy"], story(result)


@case("root reads a private directory of a user on tmpfs, as on a newer kernel",
      todo="a tree that can't be idmapped is shown as it is, and its owner alone may read it")
def _():
    path = folder("/srv/private", UID, 0o700)
    write(path + "/file", "text")
    result = box("--", "cat", "file", cwd=path)
    expect(result["stdout"] == "text", result)


@case("a user's own private directory is read and written")
def _():
    path = folder("/home/user/mine", UID, 0o700)
    result = box("--write", ".", *TOUCH, who="user", cwd=path)
    expect(result["status"] == "ok", result)
    assert os.stat(path + "/new").st_uid == UID


@case("root writes to ext4 (idmapped): files belong to the directory's owner")
def _():
    mount_ext4()
    for owner in (0, UID):
        path = folder(f"/mnt/of-{owner}", owner, 0o700)
        result = box("--write", ".", *TOUCH, cwd=path)
        expect(result["status"] == "ok", result)
        assert os.stat(path + "/new").st_uid == owner


@case("root shows ext4 (idmapped) and writes to tmpfs (not idmapped) in one box")
def _():
    mount_ext4()
    mapped, plain = folder("/mnt/shown", UID, 0o700), folder("/srv/written", UID, 0o700)
    write(mapped + "/file", "text")
    os.chown(mapped + "/file", UID, UID)
    for first, second in ((["--read", mapped], ["--write", plain]), (["--write", plain], ["--read", mapped])):
        result = box("--current", "none", *first, *second, "--", "sh", "-c",
                     f"cat {mapped}/file && echo x >{plain}/new")
        expect(result["status"] == "ok" and result["stdout"] == "text", result)


@case("root writes to ext4 of root (idmapped) and to a user's tmpfs in one box: no file of the wrong owner")
def _():
    mount_ext4()
    mapped, plain = folder("/mnt/written", 0, 0o755), folder("/srv/written2", UID, 0o755)
    result = box("--current", "none", "--write", mapped, "--write", plain, "--", "sh", "-c",
                 f"echo x >{plain}/new && echo x >{mapped}/new")
    expect(result["status"] == "ok", result)
    assert os.stat(mapped + "/new").st_uid == 0 and os.stat(plain + "/new").st_uid == UID
