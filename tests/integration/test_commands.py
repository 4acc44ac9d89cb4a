"""`commands`: which programs a box may run, driven from outside."""
import json
import os
import shutil
import stat

import pytest

pytestmark = pytest.mark.usefixtures("as_who")


def script(path, text, mode=0o755):
    path.write_text(text)
    path.chmod(mode)
    os.chown(path, path.parent.stat().st_uid, -1)
    return path


def listed(call, *args):
    done = call("policy", "explain", "--json", *args)
    assert done.code == 0, done
    return {row["path"]: row["why"] for row in json.loads(done.out)["programs"]}


def test_a_named_program_runs_and_no_other(run_box):
    done = run_box("--command", "sh", "--", "sh", "-c", "echo hello; ls /")
    assert (done.code, done.out) == (127, b"hello\n"), done
    assert b"ls" in done.err


def test_without_a_list_every_program_runs(run_box):
    assert run_box("--", "ls", "/").code == 0


@pytest.mark.parametrize("program", ["ls", "/usr/bin/ls", "/bin/ls"])
def test_the_program_itself_must_be_named(run_box, program):
    done = run_box("--command", "sh", "--", program)
    assert done.code == 126, done
    assert b"not one of the programs" in done.err and f"--command {program}".encode() in done.err


def test_a_refusal_is_a_result(run_json):
    result = run_json("--command", "sh", "--", "ls")
    assert result["status"] == "denied"
    assert "--command ls" in result["error"]["remedy"]


def test_a_helper_is_not_a_named_program(run_box):
    assert run_box("--command", "make", "--", "sh", "-c", "true").code in (125, 126)


@pytest.mark.parametrize("words, said", [
    (["--command", "no-such-program"], b"no-such-program"),
    (["--command", "/srv/none"], b"/srv/none"),
    (["--command", "/etc/passwd"], b"/etc/passwd"),
    (["--command", ""], b"not the name of a program"),
    (["--command", "sh -c"], b"without arguments"),
])
def test_a_name_without_a_program_is_an_error_that_names_it(run_box, words, said):
    done = run_box(*words, "--", "sh", "-c", "true")
    assert done.code == 125, done
    assert said in done.err and b"hint" in done.err


def test_a_program_that_is_not_there_is_not_found(run_box):
    assert run_box("--command", "sh", "--", "no-such-program").code == 127


def test_an_empty_list_is_refused(run_box, workdir):
    (workdir / "policy.yaml").write_text("commands: []\n")
    done = run_box("--policy", "policy.yaml", "--", "sh", "-c", "true")
    assert done.code == 125 and b"nothing could be run" in done.err, done


def test_lists_of_one_operator_unite(run_box, workdir):
    (workdir / "policy.yaml").write_text("commands: [sh]\n")
    done = run_box("--policy", "policy.yaml", "--command", "ls,cat", "--command", "env", "--",
                   "sh", "-c", "ls / >/dev/null && cat /etc/hostname && env >/dev/null && tac")
    assert done.code == 127 and done.out == b"box\n", done


def test_a_final_list_can_not_grow(run_box, workdir):
    (workdir / "policy.yaml").write_text("commands: [sh]\nfinal: [commands]\n")
    assert run_box("--policy", "policy.yaml", "--", "sh", "-c", "true").code == 0
    done = run_box("--policy", "policy.yaml", "--command", "ls", "--", "sh", "-c", "true")
    assert done.code == 125 and b"final" in done.err, done


def test_folders_of_programs_show_only_what_is_named(run_box, need):
    need("python3")
    done = run_box("--command", "python3", "--", "python3", "-c", """
import os
for folder in ("/usr/bin", "/bin", "/usr/sbin", "/usr/local/bin", "/usr/libexec"):
    if os.path.isdir(folder):
        print(*sorted(os.listdir(folder)))
print(os.readlink("/proc/self/exe"))
""")
    assert done.code == 0, done
    names = set(done.out.decode().split("\n")[:-2][0].split())
    assert "python3" in names and all(name.startswith("python3") for name in names), done
    assert b"\nsh" not in done.out and done.out.split()[-1].startswith(b"/usr/bin/python3"), done


