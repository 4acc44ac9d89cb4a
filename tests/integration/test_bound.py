"""Connections on terms: who reads what strangers send asks on one, and the warden believes nothing that it says."""
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from wardens import Warden  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")


@pytest.fixture(scope="module")
def standing(ringfort, public):
    found = {}
    yield lambda who: found.get(who) or found.setdefault(who, Warden(ringfort, who, public / f"bound-{who}"))
    for warden in found.values():
        warden.close()


@pytest.fixture
def speak(standing, as_who):
    """Runs code of a client of the warden's; what it prints last is JSON."""
    before = """
        import json
        HOST, TEXT = 0, 2
        sock = connect()

        def run(line, body):
            with line:
                run = Run(line, body)
                try:
                    kind = receive(line)
                    if kind[0] == REFUSED:
                        return "refused"
                    return run.read().decode()
                finally:
                    run.close()

        def joined(line):
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                send(line, message(JOIN), [theirs.fileno()])
            ours.settimeout(20)
            return ours
    """
    def client(code, *args):
        import textwrap
        return json.loads(standing(as_who).python(textwrap.dedent(before) + textwrap.dedent(code), *args))

    return client


def test_the_ceiling_bounds_what_is_asked_on_it_and_on_what_is_joined(speak, workdir):
    """Each row asks for something that the ceiling does not give; the same is given on a connection without terms."""
    (workdir / "secret").write_text("found\n")
    (workdir / "secret").chmod(0o644)
    said = speak("""
        here = sys.argv[2]
        asks = {
            "a file": errand("cat", here + "/secret", policy="files: {read: [" + here + "]}"),
            "the working directory": errand("cat", here + "/secret", cwd=here),
            "a home": errand("cat", here + "/secret", home=here, policy="files: {read: [~]}"),
            "the network": errand("sh", "-c", "wc -l </proc/net/dev", policy="network: host"),
        }
        free = {name: run(connect(), ask) for name, ask in asks.items()}
        ceiling = "version: 1\\nlimits: {time: 10s}\\n"
        refused = {name: run(bind(sock, ceiling=ceiling), ask) for name, ask in asks.items()}
        asks = {name: ask[:-4] + struct.pack("=I", 1) for name, ask in asks.items()}  # what is beyond is to be narrowed
        bound = {name: run(bind(sock, ceiling=ceiling), ask) for name, ask in asks.items()}
        line = bind(sock, ceiling=ceiling)
        further = {name: run(joined(line), ask) for name, ask in asks.items()}
        print(json.dumps([free, refused, bound, further]))
    """, workdir)
    free, refused, bound, further = said
    for name in ("a file", "the working directory", "a home"):
        assert free[name] == "found\n", name
        assert bound[name] == further[name] == "", name
    assert bound["the network"] == further["the network"] == "3\n"  # two lines of heading, and loopback
    # What the policy names is refused where the client did not say that it is to be narrowed; nobody names a working directory.
    assert refused == {"a file": "refused", "the working directory": "", "a home": "refused", "the network": "refused"}


def test_what_is_brought_along_are_texts_beneath_one_folder(speak, workdir):
    (workdir / "secret").write_text("found\n")
    said = speak("""
        here = sys.argv[2]
        rows = [(TEXT, "/code/main.txt", "brought\\n"), (HOST, "/code/main.txt", here + "/secret"),
                (TEXT, "/etc/main.txt", "x"), (TEXT, "/code/../main.txt", "x"), (TEXT, "/code", "x"),
                (TEXT, "/codex/main.txt", "x")]
        print(json.dumps([run(bind(sock), errand("cat", path, extras=[(kind, path, source)]))
                          for kind, path, source in rows]))
    """, workdir)
    assert said == ["brought\n"] + ["refused"] * 5


def test_a_workspace_is_a_name_beneath_the_tenant_and_no_path(speak):
    """Those that there are, and another tenant's: test_server_workspace.py.  Who has no tenant has none."""
    assert speak("""
        names = ["nothing", "../t-other/x", "..", ".", "/etc", "a/b", "", "x" * 63]
        print(json.dumps([run(bind(sock), errand("true", workspace=name, whole=whole)) for name in names for whole in (0, 1)] +
                         [run(connect(), errand("true", workspace=name)) for name in names]))
    """) == ["refused"] * 24


