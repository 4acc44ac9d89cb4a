"""What a run leaves in a written folder and that acts later, on the host, is told."""
import os
import pathlib
import subprocess
import time

import pytest

from helpers import USER_ID

pytestmark = pytest.mark.usefixtures("as_who")


@pytest.fixture
def project(workdir, as_who):
    """A project with hooks and settings, in the folder `p`."""
    top = workdir / "p"
    for path in (".git/hooks/pre-push", ".git/config", ".vscode/tasks.json", "src/main.c", "tool", "CLAUDE.md"):
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text("as it was\n")
    (top / "tool").chmod(0o755)
    if as_who == "user" and os.geteuid() == 0:
        for path in (top, *top.rglob("*")):
            os.chown(path, USER_ID, USER_ID)
    return top


@pytest.fixture
def planted(run_json, project):
    def run_it(script, *options):
        result = run_json("--write", "p", *options, "--", "sh", "-c", f"cd {project} && {script}")
        assert result["status"] == "ok", result
        return {(str(pathlib.Path(row["path"]).relative_to(project)), row["what"], row["change"])
                for row in result["planted"]}

    return run_it


@pytest.mark.parametrize("script, found", [
    ("echo x > .git/hooks/pre-commit", {(".git/hooks/pre-commit", "git hook", "new")}),
    ("echo x >> .git/hooks/pre-push", {(".git/hooks/pre-push", "git hook", "changed")}),
    ("echo x > y && mv y .git/config", {(".git/config", "git settings", "changed")}),
    ("echo y > .vscode/tasks.json", {(".vscode/tasks.json", "editor settings", "changed")}),
    ("mkdir -p .github/workflows && echo x > .github/workflows/ci.yml",
     {(".github/workflows/ci.yml", "pipeline", "new")}),
    ("echo x > .envrc", {(".envrc", "shell start-up", "new")}),
    ("echo x > CLAUDE.md", {("CLAUDE.md", "agent instructions", "changed")}),
    ("mkdir -p a/b/.git/hooks && echo x > a/b/.git/hooks/x", {("a/b/.git/hooks/x", "git hook", "new")}),
    ("mv .vscode v && ln -s v .vscode", {(".vscode", "editor settings", "new")}),
    ("ln -s /etc/passwd .mcp.json", {(".mcp.json", "agent settings", "new")}),
    ("chmod +x src/main.c", {("src/main.c", "executable", "new")}),
    ("echo y > tool", {("tool", "executable", "changed")}),
    ("mkdir -p b/c && cp tool b/c/t", {("b/c/t", "executable", "new")}),
    ("mv .git/hooks h && mkdir .git/hooks && cp h/pre-push .git/hooks/",
     {(".git/hooks/pre-push", "git hook", "changed")}),
    ("mkdir -p .git/modules/objects/hooks && cd .git/modules/objects && echo x > hooks/x && echo x > HEAD",
     {(".git/modules/objects/hooks/x", "git hook", "new")}),
    ("mkdir -p .git/modules/m && echo x > .git/modules/m/index && ln -s / .git/modules/l",
     {(".git/modules/l", "git hook", "new")}),
    ("mkdir m && echo 'gitdir: ../x' > m/.git", {("m/.git", "git hook", "new")}),
    ("mkdir -p .claude/objects && echo x > .claude/objects/x", {(".claude/objects/x", "agent settings", "new")}),
    ("mkdir -p .git/objects .git/modules/m/objects && cp tool .git/objects && cp tool .git/modules/m/objects", set()),
    ("touch .git/hooks/x.sample && chmod +x .git/hooks/x.sample", set()),
    ("echo y > src/main.c && echo z > Makefile && rm tool && cat .git/config", set()),
    ("true", set()),
])
def test_what_acts_later_is_listed_and_the_rest_is_not(planted, script, found):
    assert planted(script) == found


@pytest.mark.parametrize("git, settings, script, found", [
    (".bare", "", "echo x >> .bare/config; echo x > .bare/hooks/pre-commit; echo x > .bare/description",
     {(".bare/config", "git settings", "changed"), (".bare/hooks/pre-commit", "git hook", "new")}),
    ("sub/store", "", "echo x >> sub/store/config", {("sub/store/config", "git settings", "changed")}),
    (None, "[core] hooksPath = gh\n", "mkdir gh && echo x > gh/pre-commit && echo x > src/x", {("gh/pre-commit", "git hook", "new")}),
    (None, "[include] path = ../team\n", "echo x > team && echo x > team2", {("team", "git settings", "new")}),
    (None, "[includeIf \"onbranch:x\"] path = ../a/../one\n[core] attributesFile = ./attrs\n", "echo x > one; echo x > attrs",
     {("one", "git settings", "new"), ("attrs", "git settings", "new")}),
    (None, "[include] path = ../../../out\n[core] hooksPath = /etc\n", "echo x > out", set()),
])
def test_what_git_is_told_to_use_is_listed(planted, project, as_who, git, settings, script, found):
    if git:
        top = project / git
        subprocess.run(["git", "init", "-q", "--bare", top], check=True)
        subprocess.run(["rm", "-r", project / ".git"], check=True)
        (project / ".git").write_text(f"gitdir: {git}\n")
    else:
        (project / ".git/config").write_text(settings)
    if as_who == "user" and os.geteuid() == 0:
        subprocess.run(["chown", "-R", f"{USER_ID}:{USER_ID}", project], check=True)
    assert planted(script) == found