@pytest.mark.parametrize("name, line, also", [
    ("by-shell", "#!/bin/sh\necho it runs\n", None),
    ("by-env", "#!/usr/bin/env sh\necho it runs\n", "/usr/bin/env"),
])
def test_the_interpreter_of_a_script_comes_along(run_box, call, workdir, name, line, also):
    path = script(workdir / name, line)
    assert run_box("--command", path, "--", f"./{name}").out == b"it runs\n"
    why = listed(call, "--command", path)
    assert why[str(path)] == "named"
    assert f"interpreter of {name}" in why.values()
    assert also is None or why[also] == f"interpreter of {name}"
    assert any(reason.startswith("loader of") for reason in why.values())


def test_a_script_that_is_not_named_does_not_run(run_box, workdir):
    script(workdir / "named", "#!/bin/sh\n./other\n")
    script(workdir / "other", "#!/bin/sh\necho escaped\n")
    done = run_box("--command", workdir / "named", "--", "./named")
    assert done.code == 126 and b"escaped" not in done.out, done
    assert b"ermission denied" in done.err


def test_every_link_on_the_way_works(run_box, workdir):
    path = script(workdir / "tool-1.2", "#!/bin/sh\necho it runs\n")
    os.symlink(path.name, workdir / "tool")
    os.symlink(workdir / "tool", workdir / "nick")
    for name in ("nick", "tool", "tool-1.2"):
        assert run_box("--command", workdir / "nick", "--", f"./{name}").out == b"it runs\n"


def test_a_named_program_runs_by_any_of_its_links(run_box, need):
    need("python3")
    real = os.path.realpath("/usr/bin/python3")
    done = run_box("--command", real, "--", "python3", "-c", "print(1)")
    assert done.out == b"1\n", done


def test_a_program_in_a_shown_tree_is_named_by_its_place(run_box, workdir):
    script(workdir / "tool", "#!/bin/sh\necho it runs\n")
    show = ["--read", f"{workdir}:/opt/tools"]
    assert run_box(*show, "--command", "/opt/tools/tool", "--", "/opt/tools/tool").out == \
        b"it runs\n"
    assert run_box(*show, "--command", "sh", "--", "/opt/tools/tool").code == 126


def test_what_the_box_wrote_does_not_run(run_box, workdir):
    done = run_box("--write", ".", "--command", "sh,cp,chmod", "--", "sh", "-c", """
for folder in . /tmp "$HOME" /dev/shm /run /var/tmp; do
  cp /bin/sh $folder/copy && chmod 755 $folder/copy && $folder/copy -c 'echo escaped'
done""")
    assert b"escaped" not in done.out and done.err.count(b"ermission denied") == 6, done


def test_mounts_tell_what_is_never_code(run_box, workdir, need):
    need("cat")
    done = run_box("--write", ".", "--command", "cat", "--", "cat", "/proc/self/mounts")
    flags = {line.split()[1]: line.split()[3].split(",") for line in done.out.decode().splitlines()}
    for place in ("/tmp", "/home/box", "/dev/shm", "/run", "/var/tmp", str(workdir)):
        assert "noexec" in flags[place], place
    assert "noexec" not in flags["/usr"]


def test_a_plan_without_a_list_keeps_scratch_executable(run_box, need):
    need("cat")
    done = run_box("--", "cat", "/proc/self/mounts")
    assert b" /tmp tmpfs rw,nosuid,nodev,relatime" in done.out, done


