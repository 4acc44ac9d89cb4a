"""`ringfort audit`: what was recorded is shown as it was wanted, and what was changed is found and named."""
import contextlib
import csv
import io
import json
import os
import pathlib
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

import pytest

from helpers import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from watchers import IS_ROOT, Post  # noqa: E402


@pytest.fixture(scope="module")
def post(ringfort, public):
    """A log of four runs of two agents, closed."""
    top = pathlib.Path(tempfile.mkdtemp(prefix="audit-", dir=public))
    top.chmod(0o755)
    with Post(ringfort, "user", top / "post") as there:
        there.anchor = there.top / "heads"
        there.stand("--anchor", there.anchor)
        for agent, words in (("one", ["true"]), ("two", ["false"]), ("one", ["sleep", "9"]), ("two", ["true"])):
            there.run("run", "--agent", agent, "--time", "300ms", "--", *words)
        time.sleep(1.2)  # a head is signed every second
        there.end()
        yield there
    shutil.rmtree(top, ignore_errors=True)


@pytest.fixture
def copy(post, public):
    """The log once more, to be changed."""
    top = pathlib.Path(tempfile.mkdtemp(prefix="copy-", dir=public))
    shutil.copytree(post.log, top / "log")
    subprocess.run(["chown", "-R", "12345:12345", top], check=IS_ROOT)
    yield top / "log"
    shutil.rmtree(top, ignore_errors=True)


def kinds(events):
    return [one["kind"] for one in events]


# --- show ---

def test_filters_take_what_they_say(post):
    everything = post.events()
    assert kinds(everything)[:2] == ["chain.started", "watch.started"]
    assert kinds(everything)[-2:] == ["watch.ended", "chain.closed"]
    assert len(post.events("--kind", "run")) == 8
    assert len(post.events("--kind", "run.ended")) == 4
    assert len(post.events("--kind", "run.ended", "--kind", "watch.started")) == 5
    assert len(post.events("--agent", "one")) == 4
    assert [one["agent"] for one in post.events("--verdict", "timeout")] == ["one"]
    box = post.events("--verdict", "failed")[0]["box"]
    assert kinds(post.events("--box", box)) == ["run.started", "run.ended"]
    assert post.events("--last", "3") == everything[-3:]
    assert post.events("--agent", "two", "--last", "1") == post.events("--agent", "two")[-1:]
    middle = everything[5]["time"]
    assert post.events("--since", middle) == everything[5:]
    assert post.events("--until", middle) == everything[:5]
    assert post.events("--since", "1h") == everything and post.events("--until", "1h") == []
    assert post.events("--agent", "nobody") == []


def test_what_is_asked_wrongly_is_told_so(post):
    for words, said in ((["--since", "soon"], "no moment"), (["--kind", "xyz"], "no kind"),
                        (["--last", "-1"], "not a number"), (["--json", "--csv"], "not both"),
                        (["--log", "/nowhere"], "/nowhere"), (["--sinse", "1h"], "--since"),
                        (["argument"], "no argument")):
        done = post.run("audit", "show", *words)
        assert done.returncode == 125 and said in done.stderr, (words, done.stderr)
    assert "run.started" in post.run("audit", "show", "--kind", "xyz").stderr


def test_as_a_table_as_csv_and_for_other_systems(post):
    table = post.run("audit", "show", "--agent", "two").stdout.splitlines()
    assert table[0].startswith("TIME (UTC)") and len(table) == 5 and "failed" in table[2]
    rows = list(csv.DictReader(io.StringIO(post.run("audit", "show", "--csv", "--kind", "run").stdout, newline="")))
    assert [row["verdict"] for row in rows] == ["", "ok", "", "failed", "", "timeout", "", "ok"]
    assert rows[0]["program"] == "true" and len(rows[0]["policy"]) == 64
    lines = post.run("audit", "export").stdout.splitlines()
    assert [json.loads(line) for line in lines] == post.events()
    shaped = [json.loads(line) for line in post.run("audit", "export", "--format", "ocsf").stdout.splitlines()]
    assert len(shaped) == len(lines)
    for one, plain in zip(shaped, post.events()):
        assert one["type_uid"] == one["class_uid"] * 100 + one["activity_id"]
        assert one["category_uid"] == one["class_uid"] // 1000 and one["unmapped"] == plain
    ended = [one for one in shaped if one["unmapped"]["kind"] == "run.ended"]
    assert [one["status_id"] for one in ended] == [1, 2, 2, 1]
    assert {one["class_uid"] for one in ended} == {1007}


