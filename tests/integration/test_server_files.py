"""Files of a sandbox over the API: whole and in part, moved, found, as archives, many at once, and however large they are."""
import contextlib
import hashlib
import io
import json
import os
import pathlib
import socket
import sys
import tarfile
import urllib.parse

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from servers import Server  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")

BOXES = "/v1/sandboxes"
MIB = 1 << 20


def soon(is_so):
    assert eventually(is_so, 30)


@pytest.fixture(scope="module")
def standing(ringfort, public):
    found = {}
    yield lambda who: found.get(who) or found.setdefault(who, Server(ringfort, who, public / f"files-{who}"))
    for server in found.values():
        server.close()


@pytest.fixture
def server(standing, as_who):
    return standing(as_who)


@pytest.fixture
def box(server):
    made = server.post(BOXES, {"timeout": 600, "limits": {"disk": "200M", "memory": "512M"}})
    assert made.status == 201, made.body
    yield made.json["id"]
    server.delete(f"{BOXES}/{made.json['id']}")


def at(box, path, what="", **more):
    return f"{BOXES}/{box}/files{what}?" + urllib.parse.urlencode({"path": path, **more})


def run(server, box, command):
    answer = server.post(f"{BOXES}/{box}/exec", {"command": command})
    assert answer.status == 200 and answer.json["exit_code"] == 0, answer.body
    return answer.json["stdout"]


def count(server, box, name):
    """How many programs of that name run in the box."""
    return int(run(server, box, f"grep -lx {name} /proc/[0-9]*/comm 2>/dev/null | wc -l"))


def sizer(server):
    """A function that tells how much memory the front has."""
    front = server.children()["ringfort-front"][0]
    return lambda: int(pathlib.Path(f"/proc/{front}/statm").read_text().split()[1]) * 4096


# --- parts ---

RANGES = {
    "a part": ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
    "from somewhere on": ("bytes=7-", 206, b"789", "bytes 7-9/10"),
    "the last bytes": ("bytes=-3", 206, b"789", "bytes 7-9/10"),
    "more than there are": ("bytes=-30", 206, b"0123456789", "bytes 0-9/10"),
    "beyond the end at its end": ("bytes=8-100", 206, b"89", "bytes 8-9/10"),
    "one byte": ("bytes=0-0", 206, b"0", "bytes 0-0/10"),
    "behind the end": ("bytes=10-", 416, None, None),
    "none of the last": ("bytes=-0", 416, None, None),
    "two parts, which are given as a whole": ("bytes=0-1,4-5", 200, b"0123456789", None),
    "what is no range": ("bytes=5-2", 200, b"0123456789", None),
    "another unit": ("lines=1-2", 200, b"0123456789", None),
}


@pytest.mark.parametrize("asked, status, body, told", RANGES.values(), ids=RANGES)
def test_a_part_of_a_file_can_be_read(server, box, asked, status, body, told):
    assert server.put(at(box, "/tmp/digits"), b"0123456789").status == 204
    answer = server.get(at(box, "/tmp/digits"), headers={"Range": asked})
    assert (answer.status, answer.headers["Content-Range"]) == (status, told)
    if body is None:
        assert answer.json["error"]["code"] == "no_range"
    else:
        assert answer.body == body and int(answer.headers["Content-Length"]) == len(body)
        assert answer.headers["Accept-Ranges"] == "bytes"


def test_a_part_of_what_may_have_changed_is_given_as_a_whole(server, box):
    server.put(at(box, "/tmp/digits"), b"0123456789")
    answer = server.get(at(box, "/tmp/digits"), headers={"Range": "bytes=1-2", "If-Range": '"x"'})
    assert (answer.status, answer.body) == (200, b"0123456789")


def test_a_file_can_be_asked_after_without_its_bytes(server, box):
    server.put(at(box, "/tmp/digits"), b"0123456789")
    answer = server.ask("HEAD", at(box, "/tmp/digits"))
    assert (answer.status, answer.body, answer.headers["Content-Length"]) == (200, b"", "10")


def test_files_without_a_size_are_given_as_they_come(server, box):
    assert server.get(at(box, "/proc/self/comm")).body == b"cat\n"
    assert server.put(at(box, "/tmp/empty"), b"").status == 204
    answer = server.get(at(box, "/tmp/empty"), headers={"Range": "bytes=0-3"})
    assert (answer.status, answer.body) == (200, b"")


# --- many bytes ---

