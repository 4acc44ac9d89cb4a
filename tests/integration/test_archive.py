"""A workspace leaves as an archive that others can read, and an archive comes in as a point, unless it means harm."""
import hashlib
import io
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tarfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import watchers  # noqa: E402 # a place with a state folder of its own

pytestmark = pytest.mark.usefixtures("as_who")
ROUNDS = int(os.environ.get("RF_ARCHIVES", "4"))

# Fills the current directory at random: names, modes, links, holes, times, attributes.
RANDOM = r"""
import os, random, sys
r = random.Random(int(sys.argv[1]))
folders = [b"."]
for n in range(60):
    name = r.choice([b"a", b"\xc3\xa4", b"\xff\xfe", b"x" * 250, b"n\nl", b"two words", b".wh.gone", b".wh..wh..opq"]) + str(n).encode()
    path = os.path.join(r.choice(folders), name)
    what = r.randrange(6)
    try:
        if what == 0:
            os.mkdir(path); folders.append(path)
        elif what == 1:
            os.symlink(r.choice([b"/etc/passwd", b"../../..", b"a" * 300, b"\xff"]), path)
        else:
            with open(path, "wb") as f:
                f.write(os.urandom(r.choice([0, 1, 511, 512, 513, 5000])))
                if what == 2:
                    f.seek(r.randrange(1 << 22)); f.write(b"after a hole"); f.truncate(f.tell() + r.choice([0, 100000]))
            if what == 3: os.setxattr(path, "user.note", os.urandom(r.randrange(100)))
            os.chmod(path, r.choice([0o644, 0o755, 0o600, 0o444]))
        if what != 1: os.utime(path, ns=(1, r.choice([0, 1, 1577923200123456789, -1500000000])))
    except OSError:
        pass
"""
PICTURE = r"""
import hashlib, json, os
seen = {}
for p, d, f in os.walk(b"."):
    for n in d + f:
        at = os.path.join(p, n); st = os.lstat(at)
        if os.path.islink(at): what = [os.readlink(at).hex()]
        else:
            what = [st.st_mode, [[k, os.getxattr(at, k).hex()] for k in os.listxattr(at)]]
            if os.path.isfile(at): what += [hashlib.sha256(open(at, "rb").read()).hexdigest(), st.st_mtime_ns, st.st_blocks * 512 <= st.st_size + 8192]
        seen[at[2:].hex()] = what
print(json.dumps(seen, sort_keys=True))
"""


@pytest.fixture
def post(ringfort, public, who, request):
    folder = public / f"post-{abs(hash(request.node.name)) % 10**8}"
    with watchers.Post(ringfort, who, folder) as place:
        yield place
    shutil.rmtree(folder, ignore_errors=True)


def make(post, who, name):
    top = post.top / name
    top.mkdir()
    if watchers.IS_ROOT and who == "user":
        os.chown(top, watchers.USER_ID, watchers.USER_ID)
    assert post.run("create", "--name", name, "--workspace", top).returncode == 0
    return top


def command(post, *args, stdin=b""):
    return subprocess.run([*post.before, str(post.ringfort), *map(str, args)], env=post.env, input=stdin, capture_output=True,
                          cwd=post.top, check=False)


def inside(post, name):
    done = post.run("exec", name, "--", "/usr/bin/python3", "-c", PICTURE)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def points(post, name):
    return json.loads(post.run("log", "-w", name, "--json").stdout)["points"]


