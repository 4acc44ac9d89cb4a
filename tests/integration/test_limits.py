"""Every limit holds, says its name in the result, and is graded."""
import os
import re
import subprocess
import time

import pytest

pytestmark = pytest.mark.usefixtures("as_who")

LIMITS = ["memory", "cpu", "cpu_time", "time", "pids", "open_files", "file_size", "disk", "inodes", "output"]


def python(text):
    return ("--", "python3", "-c", text)


def verdict(result):
    return result["status"], result["exit_code"], result["signal"], result["limits_hit"]


# ------------------------------------------------------------- who keeps them

# What has pid 1's uid could put it behind all others: it would never run again, and could not end the box.
BEHIND = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
none, one = ctypes.c_int(0), ctypes.c_uint64(1)
def attempt(name, *call):
    print(name, "done" if libc.syscall(*call) == 0 else "refused")
for high in (0, 1 << 32):
    attempt("idle", 144, high + 1, 5, ctypes.byref(none))
    attempt("pin", 203, high + 1, 8, ctypes.byref(one))
    attempt("nice", 141, 0, high + 1, 19)
    attempt("nice of its group", 141, 1, high + 1, 19)
    attempt("io", 251, 1, high + 1, 3 << 13)
    attempt("limit", 302, high + 1, 0, ctypes.byref((ctypes.c_uint64 * 2)(1, 1)), None)
