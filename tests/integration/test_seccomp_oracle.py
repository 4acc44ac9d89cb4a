"""Filters of random system call profiles against those that libseccomp makes of the same rules.

Where rules overlap with different actions, libseccomp drops some of them in silence and Ringfort takes
the strictest, so a random profile gives each call one action.  And several rules of one call are
equalities here: libseccomp 2.5 joins the upper halves of others, and then gets some calls wrong
(`flock` refused if argument 2 is above 0x100000001 or at most 0xfffffffe, asked with 0xffffffff).  What the table says goes on top: the
filter of the table alone is asked for it.
"""
import json
import os
import pathlib
import random
import struct
import subprocess
import tempfile

import pytest

seccomp = pytest.importorskip("seccomp", reason="python3-seccomp is not installed")

DUMP = pathlib.Path(os.environ.get("RINGFORT", pathlib.Path(__file__).parents[2] / "build/ringfort")
                    ).resolve().parent / "tests/dump-filter"
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}[os.uname().machine]
ALLOW, LOG, ERRNO = 0x7FFF0000, 0x7FFC0000, 0x00050000
OPS = {"NE": seccomp.NE, "LT": seccomp.LT, "LE": seccomp.LE, "EQ": seccomp.EQ, "GE": seccomp.GE,
       "GT": seccomp.GT, "MASKED_EQ": seccomp.MASKED_EQ}
ACTIONS = {"SCMP_ACT_ALLOW": seccomp.ALLOW, "SCMP_ACT_ERRNO": seccomp.ERRNO(77),
           "SCMP_ACT_KILL_PROCESS": seccomp.KILL_PROCESS, "SCMP_ACT_TRAP": seccomp.TRAP,
           "SCMP_ACT_LOG": seccomp.LOG}
CALLS = ["flock", "socket", "fchmod", "ioctl", "lseek", "mount", "keyctl", "personality", "sendfile"]
ROUNDS = int(os.environ.get("ORACLE_ROUNDS", "60"))


def read_code(data):
    return [struct.unpack_from("HBBI", data, at) for at in range(0, len(data), 8)]


def judge(code, nr, args):
    """What the kernel would return for a call."""
    data = struct.pack("<iIQ6Q", nr, ARCH, 0, *args)
    accumulator, at = 0, 0
    while True:
        op, yes, no, k = code[at]
        at += 1
        if op == 0x20:
            accumulator = struct.unpack_from("<I", data, k)[0]
        elif op == 0x54:
            accumulator &= k
        elif op == 0x06:
            return k
        elif op == 0x05:
            at += k
        else:
            holds = {0x15: accumulator == k, 0x25: accumulator > k, 0x35: accumulator >= k,
                     0x45: accumulator & k != 0}[op]
            at += yes if holds else no


def near(rng):
    value = rng.choice([0, 1, 2, 16, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 0x500000003])
    return (value + rng.choice([-1, 0, 0, 1])) % 2**64


def random_rules(rng):
    """Rules with one action for each call, and comparisons of each argument at most once a rule."""
    rules = []
    for name in rng.sample(CALLS, rng.randint(1, 6)):
        action = rng.choice(list(ACTIONS))
        count = rng.choice([1, 1, 2, 4])
        for _ in range(count):
            args = []
            for index in rng.sample(range(6), rng.randint(1, 3) if count == 1 else 1):
                op, value, two = rng.choice(list(OPS) if count == 1 else ["EQ"]), near(rng), 0
                if op == "MASKED_EQ":
                    value = value or 1  # a mask of 0 is refused: it would hold always
                    two = near(rng) & value
                args.append((index, op, value, two))
            rules.append((name, action, args))
    return rules


def as_profile(default, rules):
    out = []
    for name, action, args in rules:
        rule = {"names": [name], "action": action,
                "args": [{"index": i, "op": f"SCMP_CMP_{op}", "value": value, "valueTwo": two}
                         for i, op, value, two in args]}
        if action == "SCMP_ACT_ERRNO":
            rule["errnoRet"] = 77
        out.append(rule)
    return {"defaultAction": default, "syscalls": out}


def by_libseccomp(default, rules):
    made = seccomp.SyscallFilter(ACTIONS[default])
    for name, action, args in rules:
        if action == default:
            continue  # the runtimes leave these out, and libseccomp refuses them
        made.add_rule(ACTIONS[action], name, *[
            seccomp.Arg(i, OPS[op], *((value, two) if op == "MASKED_EQ" else (value,)))
            for i, op, value, two in args])
    with tempfile.TemporaryFile() as file:
        made.export_bpf(file)
        file.seek(0)
        return read_code(file.read())


def dump(*args):
    return read_code(subprocess.run([DUMP, *args], check=True, stdout=subprocess.PIPE).stdout)


def test_random_profiles_mean_what_libseccomp_makes_of_them(tmp_path):
    if not DUMP.exists():
        pytest.skip(f"{DUMP} is not built")
    seed = int(os.environ.get("ORACLE_SEED", random.SystemRandom().randrange(2**32)))
    rng, alone, compared, refused = random.Random(seed), dump(), 0, 0
    for turn in range(ROUNDS):
        default, rules = rng.choice(["SCMP_ACT_ALLOW", "SCMP_ACT_LOG"]), random_rules(rng)
        path = tmp_path / "profile.json"
        path.write_text(json.dumps(as_profile(default, rules)))
        try:
            theirs = by_libseccomp(default, rules)
        except (RuntimeError, ValueError):
            continue  # it finds two rules that it takes for one
        ours = dump(path)
        for _ in range(150):
            name, _, args = rng.choice(rules)
            values = [near(rng) for _ in range(6)]
            for i, _, value, two in args:
                if rng.random() < 0.7:
                    values[i] = (rng.choice([value, two]) + rng.choice([-1, 0, 0, 1])) % 2**64
            nr = seccomp.resolve_syscall(seccomp.Arch(), name)
            table, says, got = judge(alone, nr, values), judge(theirs, nr, values), \
                judge(ours, nr, values)
            if says == ALLOW:
                want = table
            elif says == LOG:
                want = LOG if table == ALLOW else table
            elif says == ERRNO | 77 and name in ("mount", "keyctl"):
                want = table  # which refuses these whatever the arguments are
            else:
                want = says
            assert got == want, (f"ORACLE_SEED={seed}, round {turn}: {name}{values}: {got:#x}, "
                                 f"not {want:#x}; rules {rules}")
            compared += 1
            refused += says not in (ALLOW, LOG)
    assert compared > ROUNDS * 50 and refused > 100, (compared, refused)