def test_a_time_that_was_set_back_hides_no_change(planted):
    assert planted("echo as it Was > tool; touch -d @0 tool .git/config") == {
        ("tool", "executable", "changed"), (".git/config", "git settings", "changed")}


def test_a_person_reads_it_and_a_name_can_not_steer_the_terminal(run_box, project):
    done = run_box("--write", "p", "--", "sh", "-c",
                   f"cd {project}/.git/hooks && echo x > pre-commit && echo x > \"$(printf 'a\\033[31mb')\"")
    assert b"planted: " in done.err and b"pre-commit" in done.err and b"git hook" in done.err
    assert b"\033" not in done.err


def test_a_run_that_writes_nothing_of_the_host_reports_nothing(run_json, project):
    result = run_json("--read", "p", "--", "sh", "-c", "echo x > /tmp/tool; chmod +x /tmp/tool")
    assert result["planted"] == [] and result["planted_complete"] is True


def test_a_file_that_is_written_by_itself_is_looked_at(run_json, project):
    result = run_json("--write", "p/.git/config", "--", "sh", "-c", f"echo x >> {project}/.git/config")
    assert [(r["path"], r["change"]) for r in result["planted"]] == [(str(project / ".git/config"), "changed")]


def test_a_large_folder_is_not_looked_at_everywhere_and_says_so(run_json, project):
    # Names of one file: ext4 looks long for a new inode where many were freed a minute ago.
    for folder in range(60):
        place = f"{project}/many/{folder}"
        os.makedirs(place)
        for i in range(900):
            os.link(f"{project}/CLAUDE.md", f"{place}/{i}")
    os.chmod(project / ".git/hooks", 0o777)
    result = run_json("--write", "p", "--", "sh", "-c", f"echo x > {project}/.git/hooks/pre-commit")
    assert result["planted_complete"] is False
    assert str(project / ".git/hooks/pre-commit") in [row["path"] for row in result["planted"]]


def test_a_hook_is_found_beside_thousands_of_other_files(run_json, project):
    many = ("import os; open('j', 'w').close(); [os.link('j', f'j{i}') for i in range(10500)]; "
            "[os.link('j', f'../many/{i}') for i in range(51000)]")
    script = f'cd {project}/.git; mkdir ../many; python3 -c "{many}"; echo x > hooks/pre-commit'
    result = run_json("--write", "p", "--time", "60s", "--", "sh", "-c", script)
    assert [row["path"] for row in result["planted"]] == [f"{project}/.git/hooks/pre-commit"], result
    assert not result["planted_complete"]
    # An old file that comes with a folder keeps its time, and is a hook all the same.
    script = f"cd {project} && mv .git/hooks many/h && mv many/h .git/hooks && mv .git/modules many/m && mv o .git/modules"
    (project / "o/x/hooks").mkdir(parents=True)
    (project / ".git/modules").mkdir()
    (project / "o/x/hooks/pre-push").write_text("x")
    if project.stat().st_uid == USER_ID and os.geteuid() == 0:
        for path in (project / ".git/modules", project / "o", *(project / "o").rglob("*")):
            os.chown(path, USER_ID, USER_ID)
    time.sleep(0.1)
    result = run_json("--write", "p", "--", "sh", "-c", script)
    assert [row["path"] for row in result["planted"]] == [f"{project}/.git/modules/x/hooks/pre-push"], result


def test_folders_in_folders_without_end_hold_nobody_up(run_json, project):
    (project / "deep.py").write_text("import os\nfor i in range(280):\n for n in ('.git', 'modules'):\n"
                                     "  os.makedirs(n, exist_ok=True); os.chdir(n)\n"
                                     "for i in range(2000): open(str(i), 'w').close()\n")
    started = time.monotonic()
    result = run_json("--write", "p", "--", "sh", "-c", f"cd {project} && python3 deep.py")
    assert result["status"] == "ok" and time.monotonic() - started < 15


def test_the_report_comes_after_a_time_out_too(run_json, project):
    result = run_json("--write", "p", "--time", "1s", "--", "sh", "-c",
                      f"echo x > {project}/.git/hooks/post-merge; sleep 9")
    assert result["status"] == "timeout" and [r["what"] for r in result["planted"]] == ["git hook"]