attempt("nice of its user", 141, 2, 0, 19)
attempt("io of its user", 251, 3, 0, 3 << 13)
"""


def test_pid_1_is_not_put_behind_all_others(run_box):
    said = run_box(*python(BEHIND)).out.decode()
    assert said.count("refused") == 14 and "done" not in said, said


def test_a_program_schedules_itself_as_it_likes(run_box):
    assert run_box(*python(
        "import os, threading\n"
        "os.sched_setaffinity(0, os.sched_getaffinity(0)); os.nice(1); os.setpriority(os.PRIO_PROCESS, os.getpid(), 5)\n"
        "os.sched_setscheduler(os.getpid(), os.SCHED_BATCH, os.sched_param(0)); print('fine')")).out == b"fine\n"


def test_busy_loops_beside_a_pid_1_that_was_put_behind_do_not_outlive_their_time(run_json):
    began = time.monotonic()
    result = run_json("--time", "1s", *python(BEHIND.replace("print(name, ", "(name, ") + (
        "\nfor i in range(30):\n"
        "    if os.fork() == 0:\n"
        "        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "        while True: pass\n"
        "import time; time.sleep(60)")))
    assert result["status"] in ("timeout", "cpu") and time.monotonic() - began < 4, result["usage"]


# ------------------------------------------------------------- memory

def test_memory_beyond_the_limit_says_memory(run_box, run_json):
    eat = python("bytearray(10**9)")
    done = run_box("--memory", "64M", *eat)
    assert done.code == 137 and b"memory" in done.err
    result = run_json("--memory", "64M", *eat)
    assert verdict(result) == ("memory", None, 9, ["memory"])
    assert result["usage"]["memory_peak"] <= 2 * 64 * 2**20


def test_memory_within_the_limit_is_given(run_json):
    assert run_json("--memory", "200M", *python("print(len(bytearray(10**8)))"))["stdout"] == "100000000\n"


def test_many_processes_share_one_memory_limit(run_json):
    result = run_json("--memory", "100M", *python(
        "import os, time\n"
        "for i in range(8):\n"
        "    if os.fork() == 0: x = bytearray(30 * 2**20); time.sleep(1); os._exit(0)\n"
        "for i in range(8): os.wait()"))
    assert result["limits_hit"] == ["memory"]  # version 1 kills one process, version 2 the box


@pytest.mark.parametrize("how", [
    "f = open('/tmp/fill', 'wb')",
    "f = open('/dev/shm/fill', 'wb')",
    "import os; f = os.fdopen(os.memfd_create('fill'), 'wb')",
    "import mmap\nclass F:\n m = []\n def write(s, b): a = mmap.mmap(-1, len(b)); a.write(b); s.m.append(a)\nf = F()",
], ids=["tmp", "shm", "memfd", "shared"])
def test_memory_counts_files_that_live_in_memory(run_json, how):
    result = run_json("--memory", "64M", "--disk", "1G", *python(
        f"{how}\nfor i in range(300): f.write(bytes(2**20))\nprint('all of it')"))
    assert "all of it" not in result["stdout"]
    if "memfd" in how and result["isolation"]["limits"]["memory"] == "sampled":
        assert "Function not implemented" in result["stderr"]  # what can't be seen is refused
        return
    assert (result["status"], result["limits_hit"]) == ("memory", ["memory"])


def test_a_memory_limit_below_what_an_interpreter_needs_gives_a_clear_verdict(run_json):
    began = time.monotonic()
    result = run_json("--memory", "4M", *python("x = [bytearray(10**6) for _ in range(50)]"))
    assert result["status"] == "memory"
    assert time.monotonic() - began < 5


def test_the_least_memory_is_enough_for_a_small_program(run_json):
    assert run_json("--memory", "4M", "--", "true")["status"] == "ok"


def test_a_child_killed_for_memory_is_named_when_the_program_ends_well(run_json):
    result = run_json("--memory", "64M", "--", "sh", "-c",
                      "python3 -c 'bytearray(10**9)'; exit 0")
    if result["isolation"]["limits"]["memory"] == "hard" and result["status"] == "ok":
        assert result["limits_hit"] == ["memory"]  # only the child was killed
    else:
        assert verdict(result) == ("memory", None, 9, ["memory"])  # the box as a whole


def test_a_program_that_starts_again_what_memory_killed_is_ended(run_json):
    result = run_json("--memory", "64M", "--time", "10s", "--", "sh", "-c",
                      "while :; do python3 -c 'bytearray(10**9)'; done")
    assert verdict(result) == ("memory", None, 9, ["memory"])
    assert result["usage"]["wall_ms"] < 3000


# ------------------------------------------------------------- time

def test_time_on_the_clock_ends_the_run(run_box):
    began = time.monotonic()
    done = run_box("--time", "1s", "--", "sleep", "9")
    assert done.code == 124 and b"time" in done.err
    assert 0.9 < time.monotonic() - began < 1.6


def test_time_out_keeps_what_was_written(run_json):
    result = run_json("--time", "300ms", "--", "sh", "-c", "echo before; sleep 9; echo after")
    assert verdict(result) == ("timeout", None, 9, ["time"])
    assert result["stdout"] == "before\n" and 290 < result["usage"]["wall_ms"] < 900


def test_time_out_ends_what_ignores_every_signal_and_every_child(run_json):
    result = run_json("--time", "300ms", "--", "sh", "-c",
                      "trap '' INT TERM HUP QUIT; (trap '' TERM; sleep 9) & while :; do sleep 1; done")
    assert result["status"] == "timeout" and result["usage"]["wall_ms"] < 900


def test_time_out_ends_many_processes_that_share_little_processor_time(run_json):
    """Dying takes some of it: of pid 1, which has to run to end the others, and of each of them."""
    result = run_json("--cpu", "10%", "--time", "3s", "--pids", "200", "--", "sh", "-c",
                      "i=0; while [ $i -lt 120 ]; do while :; do :; done & i=$((i + 1)); done; wait")
    assert result["status"] == "timeout" and 3000 <= result["usage"]["wall_ms"] < 4000, result["usage"]


def test_time_out_holds_while_nobody_reads_the_output(start):
    began = time.monotonic()
    process = start("--time", "500ms", "--output", "none", "--", "yes")
    time.sleep(1)
    process.stdout.read()
    assert process.wait(10) == 124 and time.monotonic() - began < 5


def test_processor_time_ends_the_run(run_json):
    result = run_json("--cpu-time", "300ms", *python("while True: pass"))
    assert verdict(result) == ("cpu", None, 9, ["cpu_time"])
    assert 280 < result["usage"]["cpu_ms"] < 700 and result["usage"]["wall_ms"] < 2500


def test_processor_time_is_that_of_all_processes_together(run_json):
    result = run_json("--cpu", "none", "--cpu-time", "400ms", "--", "sh", "-c",
                      "for i in 1 2 3; do (while :; do :; done) & done; wait")
    assert result["status"] == "cpu" and result["usage"]["cpu_ms"] < 900


def test_processor_time_in_many_small_parts_is_not_rounded_away(run_json):
    result = run_json("--cpu", "none", "--cpu-time", "100ms", "--time", "20s", *python(
        "import os\nfor i in range(32):\n    if os.fork() == 0:\n        while True: pass\nos.wait()"))
    assert result["status"] == "cpu" and result["usage"]["cpu_ms"] < 250


def test_processor_time_of_children_that_came_and_went_counts(run_json):
    result = run_json("--cpu-time", "300ms", "--time", "20s", "--", "sh", "-c",
                      "while :; do /usr/bin/true; done")
    assert result["status"] == "cpu" and result["usage"]["wall_ms"] < 10000


def test_sleeping_costs_no_processor_time(run_json):
    assert run_json("--cpu-time", "100ms", "--", "sleep", "0.5")["status"] == "ok"


def test_the_share_of_the_processor_is_kept_where_it_is_graded_hard(run_json):
    result = run_json("--cpu", "20%", *python(
        "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass\n"
        "print(time.process_time())"))
    assert result["status"] == "ok"
    if result["isolation"]["limits"]["cpu"] != "hard":
        assert result["isolation"]["limits"]["cpu"] == "none"
        pytest.skip("the share of the processor can't be kept here; the grade says so")
    assert 0.1 < float(result["stdout"]) < 0.35


def test_processor_time_of_a_killed_run_is_told(run_json):
    result = run_json("--time", "600ms", *python("""