@pytest.mark.parametrize("_", range(ROUNDS))
def test_what_goes_out_comes_in_as_it_was(post, who, _):
    seed = int(os.environ.get("RF_SEED", random.randrange(10**6)))
    top = make(post, who, "one")
    subprocess.run([sys.executable, "-c", RANDOM, str(seed)], cwd=top, check=True)
    if watchers.IS_ROOT and who == "user":
        subprocess.run(["chown", "-hR", f"{watchers.USER_ID}:{watchers.USER_ID}", top], check=True)
    for more in (1, 2):
        assert post.run("exec", "one", "--", "/usr/bin/python3", "-c", RANDOM, str(seed + more)).returncode == 0
    made = command(post, "export", "one")
    assert made.returncode == 0, made.stderr
    other = make(post, who, "two")
    done = command(post, "import", "two", stdin=made.stdout)
    assert done.returncode == 0, (seed, done.stderr)
    assert inside(post, "two") == inside(post, "one"), f"RF_SEED={seed}"
    assert list(other.iterdir()) == []
    again = command(post, "export", "-w", "two")
    assert again.returncode == 0 and command(post, "import", "two", stdin=again.stdout).stderr.endswith(b"had it so already\n")
    assert post.run("undo", "-w", "two").returncode == 0 and inside(post, "two") == {}


def test_others_can_unpack_it(post, who, public, need):
    need("zstd")
    need("tar")
    make(post, who, "one")
    assert post.run("exec", "one", "--", "/usr/bin/python3", "-c", RANDOM, "7").returncode == 0
    made = command(post, "export", "one")
    there = post.top / "there"
    there.mkdir()
    subprocess.run(["tar", "--zstd", "--xattrs", "-xf", "-", "--no-same-owner"], cwd=there, input=made.stdout, check=True)
    done = subprocess.run([sys.executable, "-c", PICTURE], cwd=there, capture_output=True, check=True)
    assert json.loads(done.stdout) == inside(post, "one")


def test_what_others_pack_comes_in(post, who, need):
    need("zstd")
    need("tar")
    source = post.top / "source"
    source.mkdir()
    subprocess.run([sys.executable, "-c", RANDOM, "11"], cwd=source, check=True)
    (source / "first").write_text("linked\n")
    os.link(source / "first", source / "second")
    (source / ("deep/" * 30 + "y" * 100)).parent.mkdir(parents=True)
    (source / ("deep/" * 30 + "y" * 100)).write_text("far\n")
    wanted = json.loads(subprocess.run([sys.executable, "-c", PICTURE], cwd=source, capture_output=True, check=True).stdout)
    for form, how in (("posix", ["--zstd", "--sparse"]), ("posix", []), ("gnu", ["--zstd"]), ("gnu", [])):
        name = f"{form}{len(how)}"
        make(post, who, name)
        packed = subprocess.run(["tar", f"--format={form}", *(["--xattrs"] if form == "posix" else []), *how, "-cf", "-", "."], cwd=source,
                                capture_output=True, check=True).stdout
        done = command(post, "import", name, stdin=packed)
        assert done.returncode == 0, (form, how, done.stderr)
        found = inside(post, name)
        if form == "posix" and how:
            assert found == wanted
        else:  # an older form has no attributes and no parts of seconds; a plain one no holes
            assert {path: what[2:3] for path, what in found.items()} == {path: what[2:3] for path, what in wanted.items()}


def test_it_is_put_over_what_is_there(post, who):
    top = make(post, who, "one")
    (top / "kept").write_text("kept\n")
    (top / "file").write_text("old\n")
    (top / "folder").mkdir()
    (top / "folder/in").write_text("in\n")
    if watchers.IS_ROOT and who == "user":
        subprocess.run(["chown", "-hR", f"{watchers.USER_ID}:{watchers.USER_ID}", top], check=True)
    packed = pack(("file", {}, b"new\n"), ("folder", {}, b"now a file\n"), ("kept/in", {}, b"now in a folder\n"))
    done = command(post, "import", "one", stdin=packed)
    assert done.returncode == 125 and b"no folder" in done.stderr  # `kept` is a file, and nobody said that it should not be
    packed = pack(("file", {}, b"new\n"), ("folder", {}, b"now a file\n"), ("kept", {"type": tarfile.DIRTYPE, "mode": 0o755}, b""), ("kept/in", {}, b"in\n"))
    assert command(post, "import", "one", stdin=packed).returncode == 0
    seen = {bytes.fromhex(path).decode(): what for path, what in inside(post, "one").items()}
    assert set(seen) == {"file", "folder", "kept", "kept/in"} and seen["folder"][2] == hashlib.sha256(b"now a file\n").hexdigest()
    assert (top / "folder/in").exists() and (top / "kept").read_text() == "kept\n"


