"""Runs suites of pytest inside the guest, as one of its callers, and says how they went.

/opt/jobs.json says for each scene who runs what.  Files lie on ext4, where mounts can be idmapped also
before Linux 6.3, as on most users' disks.  Each suite is one line of TAP with its figures; each test
that failed is one, too.
"""
import collections
import json
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

from stage import SCOPE, SERVICE, UID, group, lay_out, read, write

REPORT = "/tmp/report.xml"
STORY_LINES = 12  # of a test that failed

# Where each caller's processes are, and as whom pytest itself runs.  As root it runs "user" tests by
# setpriv, from a group in which an ordinary user can make none.
CALLERS = {"root": (SERVICE, 0), "user": (SERVICE, 0), "delegated": (SCOPE, UID)}


def make_disk():
    subprocess.run("truncate -s 600M /disk && mke2fs -q -t ext4 /disk && "
                   "busybox mount -t ext4 -o loop /disk /tmp && chmod 1777 /tmp", shell=True, check=True)


def run(who, arguments):
    """Runs pytest; says how far it is, and gives its exit code and its last lines."""
    where, uid = CALLERS[who]

    def become():
        write(group(where) + "/cgroup.procs", 0)
        os.umask(0o022)
        if uid:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)

    env = {**os.environ, "RINGFORT_BUILT": "/opt/ringfort/built", "RINGFORT_SLOW": "40",
           "RF_POST_DISK": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    if uid:
        env.update(HOME="/home/user", XDG_RUNTIME_DIR=f"/run/user/{uid}")
    began, last = time.monotonic(), collections.deque(maxlen=30)
    with subprocess.Popen(["/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider", "-q", "--tb=short",
                           f"--junitxml={REPORT}", *arguments], cwd="/opt/ringfort/tests", env=env,
                          preexec_fn=become, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace") as process:
        for line in process.stdout:
            last.append(line.rstrip())
            if re.search(r"\[ *\d+%\]$", last[-1]):
                print(f"#   {last[-1]} after {time.monotonic() - began:.0f} s", flush=True)
    return process.returncode, last


def tell(title):
    """Says what the report holds; true if nothing in it failed."""
    figures = collections.Counter()
    skipped = collections.Counter()
    for case in xml.etree.ElementTree.parse(REPORT).getroot().iter("testcase"):
        verdict, story = "passed", ""
        for part in case:
            if part.tag in ("failure", "error"):
                verdict, story = "failed", part.text or part.get("message", "")
            elif part.tag == "skipped" and verdict == "passed":
                verdict = "known" if part.get("type") == "pytest.xfail" else "skipped"
                skipped.update([part.get("message", "")] if verdict == "skipped" else [])
        figures[verdict] += 1
        if verdict == "failed":
            print(f"not ok - {title}: {case.get('name')}", flush=True)
            for line in story.strip().split("\n")[-STORY_LINES:]:
                print(f"#   {line}", flush=True)
    said = ", ".join(f"{figures[name]} {name}" for name in ("passed", "failed", "known", "skipped") if figures[name])
    is_ok = figures["passed"] and not figures["failed"]
    print(f"{'' if is_ok else 'not '}ok - {title}: {said or 'nothing ran'}", flush=True)
    for why, count in skipped.most_common(6):
        print(f"#   skipped {count}: {why}", flush=True)
    return is_ok


def main():
    scene = re.search(r"rf\.scene=(\S+)", read("/proc/cmdline"))[1]
    with open("/opt/jobs.json", encoding="utf-8") as file:
        jobs = json.load(file)[scene]
    lay_out()
    make_disk()
    print(f"# scene {scene}: {os.uname().release}", flush=True)
    is_ok = True
    for title, who, arguments in jobs:
        began = time.monotonic()
        if os.path.exists(REPORT):
            os.unlink(REPORT)
        code, last = run(who, arguments)
        if os.path.exists(REPORT):
            is_ok &= bool(tell(f"{scene}: {title}"))
        else:
            print(f"not ok - {scene}: {title}: no report, exit code {code}", flush=True)
            for line in last:
                print(f"#   {line}", flush=True)
            is_ok = False
        print(f"#   took {time.monotonic() - began:.0f} s", flush=True)
    sys.exit(0 if is_ok else 1)


if __name__ == "__main__":
    main()