import time
told = 0
while True:
    if time.process_time() > told + 0.02:
        told = time.process_time()
        print(told, flush=True)
"""))
    told_ms = float(result["stdout"].split()[-1]) * 1000  # less on a busy machine
    assert result["status"] == "timeout" and told_ms <= result["usage"]["cpu_ms"] < 700


# ------------------------------------------------------------- processes

COUNT = """
import os, time
n = 0
try:
    while n < 500:
        if os.fork() == 0: time.sleep(9); os._exit(0)
        n += 1
except OSError as error:
    print(n, error.errno, flush=True)
os._exit(%d)
"""


def test_processes_beyond_the_limit_are_refused(run_json):
    result = run_json("--pids", "20", *python(COUNT % 3))
    made, error = map(int, result["stdout"].split())
    assert 18 <= made <= 19 and error == 11, "EAGAIN, with the program itself counted"
    if result["isolation"]["limits"]["pids"] == "hard":
        assert (result["status"], result["limits_hit"]) == ("pids", ["pids"])
        assert result["usage"]["pids_peak"] == 20
    else:
        assert result["status"] in ("pids", "failed") and result["exit_code"] == 3


def test_a_limit_hit_by_a_program_that_ends_well_is_only_named(run_json):
    result = run_json("--pids", "20", *python(COUNT % 0))
    assert (result["status"], result["exit_code"]) == ("ok", 0)
    if result["isolation"]["limits"]["pids"] == "hard":
        assert result["limits_hit"] == ["pids"]


def test_threads_count_as_processes(run_json):
    result = run_json("--pids", "10", *python(
        "import threading, time\n"
        "for i in range(50): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()"))
    assert result["status"] in (("pids",) if result["isolation"]["limits"]["pids"] == "hard"
                                else ("pids", "failed"))


def test_a_fork_bomb_stays_within_its_limit_and_the_host_lives_on(start, run_json):
    bomb = start("--pids", "40", "--time", "1500ms", "--json", "--", "bash", "-c",
                 "bomb() { bomb | bomb & }; bomb; sleep 20")
    time.sleep(0.3)
    began = time.monotonic()
    subprocess.run(["true"], check=True)
    assert run_json("--", "true")["status"] == "ok" and time.monotonic() - began < 2
    out, _ = bomb.communicate(timeout=20)
    assert b'"status": "timeout"' in out or b'"status": "pids"' in out


def test_two_boxes_do_not_share_a_process_limit(start, run_json):
    other = start("--pids", "20", "--", "sh", "-c", "for i in $(seq 15); do sleep 5 & done; echo up; wait")
    assert other.stdout.readline() == b"up\n"
    result = run_json("--pids", "20", "--", "sh", "-c", "for i in $(seq 15); do sleep 0.01 & done; wait")
    assert (result["status"], result["stderr"]) == ("ok", "")
    other.terminate()


def test_one_process_is_enough_for_a_program_without_children(run_json):
    assert run_json("--pids", "1", "--", "true")["status"] == "ok"


# ------------------------------------------------------------- files

def test_open_files_beyond_the_limit_are_refused(run_json):
    result = run_json("--open-files", "32", *python(
        "import os\ntry:\n  for n in range(100): os.dup(0)\n"
        "except OSError as e: print(3 + n, e.errno)"))
    assert result["stdout"] == "32 24\n"


def test_a_file_beyond_its_size_ends_the_program_and_says_disk(run_json, run_box):
    write = ("--", "dd", "if=/dev/zero", "of=/tmp/big", "bs=64k", "count=64")
    result = run_json("--file-size", "1M", *write)
    assert verdict(result) == ("disk", None, 25, ["file_size"])
    assert run_box("--file-size", "1M", *write).code == 128 + 25
    assert run_box("--file-size", "4M", *write).code == 0


def test_a_file_in_a_written_folder_has_the_same_limit(run_json, workdir):
    result = run_json("--file-size", "1M", "--write", ".", "--", "dd", "if=/dev/zero", "of=big", "bs=64k",
                      "count=64")
    assert result["status"] == "disk" and (workdir / "big").stat().st_size <= 2**20


FILL = """
import os
total = 0
for place in %r:
    try:
        with open(place + '/fill', 'wb', buffering=0) as f:
            while True: total += f.write(bytes(4096))
    except OSError as error:
        assert error.errno == 28