def test_it_follows_a_log_that_is_written(ringfort, public):
    top = pathlib.Path(tempfile.mkdtemp(prefix="follow-", dir=public))
    top.chmod(0o755)
    with Post(ringfort, "user", top / "post") as there:
        there.stand("--segment", "4K")
        follow = there.start("audit", "show", "--follow", "--json", "--kind", "run.ended")
        os.set_blocking(follow.stdout.fileno(), False)
        for turn in range(12):
            assert there.run("run", "--", "true").returncode == 0
            if turn == 8:
                time.sleep(1.2)  # until the next file is begun
        seen = bytearray()
        assert eventually(lambda: seen.extend(follow.stdout.read() or b"") or seen.count(b"\n") == 12)
        assert len(list(there.log.glob("*.log"))) > 1
        follow.kill()
        follow.communicate()
    shutil.rmtree(top, ignore_errors=True)


# --- verify ---

def verify(post, log, *options):
    done = post.run("audit", "verify", "--log", log, "--json", *options)
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert found["good"] == (done.returncode == 0)
    return found


def records(data):
    """The bytes of each record."""
    found, at = [], 0
    while at < len(data):
        size, = struct.unpack_from("<I", data, at)
        found.append(data[at:at + size])
        at += size
    return found


def test_a_log_that_nobody_touched_is_good_and_says_what_can_not_be_proved(post):
    found = post.verify()
    assert found["good"] and found["closed"] and not found["truncation_provable"]
    assert found["last_record"] == found["signed_record"] + 1
    said = post.run("audit", "verify")
    assert said.returncode == 0 and "can't be proved" in said.stdout
    said = post.run("audit", "verify", "--anchor", post.anchor)
    assert said.returncode == 0 and "the anchor answers" in said.stdout
    assert post.verify("--anchor", post.anchor)["truncation_provable"]


@pytest.mark.parametrize("how", ["edit", "delete", "swap", "insert", "splice"])
def test_every_kind_of_change_is_found_and_the_first_record_named(post, copy, how):
    file = copy / "000000000001.log"
    rows = records(file.read_bytes())
    at = 6
    if how == "edit":
        rows[at] = rows[at][:70] + bytes([rows[at][70] ^ 1]) + rows[at][71:]
    elif how == "delete":
        del rows[at]
    elif how == "swap":
        rows[at], rows[at + 1] = rows[at + 1], rows[at]
    elif how == "insert":
        rows.insert(at, rows[3])
    else:  # the payload of another event under this one's head
        rows[at] = rows[at][:56] + rows[at + 2][56:]
    file.write_bytes(b"".join(rows))
    found = verify(post, copy)
    assert not found["good"] and found["first_bad_record"] == at + 1, found
    said = post.run("audit", "verify", "--log", copy)
    assert said.returncode == 1 and f"record {at + 1} " in said.stdout


def test_a_cut_is_proved_by_the_anchor_alone(post, copy):
    file = copy / "000000000001.log"
    rows = records(file.read_bytes())
    for keep in (1, 5, len(rows) - 2):
        file.write_bytes(b"".join(rows[:keep]))
        assert verify(post, copy)["good"]
        found = verify(post, copy, "--anchor", post.anchor)
        assert not found["good"] and found["first_bad_record"] == keep + 1 and "cut off" in found["problem"]


def test_another_log_in_its_place_is_found(post, copy, ringfort, public):
    top = pathlib.Path(tempfile.mkdtemp(prefix="other-", dir=public))
    top.chmod(0o755)
    with Post(ringfort, "user", top / "post") as other:
        other.stand()
        other.end()
        shutil.copyfile(other.log / "000000000001.log", copy / "000000000001.log")
        found = verify(post, copy)
        assert not found["good"] and "another key" in found["problem"]
        # With its key in the key's place, the anchor still knows better, and so does who noted the key.
        key = (post.log / "key.pub").read_text().strip()
        shutil.copyfile(other.log / "key.pub", copy / "key.pub")
        assert verify(post, copy)["good"]
        assert not verify(post, copy, "--anchor", post.anchor)["good"]
        assert not verify(post, copy, "--key", key)["good"]
        assert verify(post, post.log, "--key", key)["good"]
    shutil.rmtree(top, ignore_errors=True)


def test_who_has_no_log_is_told_how_to_get_one(ringfort, public):
    top = pathlib.Path(tempfile.mkdtemp(prefix="none-", dir=public))
    top.chmod(0o755)
    with Post(ringfort, "user", top / "post") as there:
        done = there.run("audit", "verify")
        assert done.returncode == 125 and "ringfort watch" in done.stderr
        assert there.run("watch", "--status").returncode == 1
    shutil.rmtree(top, ignore_errors=True)


# --- the index ---

