"""Real programs in a box, without any set-up inside: an allowed host answers them, another does not exist."""
import json
import os
import re
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "gateway"))
from origins import Nginx  # noqa: E402

pytestmark = pytest.mark.usefixtures("as_who")


@pytest.fixture(scope="module")
def nginx():
    server = Nginx()
    root = server.folder / "root"
    # A repository that is served as files, a package index, and a registry: what each client asks a plain server for.
    work = server.folder / "work"
    for command in (["git", "init", "-q", str(work)], ["git", "-C", str(work), "-c", "user.name=a", "-c", "user.email=a@b", "commit",
                    "-q", "--allow-empty", "-m", "first"], ["git", "clone", "-q", "--bare", str(work), str(root / "repo.git")],
                    ["git", "-C", str(root / "repo.git"), "update-server-info"]):
        subprocess.run(command, check=True, capture_output=True)
    make_wheel(root)
    make_npm(root)
    subprocess.run(["chmod", "-R", "a+rX", str(root)], check=True)
    yield server
    server.close()


def make_wheel(root):
    import zipfile
    folder = root / "simple/fortlet"
    folder.mkdir(parents=True)
    name = "fortlet-1.0-py3-none-any.whl"
    with zipfile.ZipFile(folder / name, "w") as wheel:
        wheel.writestr("fortlet.py", "print('installed')\n")
        wheel.writestr("fortlet-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: fortlet\nVersion: 1.0\n")
        wheel.writestr("fortlet-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("fortlet-1.0.dist-info/RECORD", "fortlet.py,,\nfortlet-1.0.dist-info/METADATA,,\nfortlet-1.0.dist-info/WHEEL,,\n"
                                                       "fortlet-1.0.dist-info/RECORD,,\n")
    (folder / "index.html").write_text(f'<a href="{name}">{name}</a>')


def make_npm(root):
    import io
    import tarfile
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, text in (("package/package.json", '{"name": "fortlet", "version": "1.0.0", "main": "i.js"}'),
                           ("package/i.js", "console.log('installed')")):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    (root / "fortlet-1.0.0.tgz").write_bytes(archive.getvalue())
    # nginx's index is HTML, and npm takes what is JSON: the registry's document is the file itself.
    (root / "fortlet").write_text(json.dumps({
        "name": "fortlet", "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": {"name": "fortlet", "version": "1.0.0", "main": "i.js",
                               "dist": {"tarball": "http://api.example/fortlet-1.0.0.tgz"}}}}))


GO = """package main
import ("fmt"; "io"; "net/http"; "os")
func main() {
	r, err := http.Get("http://" + os.Args[1] + "/index.html")
	if err != nil { fmt.Println(err); os.Exit(1) }
	b, _ := io.ReadAll(r.Body)
	fmt.Print(string(b))
	if r.StatusCode != 200 { os.Exit(2) }
}
"""
JAVA = """import java.net.URI; import java.net.http.*;
public class Get { public static void main(String[] a) throws Exception {
  var r = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create("http://" + a[0] + "/index.html")).build(),
    HttpResponse.BodyHandlers.ofString());
  System.out.print(r.body()); System.exit(r.statusCode() == 200 ? 0 : 2); } }
"""
PYTHON = "import urllib.request, sys; print(urllib.request.urlopen(f'http://{sys.argv[1]}/index.html').read().decode(), end='')"
REQUESTS = "import requests, sys; r = requests.get(f'http://{sys.argv[1]}/index.html'); print(r.text, end=''); r.raise_for_status()"
NODE = "fetch(`http://${process.argv[1]}/index.html`).then(r => r.text()).then(t => process.stdout.write(t), e => { console.log(e.cause); process.exit(1) })"
RUBY = "require 'net/http'; print Net::HTTP.get(URI(\"http://#{ARGV[0]}/index.html\"))"
HELLO = "hello from nginx\n"

# What is run with the host behind it, and what it then prints.
PROGRAMS = {
    "curl": ["curl", "-sSf", "-m", "10", "http://{host}/index.html"],
    "python": ["/usr/bin/python3", "-c", PYTHON, "{host}"],
    "requests": ["/usr/bin/python3", "-c", REQUESTS, "{host}"],
    "node": ["node", "-e", NODE, "{host}"],
    "ruby": ["ruby", "-e", RUBY, "{host}"],
}