print(total, flush=True)
os._exit(%d)
"""
SCRATCH = ["/tmp", "/home/box", "/run", "/var/tmp", "/dev/shm"]


@pytest.mark.parametrize("limit", [64 * 2**10, 2**20, 16 * 2**20])
def test_scratch_space_beyond_the_limit_is_refused(run_json, limit):
    result = run_json("--disk", str(limit), *python(FILL % (["/tmp"], 1)))
    assert verdict(result)[0] == "disk" and result["limits_hit"] == ["disk"]
    written = int(result["stdout"])
    assert limit * 0.9 <= written <= limit * 1.1 + 4096


def test_all_scratch_places_share_one_limit(run_json):
    result = run_json("--disk", "8M", *python(FILL % (SCRATCH, 1)))
    assert int(result["stdout"]) <= 8 * 2**20 * 1.1
    assert result["status"] == "disk"


def test_a_full_disk_of_a_program_that_ends_well_is_only_named(run_json):
    result = run_json("--disk", "1M", *python(FILL % (["/tmp"], 0)))
    assert verdict(result) == ("ok", 0, None, ["disk"])


@pytest.mark.parametrize("limit", [64, 1000])
def test_files_beyond_their_number_are_refused(run_json, limit):
    result = run_json("--inodes", str(limit), *python(
        "import os\nn = 0\ntry:\n  while True: open(f'/tmp/{n}', 'w').close(); n += 1\n"
        "except OSError as e: print(n, e.errno, flush=True); os._exit(1)"))
    made, error = map(int, result["stdout"].split())
    assert (verdict(result)[0], error, result["limits_hit"]) == ("disk", 28, ["inodes"])
    assert limit * 0.9 <= made <= limit * 1.1 + 1


def test_nothing_written_is_no_disk_used(run_json):
    assert run_json("--", "true")["usage"]["disk"] == 0


def test_disk_used_is_what_was_written(run_json):
    used = run_json("--", "dd", "if=/dev/zero", "of=/tmp/f", "bs=1M", "count=5")["usage"]["disk"]
    assert 5 * 2**20 <= used <= 5 * 2**20 + 16384


# ------------------------------------------------------------- output

@pytest.mark.parametrize("limit", [1, 1000, 65536, 1000000])
def test_a_flood_stops_at_the_limit_exactly(run_json, run_box, limit):
    began = time.monotonic()
    result = run_json("--output", str(limit), "--", "yes")
    assert verdict(result) == ("output", None, 9, ["output"])
    assert len(result["stdout"]) == limit and result["truncated"] == {"stdout": True, "stderr": False}
    done = run_box("--output", str(limit), "--", "yes")
    assert done.code == 137 and len(done.out) == limit and b"output" in done.err
    assert time.monotonic() - began < 2


def test_ten_gigabytes_stop_at_the_default_limit(run_box):
    began = time.monotonic()
    done = run_box("--", "head", "-c", "10G", "/dev/zero")
    assert (done.code, len(done.out)) == (137, 16 * 2**20)
    assert time.monotonic() - began < 2


def test_output_of_exactly_the_limit_is_whole(run_json):
    result = run_json("--output", "1000", "--", "head", "-c", "1000", "/dev/zero")
    assert verdict(result) == ("ok", 0, None, [])
    assert result["truncated"] == {"stdout": False, "stderr": False}


def test_both_outputs_share_one_limit(run_json):
    result = run_json("--output", "1000", "--", "sh", "-c", "printf %600s; printf %600s >&2; sleep 5")
    assert result["status"] == "output"
    assert len(result["stdout"]) + len(result["stderr"]) == 1000
    assert list(result["truncated"].values()).count(True) == 1


def test_no_output_limit_lets_everything_through(run_box):
    assert len(run_box("--output", "none", "--", "head", "-c", "40M", "/dev/zero").out) == 40 * 2**20


def test_much_output_fits_into_json(run_json):
    result = run_json("--output", "none", "--", "head", "-c", "30M", "/dev/urandom")
    assert result["status"] == "ok" and len(result["stdout"]) == 40 * 2**20


def test_output_that_json_cannot_hold_is_said_to_be_truncated(start, workdir, as_who):
    if as_who == "root":
        pytest.skip("takes seconds, and once is enough")
    with open(workdir / "result", "w+b") as file:
        process = start("--json", "--output", "none", "--", "head", "-c", "300M", "/dev/zero", stdout=file)
        process.communicate(timeout=30)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 3000))
        tail = file.read()
    is_whole = size > 300 * 2**20 * 4 / 3
    is_told = re.search(rb'"truncated": {\s*"stdout": true', tail) or b'"error": {' in tail
    assert is_whole or is_told, size


# ------------------------------------------------------------- grades and values

def test_every_limit_has_a_grade(run_json, as_who):
    grades = run_json("--", "true")["isolation"]["limits"]
    assert list(grades) == LIMITS
    assert set(grades.values()) <= {"hard", "sampled", "rlimit", "none"}
    for limit in ("time", "open_files", "file_size", "disk", "inodes", "output"):
        assert grades[limit] == "hard"


def test_requiring_hard_limits_gives_them_or_refuses_and_says_which(run_box, run_json, as_who):
    done = run_box("--require", "hard", "--", "echo", "ran")
    result = run_json("--require", "hard", "--", "true")
    if done.code == 0:
        assert done == (0, b"ran\n", b"")
        assert set(result["isolation"]["limits"].values()) == {"hard"}
        return
    assert as_who == "user", "root has cgroups on the machines that this suite is for"
    assert done.code == 126 and done.out == b""
    assert re.search(rb"limits\.(memory|cpu|cpu_time|pids)", done.err) and b"hint" in done.err
    assert result["status"] == "denied" and "limits." in result["error"]["message"]
    assert result["error"]["remedy"]


@pytest.mark.parametrize("value", ["0", "-1", "1" + "0" * 30, "", "abc", "5 apples", "NaN", "nan%", "1e9",
                                   "0x10", "1..5", "५", "+5", " 5", "18446744073709551616", "none!"])
@pytest.mark.parametrize("option", ["memory", "cpu", "cpu-time", "time", "pids", "open-files", "file-size",
                                    "disk", "inodes", "output"])
def test_absurd_limits_are_errors_that_name_the_range(call, option, value):
    done = call("run", f"--{option}", value, "--", "true")
    assert done.code == 125
    assert f"--{option}".encode() in done.err and b"hint: write" in done.err
    if not (value.isascii() and value.isdigit() and option in ("cpu", "cpu-time", "time")):
        assert b" from " in done.err and b" to " in done.err


@pytest.mark.parametrize("option, least, most", [
    ("memory", "4M", "16T"), ("cpu", "1%", "102400%"), ("pids", "1", "4194304"),
    ("open-files", "16", "1048576"), ("disk", "64K", "16T"), ("inodes", "64", "1073741824"),
    ("file-size", "4K", "16T"), ("output", "1", "1T"), ("time", "5s", "8760h"), ("cpu-time", "1s", "8760h")])
def test_the_least_and_the_greatest_value_of_a_limit_run(run_box, option, least, most):
    for value in (least, most):
        done = run_box(f"--{option}", value, "--", "true")
        assert done == (0, b"", b""), value


@pytest.mark.parametrize("option", ["cpu", "cpu-time", "time", "file-size", "output"])
def test_limits_that_may_be_none_can_be(run_box, option):
    assert run_box(f"--{option}", "none", "--", "true") == (0, b"", b"")


@pytest.mark.parametrize("option", ["memory", "pids", "open-files", "disk", "inodes"])
def test_limits_that_must_be_cannot_be_none(run_box, option):
    assert run_box(f"--{option}", "none", "--", "true").code == 125
