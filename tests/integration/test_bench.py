"""The benchmarks measure what they say: a box that lacks a wall is not measured, a run that failed is
not counted, and what people wrote in docs/benchmarks.md stays."""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import pytest
from helpers import eventually

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import footprint  # noqa: E402

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="bench/floor needs root")
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")


@pytest.fixture(scope="module")
def engine():
    done = subprocess.run(["ninja", "-C", ROOT / "build", "--quiet", "bench-start"], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout

    def measure(*words):
        done = subprocess.run([ROOT / "build/bench-start", *words], check=True, text=True,
                              stdout=subprocess.PIPE)
        return [json.loads(line) for line in done.stdout.splitlines()]

    return measure


def test_rounds_are_spread_and_failures_are_not_counted(engine):
    found = engine("-q", "0", ":::", "rounds=20", "/bin/true", ":::", "rounds=4", "/bin/true", ":::",
                   "rounds=10", "/bin/false")
    assert [(row["rounds"], row["failed"]) for row in found] == [(20, 0), (4, 0), (0, 10)]
    assert 0 < found[0]["least"] <= found[0]["median"] <= found[0]["p99"]


def test_a_rate_is_that_of_all_workers(engine):
    found = engine("-s", "0.5", "-w", "2", ":::", "/bin/sh", "-c", "sleep 0.1; test {n} = 1")[0]
    assert 3 <= found["runs"] <= 5 and 3 <= found["failed"] <= 5  # the first worker's fail
    assert found["per_second"] == pytest.approx(found["runs"] / found["seconds"], rel=0.05)


@pytest.mark.parametrize("wall", ["seccomp", "landlock", "network"])
def test_a_box_that_lacks_a_wall_is_not_measured(public, wall):
    """The launcher of the tests leaves a wall out, and does not refuse to."""
    launcher = public / f"lacks-{wall}"
    launcher.write_text(f"#!/bin/sh\nshift\nRINGFORT_TEST_WITHOUT={wall} RINGFORT_TEST_UNPROVEN=1 "
                        f'exec {ROOT}/build/ringfort-unwalled run --weaker allow "$@"\n')
    launcher.chmod(0o755)
    done = subprocess.run([ROOT / "bench/run", "walls"], capture_output=True, text=True,
                          env={**os.environ, "RINGFORT": str(launcher), "ROUNDS": "3"},
                          check=False)
    assert done.returncode == 1 and "lacks a wall or a proof" in done.stderr, done.stderr
    assert "µs" not in done.stdout


def test_what_people_wrote_around_a_table_stays(tmp_path):
    spec = importlib.util.spec_from_file_location("page", ROOT / "bench/page.py")
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    path = tmp_path / "page.md"
    path.write_text("before\n<!-- bench one -->\nold\n<!-- end -->\nbetween\n"
                    "<!-- bench two -->\nkept\n<!-- end -->\nafter\n")
    assert page.write(path, {"one": page.table(["a"], [["1"]]), "three": "lost"}) == ["three"]
    assert path.read_text() == ("before\n<!-- bench one -->\n| a |\n|---|\n| 1 |\n<!-- end -->\nbetween\n"
                                "<!-- bench two -->\nkept\n<!-- end -->\nafter\n")


def test_every_table_has_a_place_on_the_page():
    shown = {name for path in (ROOT / "bench").glob("*.py")
             for name in re.findall(r'bench\.show\("([a-z-]+)"', path.read_text())}
    places = set(re.findall(r"<!-- bench ([a-z-]+) -->", (ROOT / "docs/benchmarks.md").read_text()))
    assert {"library-times", "library-rate", "library-held", "floor-steps"} <= shown <= places


# --- bench/floor: boxes of the kernel's steps alone ---

@pytest.fixture(scope="module")
def floor(tmp_path_factory):
    """A folder with bench-floor and what it puts into boxes."""
    names = ("bench-floor", "bench-floor-init", "bench-true")
    done = subprocess.run(["ninja", "-C", ROOT / "build", "--quiet", *names], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    folder = tmp_path_factory.mktemp("floor")
    for name in names:
        shutil.copy(ROOT / "build" / name, folder)
    return folder


def groups_of(pid):
    """Groups that this process made, in all hierarchies."""
    return [path for path, _, _ in os.walk("/sys/fs/cgroup")
            if os.path.basename(path).startswith(f"bench-floor-{pid}-")]


class Floor:
    """A bench-floor that has been told to go."""

    def __init__(self, folder, *words):
        self.process = subprocess.Popen([folder / "bench-floor", *words], cwd=folder, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.workers = [int(word) for word in self.process.stdout.readline().split()]
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.found = json.loads(self.process.stdout.readline())
        self.look()

    def look(self):
        self.all = footprint.descendants(self.process.pid)[1:]
        return self.all

    def end(self):
        """Ends its input, and looks at what it left; gives how it ended."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        status = self.process.wait(30)
        self.process.stdout.close()
        assert groups_of(self.process.pid) == []
        assert eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in self.all))
        return status


def namespaces(pid):
    return {name: os.readlink(f"/proc/{pid}/ns/{name}") for name in NAMESPACES}


@as_root
@pytest.mark.parametrize("options", [[], ["-l"]], ids=["own network", "loopback off"])
def test_the_floors_boxes_have_every_wall(floor, options):
    """A floor that lacked one would be lower than any box can be."""
    run = Floor(floor, *options, "-n", "2", "hold", "./bench-true", "sleep")
    try:
        assert run.found == {"boxes": 2}
        assert eventually(lambda: len(run.look()) == 5), "pid 1 and a program for each, and who made them"
        boxes = [pid for pid in run.all if pid not in run.workers]
        first, *rest = sorted((namespaces(pid) for pid in boxes), key=str)
        assert [first == other for other in rest] == [True, False, False]
        same = {name for name in NAMESPACES if first[name] == rest[-1][name]}
        assert same == set()
        assert not set(first.values()) & set(namespaces("self").values())
        for pid in boxes:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            fields = dict(line.split(":\t", 1) for line in status.splitlines())
            assert {fields[f"Cap{name}"] for name in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
            assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")
            assert int(fields["Uid"].split()[0]) >= 0x70000000
            assert len(re.findall(rf"/bench-floor-{run.process.pid}-",
                                  pathlib.Path(f"/proc/{pid}/cgroup").read_text())) in (1, 3)
    finally:
        assert run.end() == 0


@as_root
def test_the_floors_box_is_closed_from_inside(floor):
    """By what a program in it can do, as in a box of ours."""
    script = ("id -u; pwd; cat /proc/cmdline; ls /proc/fs; hostname; echo $$; "
              "for path in /tmp /run /home/box /var/tmp /dev/shm; do echo x >$path/x && echo wrote; done; "
              "echo x >/work/x || echo read-only; echo x >/x || echo read-only; "
              "ls /empty >/dev/null && echo listed; cat /proc/1/environ || echo hidden; "
              "echo 5 >/proc/sys/user/max_user_namespaces || echo fixed; unshare -U true || echo refused")
    done = subprocess.run([floor / "bench-floor", "once", "/bin/sh", "-c", script], cwd=floor, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    assert done.returncode == 0
    assert done.stdout.split() == ["1000", "/work", "box", "2", *["wrote"] * 5, "read-only", "read-only",
                                   "listed", "hidden", "fixed", "refused"]
    failed = subprocess.run([floor / "bench-floor", "once", "/bin/sh", "-c", "exit 7"], cwd=floor,
                            check=False)
    assert failed.returncode == 7


@as_root
@pytest.mark.parametrize("ended", ["itself", "its worker"])
def test_a_floor_that_is_interrupted_leaves_nothing_behind(floor, ended):
    run = Floor(floor, "-n", "3", "hold", "./bench-true", "sleep")
    assert len(groups_of(run.process.pid)) in (3, 9)
    if ended == "itself":
        run.process.send_signal(signal.SIGTERM)
    else:
        os.kill(run.workers[0], signal.SIGKILL)
    assert run.end() == 1


@as_root
@pytest.mark.parametrize("options", [[], ["-l"], ["-a"]], ids=["whole", "loopback off", "ahead"])
def test_the_floor_measures(floor, options):
    run = Floor(floor, *options, "-n", "20", "times", "./bench-true")
    assert run.end() == 0
    assert run.found["rounds"] == 20
    assert 0 < run.found["least"] <= run.found["median"] <= run.found["p99"]
    assert all(us > 0 for us in run.found["steps_us"].values()), run.found
    run = Floor(floor, "-w", "2", "-s", "1", "rate", "./bench-true")
    assert run.end() == 0
    assert len(run.workers) == 2 and run.found["boxes"] == sum(run.found["by_second"]) > 0


@as_root
def test_a_box_of_the_floors_that_fails_is_not_measured(floor):
    done = subprocess.run([floor / "bench-floor", "-n", "5", "times", "./no-such-program"], cwd=floor,
                          input="\n", capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "failed" in done.stderr and not done.stdout


@as_root
def test_a_box_of_the_floors_that_can_not_be_made_leaves_nothing_behind(floor):
    before = [path for path, _, _ in os.walk("/sys/fs/cgroup") if "/bench-floor-" in path]
    done = subprocess.run([floor / "bench-floor", "once", "/bin/true"], cwd="/proc", check=False,
                          capture_output=True, text=True)
    assert done.returncode == 1 and "an idmapped mount" in done.stderr  # which proc can't have
    assert [path for path, _, _ in os.walk("/sys/fs/cgroup") if "/bench-floor-" in path] == before


def test_the_floor_is_roots(floor, public):
    shutil.copy(floor / "bench-floor", public)
    prefix = [] if os.geteuid() else ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "--"]
    done = subprocess.run([*prefix, public / "bench-floor", "once", "/bin/true"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 2 and "run it as root" in done.stderr
