"""The usual languages and tools run under the default policy, without tuning."""
import os
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.usefixtures("as_who")


def put(workdir, name, text):
    path = workdir / name
    path.write_text(text)
    path.chmod(0o644)
    return path


def need_module(name):
    if subprocess.run(["/usr/bin/python3", "-c", f"import {name}"], capture_output=True, check=False).returncode:
        pytest.skip(f"no python3-{name} on this machine")


def test_python_with_its_own_libraries(run_box):
    done = run_box("--", "python3", "-c", """
import asyncio, concurrent.futures, ctypes, hashlib, json, multiprocessing, socket, sqlite3, ssl, subprocess
import tempfile, threading, time, urllib.request, uuid, zoneinfo
print(subprocess.check_output(["echo", "child"]).decode().strip())
with concurrent.futures.ThreadPoolExecutor(4) as pool: print(sum(pool.map(abs, range(-5, 5))))
with tempfile.TemporaryDirectory() as d: sqlite3.connect(d + "/db").execute("create table t (x)")
async def main():
    server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    reader, _ = await asyncio.open_connection(*server.sockets[0].getsockname())
    print(await reader.read())
asyncio.run(main())
""")
    assert done == (0, b"child\n25\nb''\n", b"")


def test_python_multiprocessing(run_box, workdir):
    put(workdir, "pool.py", "import multiprocessing as m\n"
        "def f(x): return x * x\n"
        "if __name__ == '__main__':\n"
        "    for how in ('fork', 'spawn'):\n"
        "        with m.get_context(how).Pool(3) as p: print(sum(p.map(f, range(10))))\n")
    assert run_box("--", "python3", "pool.py") == (0, b"285\n285\n", b"")


def test_numpy(run_box):
    need_module("numpy")
    done = run_box("--", "python3", "-c", "import numpy as np; a = np.ones((300, 300)); print((a @ a)[0, 0])")
    assert done == (0, b"300.0\n", b"")


def test_pandas(run_box):
    need_module("pandas")
    done = run_box("--", "python3", "-c",
                   "import pandas as pd; print(pd.DataFrame({'a': [1, 2, 2]}).groupby('a').size().max())")
    assert (done.code, done.out) == (0, b"2\n"), done.err


def test_node(run_box, need):
    need("node")
    done = run_box("--", "node", "-e", """
const { Worker } = require('worker_threads'), fs = require('fs'), crypto = require('crypto');
fs.writeFileSync('/tmp/x', 'text');
console.log(fs.readFileSync('/tmp/x', 'utf8'), crypto.randomBytes(4).length);
new Worker("require('worker_threads').parentPort.postMessage(6*7)", { eval: true }).on('message', console.log);
""")
    assert done == (0, b"text 4\n42\n", b"")


def test_node_serves_itself(run_box, need):
    need("node")
    done = run_box("--", "node", "-e", """
const http = require('http');
const server = http.createServer((q, a) => a.end('hello')).listen(0, () =>
  http.get({ port: server.address().port }, r => r.on('data', d => console.log(String(d))).on('end', () => server.close())));
""")
    assert done == (0, b"hello\n", b"")


def test_git_in_a_written_tree(run_box, workdir, need):
    need("git")
    put(workdir, "file", "content\n")
    owner = workdir.stat()
    os.chown(workdir / "file", owner.st_uid, owner.st_gid)
    done = run_box("--write", ".", "--", "sh", "-ec", """
git init -q -b main . && git config user.email a@b.c && git config user.name box
git add file && git commit -q -m first && git status --porcelain && git log --format=%s
git checkout -q -b side && echo more >> file && git commit -qam second && git diff main --stat | tail -1
git gc -q && git fsck
""")
    assert done.code == 0, done.err
    assert done.out.startswith(b"first\n 1 file changed")
    assert (workdir / ".git/HEAD").stat().st_uid == owner.st_uid