def test_files_larger_than_any_buffer_go_both_ways_and_the_front_does_not_grow(server, box):
    size, piece = 96 * MIB, os.urandom(MIB)
    front_bytes = sizer(server)
    before, most = front_bytes(), 0
    digest = hashlib.sha256()

    def pieces():
        nonlocal most
        for _ in range(size // MIB):
            digest.update(piece)
            most = max(most, front_bytes())
            yield piece

    line = server.connect(120)
    line.request("PUT", at(box, "/tmp/large"), body=pieces(), encode_chunked=True,
                 headers={"Authorization": f"Bearer {server.key}", "Transfer-Encoding": "chunked"})
    answer = line.getresponse()
    assert answer.status == 204, answer.read()
    answer.read()
    assert run(server, box, "stat -c %s /tmp/large; sha256sum </tmp/large").split()[:2] == [str(size), digest.hexdigest()]
    back = hashlib.sha256()
    line.request("GET", at(box, "/tmp/large"), headers={"Authorization": f"Bearer {server.key}"})
    answer = line.getresponse()
    assert int(answer.headers["Content-Length"]) == size
    while data := answer.read(MIB):
        back.update(data)
        most = max(most, front_bytes())
    assert back.hexdigest() == digest.hexdigest()
    assert most - before < 32 * MIB
    answer = server.get(at(box, "/tmp/large"), headers={"Range": f"bytes={size - 5}-"})
    assert answer.body == piece[-5:]
    line.close()


def test_who_does_not_read_a_file_holds_up_nobody_and_nothing_grows(server, box):
    run(server, box, "head -c 100000000 /dev/zero >/tmp/zeros")
    front_bytes = sizer(server)
    before = front_bytes()
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as idle:
        idle.sendall(f"GET {at(box, '/tmp/zeros')} HTTP/1.1\r\nHost: localhost\r\n"
                     f"Authorization: Bearer {server.key}\r\n\r\n".encode())
        assert idle.recv(12) == b"HTTP/1.1 200"
        assert server.get(at(box, "/tmp/zeros", "/stat")).json["size"] == 100000000
        assert front_bytes() - before < 16 * MIB
    soon(lambda: count(server, box, "cat") == 0)


def test_what_does_not_fit_is_said(server):
    small = server.post(BOXES, {"limits": {"disk": "2M"}}).json["id"]
    answer = server.put(at(small, "/tmp/much"), b"x" * (5 * MIB // 2))  # the rest of it is read before the connection ends
    assert answer.status == 413 and "room" in answer.json["error"]["message"], answer.body
    server.delete(f"{BOXES}/{small}")


def test_who_goes_in_the_middle_of_an_upload_leaves_no_program(server, box):
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
        line.sendall(f"PUT {at(box, '/tmp/half')} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n"
                     f"Authorization: Bearer {server.key}\r\n\r\n".encode() + b"x" * 1000)
        soon(lambda: server.get(at(box, "/tmp/half", "/stat")).status == 200)
    soon(lambda: count(server, box, "cat") == 0)


# --- folders, names, archives ---

def test_folders_are_made_and_files_are_moved(server, box):
    move, mkdir = f"{BOXES}/{box}/files/move", f"{BOXES}/{box}/files/mkdir"
    assert server.post(mkdir, {"path": "/tmp/a b/c"}).status == 204
    assert server.post(mkdir, {"path": "/tmp/a b/c"}).status == 204
    assert server.put(at(box, "/tmp/a b/c/f"), b"one").status == 204
    assert server.post(move, {"from": "/tmp/a b/c/f", "to": "/tmp/new/g"}).status == 204
    assert server.get(at(box, "/tmp/new/g")).body == b"one"
    assert server.get(at(box, "/tmp/a b/c/f")).status == 404
    assert server.post(move, {"from": "/tmp/new", "to": "/tmp/a b/d"}).status == 204
    assert server.get(at(box, "/tmp/a b/d/g")).body == b"one"
    server.put(at(box, "/tmp/other"), b"two")
    assert server.post(move, {"from": "/tmp/a b/d/g", "to": "/tmp/other"}).status == 204
    assert server.get(at(box, "/tmp/other")).body == b"one"
    refused = {
        "what is not there": (move, {"from": "/tmp/none", "to": "/tmp/x"}, 404),
        "onto a folder": (move, {"from": "/tmp/other", "to": "/tmp/a b"}, 409),
        "where nothing can be written": (move, {"from": "/tmp/other", "to": "/usr/x"}, 403),
        "a relative path": (move, {"from": "tmp", "to": "/tmp/x"}, 422),
        "a folder where a file is": (mkdir, {"path": "/tmp/other"}, 409),
        "a folder where none may be": (mkdir, {"path": "/usr/x"}, 403),
        "a field that there is not": (mkdir, {"path": "/tmp/x", "mode": "7"}, 422),
    }
    assert {name: server.post(path, body).status for name, (path, body, _) in refused.items()} == \
        {name: status for name, (_, _, status) in refused.items()}


def test_files_are_found_by_name_and_lines_by_their_text(server, box):
    run(server, box, "mkdir -p /tmp/t/d; cd /tmp/t; printf 'one\\ntwo needle\\n' >a.txt; printf 'needle\\n' >d/b.txt;"
                     " printf 'needle\\0' >c.txt; touch 'd/*.log'")
    found = server.get(at(box, "/tmp/t", "/search", name="*.txt")).json
    assert sorted(row["path"] for row in found["found"]) == ["/tmp/t/a.txt", "/tmp/t/c.txt", "/tmp/t/d/b.txt"]
    assert found["is_cut"] is False and {row["type"] for row in found["found"]} == {"file"}
    found = server.get(at(box, "/tmp/t", "/search", content="needle")).json["found"]
    assert sorted((row["path"], row["line"], row["text"]) for row in found) == \
        [("/tmp/t/a.txt", 2, "two needle"), ("/tmp/t/d/b.txt", 1, "needle")]
    assert server.get(at(box, "/tmp/t", "/search", content="needle", name="b*")).json["found"][0]["path"] == "/tmp/t/d/b.txt"
    assert server.get(at(box, "/tmp/t", "/search", content="-e")).json == {"found": [], "is_cut": False}
    found = server.get(at(box, "/tmp/t", "/search", name="*.txt", limit=1)).json
    assert len(found["found"]) == 1 and found["is_cut"] is True
    assert len(server.get(at(box, "/tmp/t", "/search")).json["found"]) == 5
    for more, status in (({"name": ""}, 422), ({"name": "x", "limit": 0}, 422), ({"content": ""}, 422), ({"glob": "*"}, 400)):
        assert server.get(at(box, "/tmp/t", "/search", **more)).status == status, more
    assert server.get(at(box, "/tmp/none", "/search", name="*")).status == 404


def archive(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def test_a_folder_goes_out_as_an_archive_and_in_again(server, box):
    tar = {"Content-Type": "application/x-tar"}
    data = archive(("a.txt", b"A"), ("d/e.txt", b"E" * 100000))
    assert server.put(at(box, "/tmp/in", "/archive"), data, headers=tar).status == 204
    assert server.get(at(box, "/tmp/in/d/e.txt")).body == b"E" * 100000
    answer = server.get(at(box, "/tmp/in", "/archive"))
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/x-tar")
    with tarfile.open(fileobj=io.BytesIO(answer.body)) as out:
        assert sorted(name for name in out.getnames() if name.endswith("txt")) == ["./a.txt", "./d/e.txt"]
    assert server.put(at(box, "/tmp/out", "/archive"), answer.body, headers=tar).status == 204
    assert server.get(at(box, "/tmp/out/a.txt")).body == b"A"
    with tarfile.open(fileobj=io.BytesIO(server.get(at(box, "/tmp/in/a.txt", "/archive")).body)) as out:
        assert out.getnames() == ["a.txt"]
    assert server.get(at(box, "/tmp/none", "/archive")).status == 404
    assert server.put(at(box, "/tmp/a", "/archive"), b"no archive at all" * 100, headers=tar).status == 409
    assert server.put(at(box, "/tmp/in/a.txt", "/archive"), data, headers=tar).status == 409
    assert server.put(at(box, "/usr/x", "/archive"), data, headers=tar).status == 403
    assert server.put(at(box, "/tmp/a", "/archive"), data, headers={"Content-Type": "text/plain"}).status == 415


def test_an_archive_gets_nowhere_that_the_sandbox_could_not(server, box):
    """It is unpacked inside, by a program of the box: the worst it can do is what the box can do to itself."""
    tar = {"Content-Type": "application/x-tar"}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/usr/bin"
        made.addfile(link)
        info = tarfile.TarInfo("link/evil")
        info.size = 4
        made.addfile(info, io.BytesIO(b"evil"))
    assert server.put(at(box, "/tmp/t", "/archive"), out.getvalue(), headers=tar).status == 409
    server.put(at(box, "/tmp/t/u", "/archive"), archive(("../../../etc/evil", b"evil")), headers=tar)
    assert run(server, box, "ls /usr/bin/evil /etc/evil 2>/dev/null | wc -l") == "0\n"
    assert not any(pathlib.Path(path).exists() for path in ("/usr/bin/evil", "/etc/evil"))


# --- several at once ---

def form(*parts, boundary="a-boundary"):
    """Parts are (name, file's name or None, bytes)."""
    rows = []
    for name, filename, data in parts:
        file = "" if filename is None else f'; filename="{filename}"'
        rows += [f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode(), data, b"\r\n"]
    return b"".join(rows) + f"--{boundary}--\r\n".encode(), {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def upload(server, box, body, fields, path=None, **more):
    query = "" if path is None else "?" + urllib.parse.urlencode({"path": path})
    return server.post(f"{BOXES}/{box}/files{query}", body, headers=fields, **more)


def test_what_a_sandbox_says_of_an_upload_is_not_believed(server):
    """Its own programs do it, and those may be anything: here `mkdir` says a word of its own before."""
    made = server.post(BOXES, {"timeout": 60, "env": {"PATH": "/tmp/b:/usr/bin:/bin"}}).json["id"]
    script = "/bin/mkdir /tmp/b && printf '#!/bin/sh\\nprintf \"x\\\\000\"; exec /bin/mkdir \"$@\"\\n' >/tmp/b/mkdir && chmod +x /tmp/b/mkdir && mkdir -p /tmp | od -c"
    said = server.post(f"{BOXES}/{made}/exec", {"command": script}).json
    assert said["stdout"].startswith("0000000   x  \\0"), said
    body, fields = form(("file", "one.txt", b"one"))
    assert upload(server, made, body, fields, "/tmp/").status in (201, 409)
    assert server.get("/v1/health").status == 200 and "started anew" not in server.said
    server.delete(f"{BOXES}/{made}")


def test_several_files_come_in_one_form(server, box):
    large = os.urandom(3 * MIB)
    answer = upload(server, box, *form(("file", "a.txt", b"A"), ("comment", None, b"nobody asks"), ("file", "d/large", large),
                                       ("file", "empty", b"")), "/tmp/new/")
    assert answer.status == 200, answer.body
    assert [(row["path"], row["name"], row["size"]) for row in answer.json["files"]] == \
        [("/tmp/new/a.txt", "a.txt", 1), ("/tmp/new/d/large", "large", 3 * MIB), ("/tmp/new/empty", "empty", 0)]
    assert server.get(at(box, "/tmp/new/d/large")).body == large
    # a folder that is there, a file by its own name, and where the home is
    assert upload(server, box, *form(("file", "b", b"B")), "/tmp/new").json["files"][0]["path"] == "/tmp/new/b"
    assert upload(server, box, *form(("file", "b", b"C")), "/tmp/other").json["files"][0]["path"] == "/tmp/other"
    home = run(server, box, "printf %s $HOME")
    assert upload(server, box, *form(("file", "x/y", b"D"))).json["files"][0]["path"] == f"{home}/x/y"
    assert upload(server, box, *form(("file", "/tmp/abs", b"E"))).json["files"][0]["path"] == "/tmp/abs"


def test_forms_that_are_none_are_refused(server, box):
    body, fields = form(("file", "a", b"A"))
    cases = {
        "another type": (upload(server, box, b"{}", {"Content-Type": "application/json"}, "/tmp/"), 415),
        "no boundary": (upload(server, box, body, {"Content-Type": "multipart/form-data"}, "/tmp/"), 415),
        "another boundary": (upload(server, box, body, {"Content-Type": "multipart/form-data; boundary=b"}, "/tmp/"), 400),
        "a form that is cut": (upload(server, box, body[:-6], fields, "/tmp/"), 400),
        "a form without a file": (upload(server, box, *form(("a", None, b"b")), "/tmp/"), 422),
        "a name that leads around": (upload(server, box, *form(("file", "../../x", b"A")), "/tmp/"), 422),
        "no name": (upload(server, box, *form(("file", "", b"A")), "/tmp/"), 422),
        "a relative path": (upload(server, box, body, fields, "tmp"), 422),
        "where nothing can be written": (upload(server, box, body, fields, "/usr/"), 403),
        "two files that would be one": (upload(server, box, *form(("f", "a", b"A"), ("f", "b", b"B")), "/tmp/one"), 422),
        "a parameter that there is not": (server.post(f"{BOXES}/{box}/files?to=/tmp", body, headers=fields), 400),
    }
    assert {name: answer.status for name, (answer, _) in cases.items()} == {name: status for name, (_, status) in cases.items()}


# --- changes ---

class Watch:
    """Events of a folder, read as they come."""

    def __init__(self, server, box, path, **more):
        self.line = server.connect(60)
        self.line.request("GET", at(box, path, "/watch", interval_ms=100, **more),
                          headers={"Authorization": f"Bearer {server.key}"})
        self.answer = self.line.getresponse()
        assert self.answer.status == 200, self.answer.read()
        self.first = self.next()
        assert self.first[0] == "watching"

    def next(self):
        name = self.answer.readline().decode().split(": ")[1].strip()
        data = json.loads(self.answer.readline()[6:])
        assert self.answer.readline() == b"\n"
        return name, data

    def until(self, *wanted):
        """Reads until all of these events were seen, in any order; gives those that came."""
        seen = []
        while not all(any(name == got[0] and data == got[1] for got in seen) for name, data in wanted):
            seen.append(self.next())
        return [name for name, _ in seen]


def test_changes_of_files_are_told_as_they_come(server, box):
    run(server, box, "mkdir -p /tmp/w/d; echo a >/tmp/w/a; echo b >/tmp/w/b")
    watch = Watch(server, box, "/tmp/w")
    with contextlib.closing(watch.line):
        assert watch.first[1] == {"files": 4, "is_cut": False}
        server.put(at(box, "/tmp/w/d/new file"), b"x")
        watch.until(("created", {"path": "/tmp/w/d/new file", "type": "file"}))
        run(server, box, "echo more >>/tmp/w/a")
        watch.until(("modified", {"path": "/tmp/w/a", "type": "file"}))
        server.post(f"{BOXES}/{box}/files/move", {"from": "/tmp/w/b", "to": "/tmp/w/d/c"})
        watch.until(("renamed", {"path": "/tmp/w/d/c", "from": "/tmp/w/b", "type": "file"}))
        server.delete(at(box, "/tmp/w/d"))
        watch.until(*[("removed", {"path": f"/tmp/w/{name}", "type": kind}) for name, kind in
                      (("d", "folder"), ("d/c", "file"), ("d/new file", "file"))])
        run(server, box, "rm -r /tmp/w")
        watch.until(("removed", {"path": "/tmp/w", "type": "folder"}))
        run(server, box, "mkdir /tmp/w")
        watch.until(("created", {"path": "/tmp/w", "type": "folder"}))
    soon(lambda: count(server, box, "find") + count(server, box, "sleep") == 0)


def test_a_watch_ends_with_its_sandbox_and_there_are_so_many(server):
    own = server.post(BOXES, {}).json["id"]
    watches = [Watch(server, own, "/tmp", depth=1) for _ in range(8)]
    answer = server.get(at(own, "/tmp", "/watch"))
    assert answer.status == 429 and answer.headers["Retry-After"]
    server.delete(f"{BOXES}/{own}")
    for watch in watches:
        assert b"event: error" in watch.answer.read()
        watch.line.close()
    box = server.post(BOXES, {}).json["id"]
    Watch(server, box, "/tmp").line.close()
    assert server.ask("HEAD", at(box, "/tmp", "/watch")).status == 200
    assert server.get(at(box, "/tmp/none", "/watch")).status == 404
    for more in ({"interval_ms": 5}, {"depth": 0}, {"depth": "x"}):
        assert server.get(at(box, "/tmp", "/watch", **more)).status == 422
    server.delete(f"{BOXES}/{box}")


# --- out of a run ---

RUN = "/v1/run"


def harvest(server, asked):
    answer = server.post(RUN, asked)
    assert answer.status == 200, answer.body
    return answer.json, {row["path"]: row for row in answer.json["files"]}


def test_a_run_gives_the_files_that_were_asked_for(server):
    result, files = harvest(server, {"command": "pwd; echo a,b >report.csv; mkdir plots; printf '\\377\\0' >plots/1.png;"
                                                " echo x >plots/2.txt; echo s >'two words.csv'; ln -s /etc/passwd link; cat",
                                     "stdin": "in", "outputs": ["report.csv", "plots/*.png", "*.csv", "none", "plots"]})
    assert result["status"] == "ok" and result["stdout"] == "/home/box\nin"
    assert files == {
        "report.csv": {"path": "report.csv", "size": 4, "content": "a,b\n", "truncated": False},
        "two words.csv": {"path": "two words.csv", "size": 2, "content": "s\n", "truncated": False},
        "plots/1.png": {"path": "plots/1.png", "size": 2, "content_base64": "/wA=", "truncated": False},
    }
    assert server.get(BOXES).json["sandboxes"] == []


def test_files_come_of_runs_that_fail_too(server):
    result, files = harvest(server, {"language": "python", "code": "open('a', 'w').write('A'); raise SystemExit(3)",
                                     "outputs": ["a"], "files": [{"path": "b.txt", "content": "B"}]})
    assert (result["status"], result["exit_code"], files["a"]["content"]) == ("failed", 3, "A")
    result, files = harvest(server, {"command": "echo A >a; sleep 30", "timeout": 1, "outputs": ["a"]})
    assert (result["status"], files["a"]["content"]) == ("timeout", "A\n")
    result, files = harvest(server, {"argv": ["no-such-program"], "outputs": ["a"]})
    assert (result["status"], files) == ("error", {})


def test_large_files_and_many_are_cut_and_that_is_said(server):
    _, files = harvest(server, {"command": "for i in 1 2 3; do head -c 5000000 /dev/zero | tr '\\0' x >$i; done; seq 100 |"
                                           " while read n; do echo $n >f$n; done", "outputs": ["[1-3]", "f*"]})
    assert [(files[name]["size"], len(files[name]["content"]), files[name]["truncated"]) for name in "123"] == \
        [(5000000, 4 << 20, True), (5000000, 4 << 20, True), (5000000, 0, True)]
    assert len(files) == 64


def test_outputs_that_are_none_are_refused(server):
    for outputs in ([], ["/etc/passwd"], ["../a"], ["a/../b"], [""], ["a\nb"], "a", [1], ["a"] * 33):
        assert server.post(RUN, {"argv": ["true"], "outputs": outputs}).status == 422, outputs
    for accept in ("text/event-stream", "application/octet-stream"):
        assert server.post(RUN, {"argv": ["true"], "outputs": ["a"]}, headers={"Accept": accept}).status == 422


def alive(number):
    """Whether a program `sleep NUMBER` runs somewhere."""
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes() == b"sleep\0%d\0" % number:
                return True
    return False


def test_who_goes_before_the_files_are_there_leaves_no_box(server):
    number = 50000 + os.getpid() % 10000 + (7 if server.who == "root" else 0)
    body = f'{{"argv": ["sleep", "{number}"], "outputs": ["a"], "timeout": 3000}}'.encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
        line.sendall(f"POST {RUN} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(body)}\r\nAuthorization: Bearer {server.key}\r\n\r\n".encode() + body)
        soon(lambda: alive(number))
    soon(lambda: not alive(number))


# --- others ---

def test_nothing_of_it_is_another_tenants(server, box):
    other, body = server.make_key(), {"path": "/tmp/x"}
    tar = {"Content-Type": "application/x-tar"}
    answers = {
        "read": server.get(at(box, "/etc/passwd"), key=other),
        "part": server.get(at(box, "/etc/passwd"), key=other, headers={"Range": "bytes=0-1"}),
        "write": server.put(at(box, "/tmp/x"), b"x", key=other),
        "mkdir": server.post(f"{BOXES}/{box}/files/mkdir", body, key=other),
        "move": server.post(f"{BOXES}/{box}/files/move", {"from": "/tmp/x", "to": "/tmp/y"}, key=other),
        "search": server.get(at(box, "/tmp", "/search", name="*"), key=other),
        "upload": upload(server, box, *form(("file", "a", b"A")), "/tmp/", key=other),
        "watch": server.get(at(box, "/tmp", "/watch"), key=other),
        "pack": server.get(at(box, "/tmp", "/archive"), key=other),
        "unpack": server.put(at(box, "/tmp", "/archive"), archive(("a", b"a")), key=other, headers=tar),
    }
    assert {name: (answer.status, answer.json["error"]["where"]) for name, answer in answers.items()} == \
        dict.fromkeys(answers, (404, "id"))


def test_who_may_only_read_changes_no_file(server, box):
    reader = server.make_key("--scope", "read")
    for answer in (server.put(at(box, "/tmp/x"), b"x", key=reader),
                   server.post(f"{BOXES}/{box}/files/mkdir", {"path": "/tmp/x"}, key=reader),
                   server.put(at(box, "/tmp", "/archive"), b"", key=reader, headers={"Content-Type": "application/x-tar"})):
        assert answer.status == 403