def test_variables_of_the_program_alone_are_words(speak):
    """The ceiling says nothing of them, as it says nothing of arguments."""
    assert speak("""
        ask = errand("sh", "-c", "echo $ONE-$LANG", own=["ONE=1", "LANG=x=y"])
        print(json.dumps([run(connect(), ask), run(bind(sock), ask), run(bind(sock), errand("true", own=["odd"]))]))
    """) == ["1-x=y\n", "1-x=y\n", "refused"]


def test_a_bound_connection_can_not_loosen_itself_and_has_no_gateway_or_filter_of_its_own(speak):
    assert speak("""
        line = bind(sock)
        answers = []
        bind(line, tenant="other")
        answers.append(receive(line)[0])
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fds = [os.open("/dev/null", os.O_RDWR) for _ in range(3)] + [theirs.fileno()]
        send(line, message(RUN, errand("true")), fds)
        answers.append(receive(line)[0])
        answers.append(run(bind(sock), errand("true", policy="seccomp: [/etc/passwd]")))
        print(json.dumps(answers))
    """) == [9, 9, "refused"]


def test_the_path_of_the_caller_says_nothing_of_the_host(speak, workdir):
    """The result's hint names where the caller's PATH leads to: on terms, that is a PATH of the warden's own."""
    (workdir / "hosts-own").write_text("#!/bin/sh\n")
    (workdir / "hosts-own").chmod(0o755)
    free, bound, none = speak("""
        def ended(line, name):
            with line:
                run = Run(line, errand(name, path=sys.argv[2]))
                try:
                    while (kind := receive(line))[0] != ENDED:
                        pass
                    return kind[2].decode("latin1")
                finally:
                    run.close()
        print(json.dumps([ended(connect(), "hosts-own"), ended(bind(sock), "hosts-own"), ended(bind(sock), "hosts-nil")]))
    """, workdir)
    assert str(workdir) in free and "on your PATH" in free
    assert str(workdir) not in bound and "on your PATH" not in bound and "/usr/local/bin" in bound
    assert len(bound) == len(none)  # nor by anything else


def test_it_has_as_many_boxes_as_the_terms_say(speak):
    assert speak("""
        line = bind(sock, boxes=2)
        runs = []
        for i in range(2):
            one = joined(line)
            runs.append(Run(one, errand("sh", "-c", "echo up; read x")))
            assert receive(one)[0] == STARTED
        full = run(joined(line), errand("echo", "third"))
        os.close(runs[0].stdin)
        assert receive(runs[0].sock)[0] == ENDED
        print(json.dumps([full, run(joined(line), errand("echo", "third"))]))
    """) == ["refused", "third\n"]


def test_a_tenant_sees_its_own_kept_boxes_and_no_others(speak):
    """Whatever is asked of another's box is answered as if there were none."""
    assert speak("""
        def keep(line, note):
            send(line, message(KEEP, errand("box", note=note)))
            kind, _, body = receive(line)
            assert kind == STARTED, kind
            return body[:24].rstrip(b"\\0").decode()

        def ask(line, kind, box="", time_ms=0):
            send(line, message(kind, box.encode().ljust(24, b"\\0") + bytes(8) + struct.pack("=Q", time_ms)))
            return receive(line)

        lines = {who: bind(sock, key=who, tenant=who) for who in ("acme", "other")}
        box = keep(joined(lines["acme"]), "its note")
        theirs = keep(joined(lines["other"]), None)
        listed = {who: ask(joined(line), LIST)[2] for who, line in lines.items()}
        seen = {who: [box.encode() in body, theirs.encode() in body, b"its note" in body]
                for who, body in listed.items()}
        kinds = [ask(joined(lines["other"]), kind, box, 1000)[0] for kind in (FREEZE, THAW, RENEW, LIST, ATTACH, CLOSE)]
        fds = [os.open("/dev/null", os.O_RDWR) for _ in range(3)]
        line = joined(lines["other"])
        send(line, message(EXEC, string(box) + strings(["true"]) + strings([]) + string(None) + bytes(20)), fds)
        kinds.append(receive(line)[0])
        everything = ask(connect(), LIST)[2]
        all_seen = box.encode() in everything and theirs.encode() in everything
        ended = [ask(joined(lines["acme"]), CLOSE, box)[0], ask(connect(), CLOSE, theirs)[0]]
        print(json.dumps([seen, kinds, all_seen, ended]))
    """) == [{"acme": [True, False, True], "other": [False, True, False]}, [9] * 7, True, [8, 8]]


