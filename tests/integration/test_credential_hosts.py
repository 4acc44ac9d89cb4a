"""A credential and the rules for its hosts: a flag brings them, a file has to, and a value that is not there is an error."""
import json
import os
import pathlib
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tls_site import TlsSite  # noqa: E402
import watchers  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")
SECRET = "ghp_0123456789abcdefABCDEF0123456789abcd"
FLAG = "github=env:GITHUB_TOKEN@api.github.com"
ASK = 'curl -s -H "Authorization: Bearer $GITHUB_TOKEN" https://api.github.com/user'
COMMANDS = {
    "run": ["run"],
    "exec": ["exec"],
    "shadow": ["shadow", "--workspace", "tree", "--verify", "true"],
    "learn": ["policy", "learn", "-o", "learnt.yaml"],
    "shell": ["shell"],
}


@pytest.fixture
def place(post):
    """A watcher's place with a folder to work in, and a server that api.github.com leads to by the caller's configuration."""
    if not (pathlib.Path(post.ringfort).parent / "ringfort-gateway").exists() or not shutil.which("curl"):
        pytest.skip("needs ringfort-gateway and curl")
    work = post.top / "work"
    (work / "tree").mkdir(parents=True)
    with TlsSite(post.top / "site", "api.github.com") as site:
        post.site, post.work = site, work
        (post.top / "site.yaml").write_text(json.dumps({"network": site.network()}))
        (post.top / "config.yaml").write_text("policy: site.yaml\n")
        for path in (work, work / "tree", post.top / "site.yaml", post.top / "config.yaml"):
            if watchers.IS_ROOT and post.who == "user":
                os.chown(path, watchers.USER_ID, watchers.USER_ID)
        post.env["RINGFORT_CONFIG"] = str(post.top / "config.yaml")
        yield post


def call(place, *words):
    return place.run("-c", 'cd "$0" && exec "$@"', str(place.work), place.ringfort, *words, program="/bin/sh")


def put(place, name, text):
    (place.work / name).write_text(text)
    (place.work / name).chmod(0o644)
    return name


@pytest.mark.parametrize("command", ["run", "exec", "shadow", "learn"])
def test_a_flag_allows_the_host_that_it_names(place, command):
    place.env["GITHUB_TOKEN"] = SECRET
    if command == "exec":
        assert call(place, "create", "--name", "w", "--workspace", "tree").returncode == 0
    done = call(place, *COMMANDS[command], "--credential", FLAG, *["w"][command != "exec":], "--", "sh", "-c", ASK)
    assert done.returncode == 0, done
    assert [(one[0], one[2], one[3]["Authorization"]) for one in place.site.seen] == [("GET", "/user", f"Bearer {SECRET}")], done
    # And no other, which the same rule does not name.
    done = call(place, "run", "--credential", FLAG, "--", "curl", "-sS", "https://example.org")
    assert done.returncode == 6 and "Could not resolve host" in done.stderr, done


@pytest.mark.parametrize("bound, asked, code", [("api.github.com", "/user", "200"), ("api.github.com/repos/**", "/user", "403"),
                                                ("GET api.github.com/repos/**", "/repos/a", "200")])
def test_the_rule_is_what_the_credential_is_bound_to(place, bound, asked, code):
    place.env["GITHUB_TOKEN"] = SECRET
    done = call(place, "run", "--credential", f"github=env:GITHUB_TOKEN@{bound}", "--", "curl", "-s", "-o", "/dev/null", "-w",
                "%{http_code}", f"https://api.github.com{asked}")
    assert done.stdout == code, done
    said = json.loads(call(place, "policy", "explain", "--json", "--credential", f"github=env:GITHUB_TOKEN@{bound}").stdout)
    assert said["network"]["allow"] == [bound] and said["network"]["credentials"][0]["hosts"] == [bound]
    done = call(place, "policy", "why", "--credential", f"github=env:GITHUB_TOKEN@{bound}", "net", "GET", f"https://api.github.com{asked}")
    assert (done.returncode == 0) == (code == "200") and ("credential github is added" in done.stdout) == (code == "200"), done
    done = call(place, "policy", "why", "--credential", f"github=env:GITHUB_TOKEN@{bound}", "net", "GET", f"http://api.github.com{asked}")
    assert ("credential github is not added, for it is sent over TLS alone" in done.stdout) == (code == "200"), done