# What each program needs is there: the table of helpers.
@pytest.mark.parametrize("names, command, says", [
    ("git", ["git", "--version"], b"git version"),
    ("git,sh", ["sh", "-c", "cd /tmp && git init -q a && git -C a -c user.name=a -c user.email=b "
                "commit -q --allow-empty -m words && git clone -q a b && git -C b log"], b"words"),
    ("gcc", ["gcc", "main.c", "-o", "/tmp/out"], b""),
    ("cc", ["cc", "-O2", "-flto", "main.c", "-o", "/tmp/out"], b""),
    ("g++", ["g++", "-x", "c++", "main.c", "-o", "/tmp/out"], b""),
    ("clang", ["clang", "main.c", "-o", "/tmp/out"], b""),
    ("make,true", ["make", "-f", "recipe"], b"true\n"),
    ("node", ["node", "-e", "console.log(6 * 7)"], b"42"),
    ("npm", ["npm", "--version"], b"."),
    ("java", ["java", "-version"], b""),
    ("go", ["go", "version"], b"go version"),
    ("perl", ["perl", "-e", "print 6 * 7"], b"42"),
    ("awk", ["awk", "BEGIN { print 6 * 7 }"], b"42"),
    ("tar,sh", ["sh", "-c", "cd /tmp && tar czf a.tgz /etc/hostname && tar tzf a.tgz"],
     b"etc/hostname"),
    ("Rscript", ["Rscript", "-e", "cat(6 * 7)"], b"42"),
])
def test_programs_work_with_what_they_need(run_box, workdir, need, names, command, says):
    for name in names.split(","):
        if not any(os.access(f"{folder}/{name}", os.X_OK)
                   for folder in ("/usr/local/bin", "/usr/bin", "/bin")):
            pytest.skip(f"this machine has no {name} that a box could see")
    (workdir / "main.c").write_text("int main(void) { return 0; }\n")
    (workdir / "recipe").write_text("all:\n\ttrue\n")
    done = run_box("--memory", "2G", "--command", names, "--", *command, timeout=60)
    assert done.code == 0 and says in done.out, done


def test_explain_says_what_is_named_and_what_comes_along(call, need):
    need("git")
    why = listed(call, "--command", "git")
    assert why["/usr/bin/git"] == "named"
    assert "helper of git" in why.values()
    done = call("policy", "explain", "--command", "git")
    assert b"only these can be run" in done.out and b"helper of git" in done.out
    done = call("policy", "explain", "--json")
    assert json.loads(done.out)["programs"] is None


def test_explain_takes_the_right_to_execute_from_files(call):
    done = call("policy", "explain", "--json", "--command", "sh")
    assert not any("x" in row["rights"] for row in json.loads(done.out)["files"])


@pytest.mark.parametrize("asked, code, says", [
    ("git", 0, b"named"),
    ("/usr/bin/git", 0, b"named"),
    ("sh", 0, b"helper of git"),
    ("ls", 1, b"--command ls"),
    ("/usr/bin/ls", 1, b"--command /usr/bin/ls"),
    ("/tmp/written", 1, b"can't run"),
    ("no-such-program", 1, b"no-such-program"),
])
def test_why_agrees_with_the_list(call, need, asked, code, says):
    need("git", "ls")
    done = call("policy", "why", "--command", "git", "exec", asked)
    assert done.code == code and says in done.out, done


def test_limits_of_memory_and_time_hold_for_named_programs(run_json):
    result = run_json("--command", "sh", "--time", "200ms", "--", "sh", "-c", "while :; do :; done")
    assert result["status"] == "timeout"
    assert result["isolation"]["missing"] == []


def test_the_host_keeps_its_programs(run_box):
    before = {name: os.lstat(f"/usr/bin/{name}").st_ino for name in os.listdir("/usr/bin")}
    assert run_box("--command", "sh", "--", "sh", "-c", "true").code == 0
    assert {name: os.lstat(f"/usr/bin/{name}").st_ino for name in os.listdir("/usr/bin")} == before
    assert stat.S_ISREG(os.stat(shutil.which("sh")).st_mode)