def test_a_box_that_stands_still_for_now_goes_on_when_who_asked_is_gone(speak):
    """And one that somebody wants still for good does not."""
    assert speak("""
        FOR_NOW = 1

        def ask(line, kind, number=0):
            send(line, message(kind, box.encode().ljust(24, b"\\0") + struct.pack("=IIQ", number, 0, 0)))
            kind, _, body = receive(line)
            at = 4 + len(box) + 1
            return struct.unpack("=I", body[at:at + 4])[0]

        bound = bind(sock, key="acme", tenant="acme")
        line = joined(bound)
        send(line, message(KEEP, errand("box")))
        box = receive(line)[2][:24].rstrip(b"\\0").decode()
        look = joined(bound)

        def goes_on():
            for _ in range(100):
                if ask(look, LIST) == 0:
                    return True
                time.sleep(0.02)
            return False

        import time
        said = []
        holder = joined(bound)
        said.append([ask(holder, FREEZE, FOR_NOW), ask(look, LIST)])
        holder.close()
        said.append(goes_on())
        holder, other = joined(bound), joined(bound)
        said.append([ask(holder, FREEZE, FOR_NOW), ask(look, THAW, FOR_NOW)])
        said.append([ask(holder, FREEZE, FOR_NOW), ask(look, FREEZE)])
        holder.close()
        said.append([goes_on(), ask(look, THAW, FOR_NOW), ask(other, FREEZE, FOR_NOW)])
        other.close()
        said.append([goes_on(), ask(look, THAW)])
        print(json.dumps(said))
    """) == [[1, 1], True, [1, 0], [1, 1], [False, 1, 1], [False, 0]]


def test_who_never_reads_and_makes_its_sockets_block_keeps_nobody_waiting(speak):
    """Whether a socket blocks is shared by all descriptors of it: so what the warden was given, it waits at never."""
    assert speak("""
        import fcntl, select
        line = bind(sock)
        deaf, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        send(line, message(JOIN), [theirs.fileno()])
        other = bind(sock, key="k2", tenant="other")
        before = run(joined(other), errand("echo", "one"))
        fcntl.fcntl(theirs.fileno(), fcntl.F_SETFL, 0)
        deaf.setblocking(False)
        for _ in range(100000):
            try:
                deaf.send(message(LIST, bytes(40)))
            except BlockingIOError:
                if not select.select([], [deaf], [], 1)[1]:
                    break
            except OSError:
                break
        print(json.dumps([before, run(joined(other), errand("echo", "two"))]))
    """) == ["one\n", "two\n"]


def test_a_box_whose_gateway_is_gone_as_it_begins_says_so(speak):
    """It is killed, since it can't have what it was promised: that is a reason, and is told."""
    kinds, last = speak("""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.close()
        line = connect()
        line.settimeout(20)
        pipes = [os.pipe() for _ in range(3)]
        fds = [pipes[0][0], pipes[1][1], pipes[2][1], theirs.fileno()]
        send(line, message(RUN, errand("sleep", "60", policy="network: { allow: [a.example] }")), fds)
        kinds = []
        while not kinds or kinds[-1] not in (ENDED, REFUSED):
            answer = receive(line)
            kinds.append(answer[0])
        print(json.dumps([kinds, repr(answer)]))
    """)
    assert kinds[-1] == 8 and "the network" in last and "Broken pipe" in last, last


def test_only_the_owner_takes_connections_on_terms_back(speak):
    """WITHDRAW is who serves strangers' to say: of one that is bound, and of another client, it is refused, and ends nothing."""
    said = speak("""
        first, second = bind(sock, key="k1"), bind(sock, key="k2")
        for line in (second, connect()):
            send(line, message(95, b"k1"))
            assert receive(line)[0] == REFUSED
        print(json.dumps(run(first, errand("echo", "on"))))
    """)
    assert said == "on\n"