def run(run_box, nginx, words, *options, host="api.example", timeout=60):
    return run_box("--net", "api.example", "--host", f"api.example=127.0.0.1:{nginx.port}", "--host",
                   f"evil.example=127.0.0.1:{nginx.port}", "--time", "50s", *options, "--", *(word.replace("{host}", host) for word in words),
                   timeout=timeout)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_reaches_what_is_allowed_and_nothing_else(run_box, need, nginx, program):
    need(PROGRAMS[program][0])
    before = len(nginx.requests())
    done = run(run_box, nginx, PROGRAMS[program])
    assert (done.code, done.out.decode()) == (0, HELLO), done
    done = run(run_box, nginx, PROGRAMS[program], host="evil.example")
    assert done.code != 0 and HELLO.encode() not in done.out, done
    assert len(nginx.requests()) == before + 1


def test_go_does(run_box, need, nginx, workdir):
    need("go")
    (workdir / "get.go").write_text(GO)
    subprocess.run(["go", "build", "-o", str(workdir / "get"), str(workdir / "get.go")], check=True, capture_output=True,
                   env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod"}, cwd=workdir)
    (workdir / "get").chmod(0o755)
    assert run(run_box, nginx, [str(workdir / "get"), "{host}"])[:2] == (0, HELLO.encode())
    done = run(run_box, nginx, [str(workdir / "get"), "{host}"], host="evil.example")
    assert done.code == 1 and b"no such host" in done.out


def test_java_does(run_box, need, nginx, workdir):
    need("java", "javac")
    (workdir / "Get.java").write_text(JAVA)
    subprocess.run(["javac", "-d", str(workdir), str(workdir / "Get.java")], check=True, capture_output=True)
    words = ["java", "-Xshare:auto", "-cp", str(workdir), "Get", "{host}"]
    assert run(run_box, nginx, words, "--memory", "1G", "--pids", "200")[:2] == (0, HELLO.encode())
    assert run(run_box, nginx, words, "--memory", "1G", "--pids", "200", host="evil.example").code != 0


def test_git_clones(run_box, need, nginx):
    need("git")
    words = ["sh", "-c", "git clone -q http://{host}/repo.git /tmp/repo && git -C /tmp/repo log --format=%s"]
    done = run(run_box, nginx, words)
    assert (done.code, done.out) == (0, b"first\n"), done
    assert run(run_box, nginx, words, host="evil.example").code != 0


def test_pip_installs(run_box, nginx):
    words = ["sh", "-c", "/usr/bin/python3 -m pip install -q --no-cache-dir --break-system-packages --target /tmp/site --trusted-host {host} "
                         "-i http://{host}/simple/ fortlet && PYTHONPATH=/tmp/site /usr/bin/python3 -m fortlet"]
    if subprocess.run(["/usr/bin/python3", "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        pytest.skip("no pip here")
    done = run(run_box, nginx, words)
    assert (done.code, done.out) == (0, b"installed\n"), done
    assert run(run_box, nginx, [words[0], words[1], words[2].replace("install -q", "install -q --retries 0")], host="evil.example").code != 0


def test_npm_installs(run_box, need, nginx):
    need("npm")
    words = ["sh", "-c", "cd /tmp && npm install --silent --no-audit --no-fund --fetch-retries=0 --cache /tmp/cache --registry http://{host}/ "
                         "fortlet && node -e \"require('fortlet')\""]
    done = run(run_box, nginx, words, "--memory", "1G", "--pids", "200")
    assert done.code == 0 and done.out.endswith(b"installed\n"), done
    assert run(run_box, nginx, words, "--memory", "1G", "--pids", "200", host="evil.example").code != 0


def test_a_refusal_is_in_the_result_with_its_remedy(run_json, nginx):
    result = run_json("--net", "GET api.example/index.html", "--host", f"api.example=127.0.0.1:{nginx.port}", "--", "sh", "-c",
                      "curl -s http://api.example/other; curl -s http://evil.example/")
    assert "network_denied" in result["stdout"]
    denials = {denial["what"]: denial for denial in result["denials"] if denial["kind"] == "network"}
    assert any(re.search(r"api\.example", what) for what in denials), result["denials"]
    assert any("evil.example" in denial["remedy"] for denial in denials.values()), result["denials"]


def test_an_address_is_refused_with_words(run_box, nginx):
    done = run(run_box, nginx, ["curl", "-sS", "-m", "5", "http://93.184.216.34/"])
    assert json.loads(done.out)["error"]["remedy"] == 'network.allow: ["93.184.216.34"]'
    for words in (["curl", "-sS", "-m", "5", "https://93.184.216.34/"], ["curl", "-sS", "-m", "5", "http://[2606:4700::1]/x"],
                  ["curl", "-sS", "-m", "5", "http://0x5db8d822:81/"]):
        done = run(run_box, nginx, words)
        assert done.code != 0 or b"network_denied" in done.out, done
