"""`ringfort metrics`: figures that Prometheus reads."""
import os
import subprocess
import time

import pytest


def figures(text):
    """{name with labels: value} of a text; each name has its help and its type before it."""
    found, described = {}, set()
    for line in text.splitlines():
        if line.startswith("#"):
            described.add((line.split()[1], line.split()[2]))
            continue
        name, value = line.rsplit(" ", 1)
        assert {("HELP", name.split("{")[0]), ("TYPE", name.split("{")[0])} <= described, line
        found[name] = float(value)
    return found


def test_without_a_watcher_it_tells_what_the_records_show(as_who, call, start):
    before = figures(call("metrics").out.decode())
    assert before["ringfort_watched"] == 0
    assert not any(name.endswith("_total") for name in before), "a count that nobody keeps"
    version = call("--version").out.decode().split()[1]
    assert before[f'ringfort_info{{version="{version}"}}'] == 1


def test_boxes_are_counted_while_they_live(command, environment, workdir, start, as_who):
    def boxes():
        done = subprocess.run(command("metrics"), env=environment, cwd=workdir, check=True,
                              capture_output=True, text=True)
        return figures(done.stdout)["ringfort_boxes"]

    if as_who == "root":
        pytest.skip("root's boxes are the machine's, and others come and go meanwhile")
    if os.environ.get("RF_TEST_WARDEN"):
        pytest.skip("a warden keeps boxes ready, and they count, too")
    assert boxes() == 0
    running = [start("--", "sh", "-c", "echo up; sleep 60") for _ in range(2)]
    for process in running:
        assert process.stdout.readline() == b"up\n"
    assert boxes() == 2
    running[0].kill()
    running[0].wait()
    until = time.monotonic() + 10  # its janitor holds the record until all is taken away
    while boxes() != 1:
        assert time.monotonic() < until, "one that was killed still counts"
        time.sleep(0.05)


def test_promtool_takes_the_text(call, need):
    need("promtool")
    text = call("metrics").out
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("args", [("x",), ("--json",), ("--", "x")])
def test_a_wrong_word_is_refused_with_a_hint(call, args):
    done = call("metrics", *args)
    assert done.code == 125 and b"hint:" in done.err, done.err