def test_git_reads_a_tree_that_is_only_shown(run_box, workdir, need):
    need("git")
    put(workdir, "file", "content\n")
    os.chown(workdir / "file", workdir.stat().st_uid, workdir.stat().st_gid)
    done = run_box("--write", ".", "--", "sh", "-c", "git init -q . && git add file && "
                   "git -c user.email=a@b.c -c user.name=n commit -qm one")
    assert done.code == 0, done.err
    done = run_box("--", "sh", "-c", "git log --format=%s && git status --porcelain && git diff HEAD --stat")
    assert done == (0, b"one\n", b"")


def test_gcc_compiles_and_what_it_made_runs(run_box, workdir, need):
    need("gcc")
    put(workdir, "hello.c", "#include <stdio.h>\n#include <math.h>\n"
        "int main(int c, char **v) { printf(\"%.0f\\n\", sqrt(c * 1764.0)); return 3; }\n")
    done = run_box("--", "sh", "-c", "gcc -O2 -Wall -o /tmp/hello hello.c -lm && /tmp/hello")
    assert done == (3, b"42\n", b"")
    done = run_box("--write", ".", "--", "sh", "-c", "gcc -o hello hello.c -lm && ./hello")
    assert done[:2] == (3, b"42\n") and done.err.endswith(b"/hello can be executed\n"), done


def test_g_plus_plus_and_make(run_box, workdir, need):
    need("g++", "make")
    put(workdir, "a.cc", "#include <iostream>\n#include <thread>\n"
        "int main() { std::thread([] { std::cout << 42 << std::endl; }).join(); }\n")
    put(workdir, "Makefile", "/tmp/a: a.cc\n\t@g++ -pthread -o $@ $<\n\t@$@\n")
    done = run_box("--", "make", "-j2")
    assert (done.code, done.out) == (0, b"42\n"), done.err


GO = "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tc := make(chan int)\n\tgo func() { c <- 42 }()\n\tfmt.Println(<-c)\n}\n"


def test_go_builds_and_what_it_made_runs(run_json, workdir):
    if not os.path.exists("/usr/bin/go"):
        pytest.skip("no /usr/bin/go on this machine")
    put(workdir, "main.go", GO)
    result = run_json("--", "sh", "-c", "/usr/bin/go build -o /tmp/main main.go && /tmp/main", timeout=70)
    assert (result["status"], result["stdout"]) == ("ok", "42\n"), (result["stderr"], result["usage"],
                                                                     result["limits_hit"])


def test_java_runs(run_box, workdir, need):
    need("java")
    if not shutil.which("javac", path="/usr/bin"):
        done = run_box("--", "java", "-version")
        assert done.code == 0 and b"penJDK" in done.err
        return
    put(workdir, "Main.java", "public class Main { public static void main(String[] a) throws Exception {\n"
        "Thread t = new Thread(() -> System.out.println(6 * 7)); t.start(); t.join(); } }\n")
    done = run_box("--", "java", "Main.java")
    assert (done.code, done.out) == (0, b"42\n"), done.err


@pytest.mark.parametrize("program, args, out", [
    ("perl", ["-e", "print 6*7"], b"42"), ("ruby", ["-e", "print 6*7"], b"42"),
    ("php", ["-r", "print 6*7;"], b"42"), ("lua5.4", ["-e", "io.write(6*7)"], b"42"),
    ("awk", ["BEGIN { printf 6*7 }"], b"42"), ("bash", ["-c", "printf $((6*7)) > >(cat); wait"], b"42"),
    ("jq", ["-n", "6*7"], b"42\n"), ("sqlite3", [":memory:", "select 6*7"], b"42\n"),
    ("tar", ["cf", "/tmp/x.tar", "/etc/passwd", "--no-same-owner", "-P"], b""), ("rustc", ["--version"], b"rustc"),
    ("openssl", ["version"], b"OpenSSL"), ("find", ["/usr", "-maxdepth", "0"], b"/usr\n"),
    ("ps", ["-o", "comm=", "-C", "ps"], b"ps\n"), ("date", ["-u", "-d", "@0", "+%Y"], b"1970\n"),
])
def test_small_tools(run_box, need, program, args, out):
    need(program)
    done = run_box("--", program, *args)
    assert done.code == 0, done.err
    assert done.out.startswith(out)