def test_a_folder_that_was_replaced_on_the_way_does_not_show_what_lay_there(post, who):
    top = make(post, who, "one")
    (top / "folder").mkdir()
    (top / "folder/old").write_text("old\n")
    if watchers.IS_ROOT and who == "user":
        subprocess.run(["chown", "-hR", f"{watchers.USER_ID}:{watchers.USER_ID}", top], check=True)
    packed = pack(("folder", {}, b"a file first\n"), ("folder", {"type": tarfile.DIRTYPE, "mode": 0o755}, b""), ("folder/new", {}, b"new\n"))
    assert command(post, "import", "one", stdin=packed).returncode == 0
    assert {bytes.fromhex(path) for path in inside(post, "one")} == {b"folder", b"folder/new"}
    assert [row["path"] for row in json.loads(post.run("diff", "-w", "one", "--json").stdout)] == ["folder/new", "folder/old"]


def pack(*entries, **how):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=how.get("format", tarfile.PAX_FORMAT)) as archive:
        for name, fields, content in entries:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for key, value in fields.items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


LINK, HARD = {"type": tarfile.SYMTYPE}, {"type": tarfile.LNKTYPE}
HOSTILE = {
    "up": pack(("../out", {}, b"x")),
    "up inside": pack(("a/../../out", {}, b"x")),
    "up at the end": pack(("a/..", {"type": tarfile.DIRTYPE}, b"")),
    "absolute": pack(("/tmp/out", {}, b"x")),
    "absolute in pax": pack(("x", {"pax_headers": {"path": "/tmp/out"}}, b"x")),
    "through a link": pack(("way", {**LINK, "linkname": "/tmp"}, b""), ("way/out", {}, b"x")),
    "through a chain": pack(("a", {**LINK, "linkname": "."}, b""), ("a/b", {**LINK, "linkname": ".."}, b""), ("a/b/out", {}, b"x")),
    "through its own": pack(("way", {**LINK, "linkname": "/tmp"}, b""), ("way", {"type": tarfile.DIRTYPE}, b""), ("way/../out", {}, b"x")),
    "hard link out": pack(("x", {**HARD, "linkname": "/etc/passwd"}, b"")),
    "hard link up": pack(("x", {**HARD, "linkname": "../../etc/passwd"}, b"")),
    "hard link to nothing": pack(("x", {**HARD, "linkname": "none"}, b"")),
    "hard link to a link": pack(("l", {**LINK, "linkname": "/etc/passwd"}, b""), ("x", {**HARD, "linkname": "l"}, b"")),
    "whiteout": pack(("x", {"type": tarfile.CHRTYPE, "devmajor": 0, "devminor": 0}, b"")),
    "device": pack(("x", {"type": tarfile.BLKTYPE, "devmajor": 8, "devminor": 0}, b"")),
    "pipe": pack(("x", {"type": tarfile.FIFOTYPE}, b"")),
    "opaque": pack(("d", {"type": tarfile.DIRTYPE, "pax_headers": {"SCHILY.xattr.user.overlay.opaque": "y"}}, b"")),
    "redirect": pack(("d", {"type": tarfile.DIRTYPE, "pax_headers": {"SCHILY.xattr.user.overlay.redirect": "/etc"}}, b"")),
    "long name": pack(("x" * 256, {}, b"x")),
    "long path": pack(("a/" * 3000 + "x", {}, b"x")),
    "cut in content": pack(("x", {}, b"x" * 5000))[:2000],
    "cut in a header": pack(("x", {}, b"x"), ("y", {}, b"x"))[:1300],
    "no end": pack(("x", {}, b"x"))[:1024],
    "empty": b"",
    "noise": os.urandom(4096),
    "text": b"hello\n" * 1000,
    "something behind": pack(("x", {}, b"x")) + b"y" * 512,
    "huge sparse": pack(("x", {"pax_headers": {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(1 << 60),
                                             "GNU.sparse.name": "x"}}, b"0\n" + b"\0" * 510)),
    # The record claims more bytes than its header has, and its first digit is larger than what is left.
    "pax record beyond": pack(("x", {"type": tarfile.XHDTYPE}, b"9999999 "), ("x", {}, b"x")),
    "sparse that lies": pack(("x", {"pax_headers": {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "10",
                                                  "GNU.sparse.name": "x"}}, b"1\n5\n100\n" + b"\0" * 504 + b"z" * 100)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_archive_that_means_harm_is_refused_as_a_whole(post, who, name):
    top = make(post, who, "one")
    done = command(post, "import", "one", stdin=HOSTILE[name])
    assert done.returncode in (1, 125) and done.stderr.startswith(b"ringfort: "), done
    assert points(post, "one") == [] and list(top.iterdir()) == []
    assert not pathlib.Path("/tmp/out").exists() and not (post.top / "out").exists()


def test_a_cut_or_changed_frame_is_refused(post, who):
    make(post, who, "one")
    make(post, who, "two")
    assert post.run("exec", "one", "--", "sh", "-c", "seq 100000 > numbers").returncode == 0
    whole = command(post, "export", "one").stdout
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for broken in (whole[:-1], whole[:len(whole) // 2], whole[:5], bytes(flipped), whole + b"more"):
        assert command(post, "import", "two", stdin=broken).returncode == 125
    assert points(post, "two") == []
    assert command(post, "import", "two", stdin=whole).returncode == 0


def test_setuid_and_foreign_attributes_are_left_behind(post, who):
    make(post, who, "one")
    packed = pack(("tool", {"mode": 0o6755, "uid": 0, "gid": 0, "pax_headers": {
        "SCHILY.xattr.security.capability": "x", "SCHILY.xattr.trusted.overlay.opaque": "y", "SCHILY.xattr.user.note": "kept"}}, b"x"))
    assert command(post, "import", "one", stdin=packed).returncode == 0
    what, = inside(post, "one").values()
    assert what[0] == 0o100755 and what[1] == [["user.note", b"kept".hex()]]


def test_bombs_stop_at_the_limit(post, who, need):
    need("zstd")
    top = make(post, who, "one")
    zeros = subprocess.run(["zstd", "-q"], input=pack(("zeros", {}, b"\0" * (64 << 20))), capture_output=True, check=True).stdout
    assert len(zeros) < 100000
    done = command(post, "import", "--max-bytes", "10M", "one", stdin=zeros)
    assert done.returncode == 125 and b"--max-bytes" in done.stderr
    many = pack(*((f"f{n}", {}, b"") for n in range(200)))
    done = command(post, "import", "--max-files", "100", "one", stdin=many)
    assert done.returncode == 125 and b"--max-files" in done.stderr
    copies = pack(("a", {}, b"x" * 100000), *((f"b{n}", {**HARD, "linkname": "a"}, b"") for n in range(20)))
    assert command(post, "import", "--max-bytes", "1M", "one", stdin=copies).returncode == 125
    # Headers without end: read no further than is sensible.
    headers = pack(("x", {"type": tarfile.XGLTYPE}, b"11 comment=x"[:11] + b"\n"))[:1024] * 100
    assert command(post, "import", "one", stdin=headers).returncode == 125
    assert points(post, "one") == [] and list(top.iterdir()) == []
    assert command(post, "import", "--max-files", "200", "one", stdin=many).returncode == 0


def test_as_many_files_as_there_are(post, who):
    """RF_MANY=1000 makes a million of them, and takes some minutes."""
    folders = int(os.environ.get("RF_MANY", "5"))
    make(post, who, "one")
    script = f"""
import os
for d in range({folders}):
    os.mkdir(f"d{{d}}"); f = os.open(f"d{{d}}", os.O_RDONLY)
    for n in range(1000): os.close(os.open(("f" * 240 if n % 100 == 0 else "f") + str(n), os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=f))
    os.close(f)
"""
    limits = ["--memory", "2G", "--disk", "8G", "--inodes", "3000000", "--time", "10m"]
    assert post.run("exec", *limits, "one", "--", "/usr/bin/python3", "-c", script, timeout=600).returncode == 0
    assert len(command(post, "diff", "-w", "one").stdout.splitlines()) == folders * 1001
    make(post, who, "two")
    archive = command(post, "export", "one").stdout
    assert command(post, "import", "--max-files", "2000000", "two", stdin=archive).returncode == 0
    assert sorted(command(post, "diff", "-w", "two").stdout.splitlines()) == sorted(command(post, "diff", "-w", "one").stdout.splitlines())
    assert post.run("undo", "-w", "two").returncode == 0 and points(post, "one")[0]["changes"] == folders * 1001
    assert post.run("rm", "one", "two", timeout=600).returncode == 0


def test_an_earlier_point_can_be_exported(post, who):
    make(post, who, "one")
    assert post.run("exec", "one", "--", "sh", "-c", "echo 1 > a").returncode == 0
    assert post.run("exec", "one", "--", "sh", "-c", "rm a; echo 2 > b").returncode == 0
    make(post, who, "two")
    assert command(post, "import", "two", stdin=command(post, "export", "--at", "@1", "one").stdout).returncode == 0
    assert [bytes.fromhex(path) for path in inside(post, "two")] == [b"a"]


def test_a_slow_reader_keeps_nobody_waiting_and_loses_nothing(post, who):
    make(post, who, "one")
    assert post.run("exec", "one", "--", "sh", "-c", "for n in 1 2 3 4 5 6 7 8; do head -c 300000 /dev/urandom > f$n; done").returncode == 0
    before = inside(post, "one")
    with subprocess.Popen([*post.before, str(post.ringfort), "export", "one"], env=post.env, cwd=post.top, stdout=subprocess.PIPE) as slow:
        begun = slow.stdout.read(1)
        assert post.run("undo", "-w", "one", timeout=4).returncode == 0 and post.run("gc", timeout=4).returncode == 0
        assert points(post, "one") == [] and slow.poll() is None
        whole = begun + slow.stdout.read()
    assert slow.returncode == 0
    make(post, who, "two")
    assert command(post, "import", "two", stdin=whole).returncode == 0
    assert inside(post, "two") == before


def test_an_export_of_two_moments_is_refused(post, who):
    make(post, who, "one")
    assert post.run("exec", "one", "--", "sh", "-c", "for n in 1 2 3 4 5 6 7 8; do head -c 300000 /dev/urandom > f$n; done").returncode == 0
    with subprocess.Popen([*post.before, str(post.ringfort), "export", "one"], env=post.env, cwd=post.top, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as slow:
        slow.stdout.read(1)
        assert post.run("apply", "-w", "one").returncode == 0
        assert b"was applied" in slow.communicate()[1] and slow.returncode == 125


@pytest.mark.parametrize("args, word", [(["export", "none"], "no workspace"), (["import", "none"], "no workspace"),
                                        (["import", "--max-bytes", "lots", "one"], "--max-bytes"),
                                        (["export", "--at", "nowhere", "one"], "has no point")])
def test_what_is_wrong_is_said(post, who, args, word):
    make(post, who, "one")
    done = command(post, *args)
    assert done.returncode in (1, 125) and word in done.stderr.decode(), done.stderr