@pytest.mark.parametrize("command", COMMANDS)
def test_a_value_that_is_not_there_is_an_error_with_the_source_and_the_remedy(place, command):
    if command == "exec":
        assert call(place, "create", "--name", "w", "--workspace", "tree").returncode == 0
    for source, words in (("env:GITHUB_TOKEN", "there is no variable GITHUB_TOKEN"),
                          ("env:EMPTY", "its value is empty: the variable EMPTY"),
                          ("file:./no-such-file", f"there is no file {place.work}/no-such-file"),
                          ("cmd:no-such-program", "no-such-program could not be run")):
        place.env["EMPTY"] = ""
        done = call(place, *COMMANDS[command], "--credential", f"github={source}@api.github.com", *["w"][command != "exec":], "--",
                    *["true"][command == "shell":])
        assert done.returncode == 125 and f"credential github: {words}" in done.stderr and "hint: " in done.stderr, done
    assert place.site.seen == []


def test_what_the_line_says_against_it_is_an_error(place):
    place.env["GITHUB_TOKEN"] = SECRET
    for other, words in (("none", "--net none leaves nowhere to send it"), ("host", "not kept by `network: host`")):
        for line in (["--net", other, "--credential", FLAG], ["--credential", FLAG, "--net", other]):
            done = call(place, "run", "--no-config", *line, "--", "true")
            assert done.returncode == 125 and words in done.stderr and "hint: " in done.stderr, done


def test_a_file_with_a_credential_and_no_rule_is_an_error_with_its_line(place):
    place.env["GITHUB_TOKEN"] = SECRET
    lone = "credentials:\n  github: { from: 'env:GITHUB_TOKEN', hosts: [api.github.com, 'POST uploads.github.com'] }\n"
    put(place, "lone.yaml", lone)
    put(place, "some.yaml", lone + "network: { allow: [api.github.com, GET uploads.github.com] }\n")
    put(place, "good.yaml", lone + "network: { allow: ['*.github.com'] }\n")
    for name, host in (("lone.yaml", "api.github.com"), ("some.yaml", "POST uploads.github.com")):
        words = f"credentials.github: no rule of network.allow leads to {host}, so it would never be sent there"
        for line in (["run", "--policy", name, "--", "true"], ["policy", "explain", "--policy", name],
                     ["shadow", "--policy", name, "--workspace", "tree", "--verify", "true", "--", "true"],
                     ["agent", "create", "bot", "--policy", name, "--workspace", "tree"]):
            done = call(place, *line)
            assert done.returncode == 125 and f"{name}:2: {words}" in done.stderr and f'allow: ["{host}"]' in done.stderr, done
        done = call(place, "policy", "check", name)
        assert done.returncode == 1 and f"{name}: {words}" in done.stderr, done
    assert call(place, "run", "--policy", "lone.yaml", "--net", "*.github.com", "--", "true").returncode == 0
    for line in (["policy", "check", "good.yaml"], ["run", "--policy", "good.yaml", "--", "true"],
                 ["run", "--policy", "good.yaml", "--net", "none", "--", "true"]):  # who closes it for once may
        assert call(place, *line).returncode == 0


def test_the_credential_of_an_agent_is_read_for_each_of_its_runs(place):
    put(place, "bot.yaml", json.dumps({"credentials": {"github": {"from": "env:GITHUB_TOKEN", "hosts": ["api.github.com"]}},
                                       "network": place.site.network(allow=["api.github.com"])}))
    done = call(place, "agent", "create", "bot", "--policy", "bot.yaml", "--workspace", "tree")
    assert done.returncode == 0, done
    done = call(place, "agent", "run", "bot", "--", "sh", "-c", ASK)
    assert done.returncode == 125 and "there is no variable GITHUB_TOKEN" in done.stderr and place.site.seen == [], done
    place.env["GITHUB_TOKEN"] = SECRET
    done = call(place, "agent", "run", "bot", "--", "sh", "-c", ASK)
    assert done.returncode == 0 and [one[3]["Authorization"] for one in place.site.seen] == [f"Bearer {SECRET}"], done