@pytest.fixture(name="long", scope="module", params=["root", "user"] if IS_ROOT else ["user"])
def _long(request, ringfort, public):
    """A log of some thousand events, of which an index is worth the while; closed."""
    top = pathlib.Path(tempfile.mkdtemp(prefix="index-", dir=public))
    top.chmod(0o755)
    with Post(ringfort, request.param, top / "post") as there:
        there.stand("--segment", "256K")
        there.python("""
            sock = connect()
            AGENT = 1
            for n in range(60):
                tell(sock, *[one for i in range(n * 40, n * 40 + 40) for one in (
                    event(RUN_STARTED, BOX=f"box{i}", USER=0, PROGRAM="p", AGENT=f"a{i % 9}"),
                    event(RUN_ENDED, BOX=f"box{i}", VERDICT="ok" if i != 7 else "timeout", AGENT=f"a{i % 9}"))])
                time.sleep(0.02)
        """)
        there.end()
        there.index = there.log.parent / "audit-index"
        yield there
    shutil.rmtree(top, ignore_errors=True)


ASKED = [["--agent", "a3"], ["--agent", "a3", "--last", "5"], ["--box", "box7"], ["--verdict", "timeout"], ["--last", "3"],
         ["--kind", "watch"], ["--agent", "nobody"], ["--since", "1h", "--last", "2"], []]


def same_answers(post):
    for words in ASKED:
        found, read = (post.run("audit", "show", "--json", *words, *more) for more in ([], ["--no-index"]))
        assert found.returncode == read.returncode == 0, found.stderr + read.stderr
        assert found.stdout == read.stdout, words


def test_an_index_changes_no_answer_and_belongs_to_its_reader(long):
    same_answers(long)
    made = long.run("audit", "index")
    assert made.returncode == 0 and "records are indexed" in made.stdout, made.stderr
    assert long.run("audit", "index").stdout.endswith(" 0 of them now\n")
    database, = long.index.iterdir()
    assert long.index.stat().st_mode & 0o777 == 0o700 and database.stat().st_uid == long.log.stat().st_uid
    assert not [path for path in long.log.iterdir() if "db" in path.name]
    same_answers(long)
    exported = long.run("audit", "export", "--agent", "a3").stdout
    assert exported == long.run("audit", "export", "--agent", "a3", "--no-index").stdout and exported
    assert long.verify()["good"]


def test_an_index_that_was_spoiled_is_made_anew(long):
    assert long.run("audit", "index", "--rebuild").returncode == 0
    database, = long.index.iterdir()
    good = database.read_bytes()
    for bad in (b"", b"nothing", good[:5000], good.replace(b"\x00\x00\x01", b"\x00\x01\x00"), os.urandom(8192)):
        database.write_bytes(bad)
        same_answers(long)
    assert long.run("audit", "index").returncode == 0
    again = long.top / "again.db"
    again.write_bytes(database.read_bytes())
    with contextlib.closing(sqlite3.connect(again)) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert opened.execute("SELECT count(*) FROM tile").fetchone()[0] >= 4
    same_answers(long)


def test_a_log_can_be_read_where_no_index_can_be_made(long):
    shutil.rmtree(long.index, ignore_errors=True)
    long.index.write_text("in its place")
    same_answers(long)
    refused = long.run("audit", "index")
    assert refused.returncode == 125 and "index" in refused.stderr
    long.index.unlink()
    if not long.is_room:  # root writes wherever it likes
        long.log.parent.chmod(0o500)
        try:
            same_answers(long)
        finally:
            long.log.parent.chmod(0o700)
    named = "/var/lib/ringfort/audit" if long.is_room else long.log
    assert long.run("audit", "show", "--log", named, "--agent", "a3").stdout == long.run("audit", "show", "--agent", "a3").stdout
    assert not [path for path in long.log.iterdir() if "index" in path.name]


def test_a_record_that_was_changed_is_not_shown(long, public):
    top = pathlib.Path(tempfile.mkdtemp(prefix="copy-", dir=public))
    shutil.copytree(long.log, top / "log")
    subprocess.run(["chown", "-R", "12345:12345", top], check=IS_ROOT and not long.is_room)
    first = sorted((top / "log").glob("*.log"))[0]
    data = bytearray(first.read_bytes())
    data[data.index(b"box7")] ^= 1
    first.write_bytes(data)
    done = long.run("audit", "show", "--log", top / "log", "--json")
    assert done.returncode == 1 and "changed" in done.stderr and "verify" in done.stderr
    assert len(done.stdout.splitlines()) == len(long.run("audit", "show", "--json").stdout.splitlines()) - 1
    shutil.rmtree(top, ignore_errors=True)
