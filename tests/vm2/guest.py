"""Runs the checks of limits.py and walls.py inside the guest, as TAP.  See docs/second-kernel.md."""
import contextlib
import os
import re
import sys
import time
import traceback

import limits  # noqa: F401: each adds its checks to CASES
import walls  # noqa: F401
from report import KNOWN
from stage import (CASES, Skip, group, lay_out, left_groups, read, write)


def say(text):
    print(text, flush=True)


def main():
    scene = (re.search(r"rf\.scene=(\S+)", read("/proc/cmdline")) or ["", "plain"])[1]
    only = read("/opt/vm/only")
    lay_out()
    say(f"# scene {scene}: {os.uname().release}, lsm {read('/sys/kernel/security/lsm')}, "
        f"controllers {read(group('') + '/cgroup.controllers')}")
    failed = 0
    for name, scenes, todo, fn in CASES:
        if scene not in scenes or only not in name:
            continue
        began = time.monotonic()
        wrong = ""
        try:
            fn()
        except Skip as why:
            say(f"ok - {scene}: {name} # SKIP {why}")
            continue
        except AssertionError as error:
            wrong = str(error) or traceback.format_exc()
        except Exception:  # a check that breaks is a check that fails
            wrong = traceback.format_exc()
        say(f"{'not ' if wrong else ''}ok - {scene}: {name}" + (f" {KNOWN} {todo}" if todo else ""))
        for line in wrong.split("\n") if wrong else []:
            say(f"#   {line}")
        if time.monotonic() - began > 10:
            say(f"#   took {time.monotonic() - began:.0f} s")
        failed += bool(wrong) and not todo
        for path in left_groups():  # so that one failure is one failure
            with contextlib.suppress(OSError):
                write(path + "/cgroup.kill", 1)
                time.sleep(0.2)
                os.rmdir(path)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
