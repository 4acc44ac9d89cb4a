"""Real programs, each with a piece of its ordinary work: what the system call filter is measured with.

A row is a name, what this machine must have, options of the box, and a shell script that works in the
box's own /tmp and says DONE at its end if all of it went well.  With ALONE set it leaves out sockets
and what else `syscalls: strict` takes away by intent.  `measure` counts the calls that each
makes; tests/integration/test_real_programs.py runs them as they are.
"""
import glob
import os
import shutil
import subprocess
import typing

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
DONE = "DONE"
SOCKETS = "sockets"
HOME = os.path.expanduser("~")


class Program(typing.NamedTuple):
    name: str
    kind: str
    needs: tuple  # programs; "python:X" is a module of Debian's Python, "/..." a file or pattern
    options: tuple  # of the box, besides those of the setting
    script: str
    is_big: bool  # takes seconds: measured, and tested only where asked for
    not_in_strict: str  # what it lives by and `syscalls: strict` takes away


PROGRAMS = []
ROOMY = ("--profile", "agent", "--memory", "2G", "--time", "3m")
SERVER = (*ROOMY, "--unix", "on")


def add(kind, name, needs, options, script, is_big=False, not_in_strict=""):
    PROGRAMS.append(Program(name, kind, tuple(needs.split()), options, script, is_big, not_in_strict))


def is_there(need):
    if need.startswith("python:"):
        return not subprocess.run(["/usr/bin/python3", "-c", f"import {need[7:]}"], check=False,
                                  capture_output=True).returncode
    if need.startswith("/"):
        return bool(glob.glob(need))
    return shutil.which(need, path=PATH) is not None


def lacking(program):
    """What this machine lacks of what the program needs."""
    return [need for need in program.needs if not is_there(need)]


def newest(pattern):
    found = sorted(glob.glob(pattern), key=os.path.getmtime)
    return found[-1] if found else ""


def command(program):
    """What runs in the box."""
    return ["bash", "-c", f"set -e; cd /tmp; {program.script}\necho {DONE}"]


# ------------------------------------------------------------- interpreters

add("interpreter", "python", "python3", (), """
cat >all.py <<'.'
import asyncio, concurrent.futures, ctypes, fcntl, glob, gzip, hashlib, json, mmap, multiprocessing, os, pathlib
import pty, random, resource, select, shutil, signal, socket, sqlite3, ssl, subprocess, sys, tempfile, threading, time
import urllib.request, uuid, zipfile, http.server, locale, platform, getpass, pickle, queue, struct, tarfile
from multiprocessing import shared_memory

def square(x): return x * x

async def talk():
    server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    reader, _ = await asyncio.open_connection(*server.sockets[0].getsockname())
    assert await reader.read() == b""
    process = await asyncio.create_subprocess_exec("echo", "child", stdout=-1)
    assert (await process.communicate())[0] == b"child\\n"
    server.close()

def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = "http://127.0.0.1:%d/all.py" % server.server_address[1]
    assert b"def serve" in urllib.request.urlopen(url).read()
    server.shutdown()

if __name__ == "__main__":
    assert subprocess.check_output(["sh", "-c", "echo $0"]) == b"sh\\n" and os.system("true") == 0
    with concurrent.futures.ThreadPoolExecutor(4) as pool: assert sum(pool.map(square, range(9))) == 204
    for how in ("fork", "spawn", "forkserver") if len(sys.argv) > 1 and "ALONE" not in os.environ else ("fork", "spawn"):
        with multiprocessing.get_context(how).Pool(2) as pool: assert sum(pool.map(square, range(9))) == 204
    block = shared_memory.SharedMemory(create=True, size=4096); block.buf[0] = 7; block.close(); block.unlink()
    with sqlite3.connect("db") as db: db.execute("create table t (x)")
    if "ALONE" not in os.environ: asyncio.run(talk()); serve(); os.mkfifo("fifo"); os.chown("db", os.getuid(), os.getgid()); os.nice(1)
    with open("big", "w+b") as f:
        f.truncate(1 << 20); m = mmap.mmap(f.fileno(), 0); m[0:3] = b"abc"; m.flush(); m.close(); os.fsync(f.fileno())
        fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_UN)
    shutil.copytree("/etc/ssl", "ssl", symlinks=True, ignore_dangling_symlinks=True) if os.path.isdir("/etc/ssl") else 0
    shutil.copy2("big", "big2"); shutil.move("big2", "big3"); os.link("big", "hard"); os.symlink("big", "soft")
    os.utime("big", (1, 1)); os.chmod("big", 0o600)
    with zipfile.ZipFile("z.zip", "w") as z: z.write("all.py")
    with tarfile.open("t.tgz", "w:gz") as t: t.add("ssl") if os.path.isdir("ssl") else t.add("all.py")
    signal.signal(signal.SIGALRM, lambda *_: None); signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause()
    signal.alarm(1); signal.alarm(0); os.times(); os.getloadavg(); os.cpu_count(); resource.getrusage(0)
    resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
    pid, end = pty.fork()
    if pid == 0: os.write(1, b"hi"); os._exit(0)
    assert os.read(end, 9) == b"hi"; os.waitpid(pid, 0)
    a, b = socket.socketpair(); a.send(b"x"); assert b.recv(1) == b"x"; select.epoll().close()
    platform.platform(); os.sched_getaffinity(0); os.get_terminal_size if 0 else 0; time.sleep(0.001)
    os.statvfs("/tmp"); list(os.scandir("/tmp")); glob.glob("/usr/*"); hashlib.sha256(os.urandom(9)).hexdigest()
.
python3 all.py
""")

add("interpreter", "python: numpy, pandas", "python:numpy python:pandas", ROOMY, """
python3 -c '
import numpy as np, pandas as pd
a = np.random.rand(400, 400); np.linalg.svd(a); (a @ a).sum(); np.save("a.npy", a); np.load("a.npy", mmap_mode="r").sum()
d = pd.DataFrame({"k": list("abc") * 1000, "v": range(3000)})
d.to_csv("d.csv"); assert pd.read_csv("d.csv").groupby("k").v.sum().sum() == 4498500
d.to_pickle("d.p"); pd.read_pickle("d.p"); d.to_json("d.json")'
""")

add("interpreter", "node", "node", ROOMY, """
cat >all.js <<'.'
const { Worker } = require('worker_threads'), fs = require('fs'), os = require('os'), assert = require('assert');
const http = require('http'), zlib = require('zlib'), crypto = require('crypto'), cp = require('child_process');
(async () => {
  fs.mkdirSync('d/e', { recursive: true }); fs.writeFileSync('d/f', 'text'); fs.copyFileSync('d/f', 'd/g');
  fs.cpSync('d', 'd2', { recursive: true }); fs.utimesSync('d/f', 1, 1); fs.chmodSync('d/f', 0o600);
  fs.symlinkSync('f', 'd/l'); fs.renameSync('d/g', 'd/h'); fs.linkSync('d/h', 'd/i'); fs.rmSync('d2', { recursive: true });
  await fs.promises.appendFile('d/f', 'more'); await fs.promises.readFile('d/f'); await fs.promises.readdir('d');
  const heard = () => new Promise(go => { const w = fs.watch('d', () => { w.close(); go(); }); setTimeout(() => fs.writeFileSync('d/n', ''), 20); });
  if (!process.env.ALONE) { await heard(); os.networkInterfaces(); os.setPriority(5); }
  os.cpus(); os.userInfo(); os.getPriority(); os.loadavg();
  await new Promise(go => new Worker("require('worker_threads').parentPort.postMessage(6*7)", { eval: true }).on('message', go));
  assert(cp.execSync('echo hi').toString() === 'hi\\n');
  await new Promise(go => cp.fork('-e', ['1'], { execArgv: [] }).on('exit', go));
  if (!process.env.ALONE) await new Promise(go => { const s = http.createServer((q, a) => a.end('hello')).listen(0, '127.0.0.1', () =>
    http.get({ port: s.address().port, host: '127.0.0.1' }, r => r.on('data', () => {}).on('end', () => { s.close(); go(); }))); });
  zlib.gunzipSync(zlib.gzipSync('x'.repeat(1e5))); crypto.pbkdf2Sync('a', 'b', 10, 20, 'sha1');
  await new Promise(go => crypto.generateKeyPair('rsa', { modulusLength: 1024 }, go));
  await WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])); process.exit(0);
})();
.
node all.js
""")
add("interpreter", "npm", "npm", ROOMY, """
mkdir p; cd p; echo '{"name":"p","version":"1.0.0","scripts":{"test":"node -e 1"}}' >package.json
mkdir ../q; echo '{"name":"q","version":"1.0.0"}' >../q/package.json
npm test >/dev/null; npm install --offline --no-audit ../q >/dev/null; npm pack >/dev/null 2>&1
""")
add("interpreter", "ruby", "ruby", (), """
ruby -rsocket -rtempfile -rfileutils -e '
Thread.new { sleep 0.001 }.join; raise unless `echo hi` == "hi\\n"; exit! 0 if fork.nil?; Process.wait
unless ENV["ALONE"] then s = TCPServer.new("127.0.0.1", 0); c = TCPSocket.new("127.0.0.1", s.addr[1]); s.accept.puts "x"; c.gets end
Tempfile.create("t") { |f| f.write "x"; f.flush; f.fsync }; FileUtils.mkdir_p "a/b"; FileUtils.cp_r "a", "c"; FileUtils.rm_r "c"
IO.pipe; Dir["/usr/*"]; File.utime(1, 1, "a"); Ractor.new { 1 }.take; Process.clock_gettime(1); IO.popen("true").close
Process.spawn("true"); Process.waitall; File.open("l", "w") { |f| f.flock(File::LOCK_EX) }' 2>/dev/null
""")
add("interpreter", "perl", "perl", (), """
perl -MSocket -MIO::Socket::INET -MFile::Temp -MFile::Copy -MPOSIX -MTime::HiRes=sleep,alarm -MFile::Path -MIPC::Open3 -MSys::Hostname -e '
$SIG{ALRM} = sub {}; alarm 0.01; select undef, undef, undef, 0.05; sleep 0.001; die unless `echo hi` eq "hi\\n";
my $p = fork // die; exit 0 unless $p; waitpid $p, 0; socketpair my $a, my $b, AF_UNIX, SOCK_STREAM, 0 or die; hostname;
unless ($ENV{ALONE}) { my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or die; my $c = IO::Socket::INET->new("127.0.0.1:" . $s->sockport) or die; POSIX::nice(1); }
my ($f, $n) = File::Temp::tempfile(); print $f "x"; close $f; copy $n, "n" or die; utime 1, 1, "n" or die; chmod 0600, "n";
mkpath "a/b"; rmtree "a"; POSIX::times(); opendir my $d, "/usr"; readdir $d; flock DATA, 2; rename "n", "m" or die; truncate "m", 0;'
""")
add("interpreter", "lua", "lua5.4", (), """
lua5.4 -e 'local f = assert(io.open("x", "w")) f:write("y") f:close() os.rename("x", "z") os.remove("z")
local p = io.popen("echo hi") assert(p:read() == "hi") p:close() os.execute("true") os.tmpname() os.time() os.clock()'
""")
add("interpreter", "php", "php", (), """
php -r '$f = tempnam("/tmp", "x"); file_put_contents($f, "y"); copy($f, "z"); touch("z", 1); rename("z", "w"); unlink("w");
if (trim(shell_exec("echo hi")) != "hi") exit(1); $p = proc_open("cat", [["pipe", "r"], ["pipe", "w"]], $io); fclose($io[0]); proc_close($p);
if (!getenv("ALONE")) { $s = stream_socket_server("tcp://127.0.0.1:0"); $c = stream_socket_client("tcp://" . stream_socket_get_name($s, false)); stream_socket_accept($s); }
usleep(10); flock(fopen($f, "r"), LOCK_EX); json_encode(glob("/usr/*")); random_bytes(9); getrusage(); preg_match("/x/", "x"); '
""")
add("interpreter", "java", "java javac", ROOMY, """
cat >A.java <<'.'
import java.net.*; import java.nio.channels.*; import java.nio.file.*; import java.util.concurrent.*; import java.util.stream.*;
public class A { public static void main(String[] a) throws Exception {
  ExecutorService e = Executors.newFixedThreadPool(4); e.submit(() -> 1).get(); e.shutdown();
  IntStream.range(0, 100000).parallel().sum(); System.gc();
  Process p = new ProcessBuilder("echo", "hi").start(); if (!new String(p.getInputStream().readAllBytes()).equals("hi\\n")) System.exit(1); p.waitFor();
  if (System.getenv("ALONE") == null) { ServerSocket s = new ServerSocket(0, 5, InetAddress.getLoopbackAddress()); Socket c = new Socket(s.getInetAddress(), s.getLocalPort()); s.accept();
  WatchService w = FileSystems.getDefault().newWatchService(); Path.of("/tmp").register(w, StandardWatchEventKinds.ENTRY_CREATE); NetworkInterface.getNetworkInterfaces(); }
  Path f = Files.createTempFile("a", "b"); Files.writeString(f, "x"); Files.copy(f, Path.of("c")); Files.move(Path.of("c"), Path.of("d"));
  Files.setLastModifiedTime(f, java.nio.file.attribute.FileTime.fromMillis(1)); Files.walk(Path.of("/tmp")).count();
  try (FileChannel ch = FileChannel.open(f, StandardOpenOption.READ, StandardOpenOption.WRITE)) { ch.map(FileChannel.MapMode.READ_WRITE, 0, 4096).force(); ch.lock(); ch.force(true); }
  Selector.open().selectNow(); Runtime.getRuntime().availableProcessors();
  Thread t = new Thread(() -> {}); t.setPriority(7); t.start(); t.join(); new java.security.SecureRandom().nextInt(); System.exit(0); } }
.
javac A.java; java -Xmx256m A; jar cf a.jar A.class; [ "$ALONE" ] || jshell - </dev/null
""", True)
add("interpreter", "bash", "bash", (), """
exec 3<>f 2>/dev/null || exec 3>f; echo x >&3; read -r y < <(echo sub); coproc cat; kill $!; ulimit -n 99; umask 022
trap : USR1; kill -USR1 $$; time sleep 0; for i in {1..3}; do (echo $i) & done; wait; [[ -e f && ! -d f ]]; cat <<<here >/dev/null
exec 4</dev/null; read -t 0.01 <&4 || true; test -w /tmp; printf %s "$(<f)" >/dev/null; set -m; sleep 0 & fg >/dev/null; times >/dev/null
""")
add("interpreter", "zsh", "zsh", (), "zsh -fc 'zmodload zsh/net/tcp zsh/zpty zsh/stat; print -l /usr/*(N) | sort | head -1; zpty p cat; zpty -d p; x=$(echo y); (sleep 0) & wait'")
add("interpreter", "fish", "fish", (), "HOME=/tmp fish -c 'set x (echo a b | string split \" \"); for i in $x; echo $i; end; sleep 0 &; wait; math 1 + 1'")
add("interpreter", "busybox", "busybox", (), "busybox sh -c 'for i in a b; do echo $i; done | busybox awk \"{print}\" | busybox sort -r; busybox tar cf t.tar /etc/passwd; busybox find /etc | busybox wc -l; busybox nice busybox gzip t.tar; busybox vi --help' 2>/dev/null || true")
for version in ("3.13", "3.8"):
    home = newest(f"{HOME}/.pyenv/versions/{version}.*")
    if home:
        PROGRAMS.append(PROGRAMS[0]._replace(
            name=f"python {version}", needs=(home,), options=("--unix", "on", "--read", f"{home}:{home}"),
            script=PROGRAMS[0].script.replace("python3 all.py", f"{home}/bin/python3 all.py more")))

# ------------------------------------------------------------- compilers and build tools

C_PROGRAM = """
cat >a.c <<'.'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <time.h>
#include <dirent.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/time.h>
#include <sys/resource.h>
extern char **environ;
static void on(int s) { (void)s; }
static void *go(void *x) { sem_post(x); return x; }
int main(void) {
  sem_t s; sem_init(&s, 0, 0); pthread_t t; pthread_create(&t, 0, go, &s); sem_wait(&s); pthread_join(t, 0);
  pid_t p; char *v[] = { "true", 0 }; int e = posix_spawnp(&p, "true", 0, 0, v, environ); if (e) return 2; waitpid(p, 0, 0);
  if (system("exit 3") >> 8 != 3) return 3; FILE *f = popen("echo hi", "r"); if (fgetc(f) != 'h') return 4; pclose(f);
  signal(SIGALRM, on); alarm(1); pause(); timer_t id; struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
  signal(SIGUSR1, on); if (timer_create(CLOCK_MONOTONIC, &ev, &id)) return 5; struct itimerspec it = { { 0, 0 }, { 0, 1000000 } };
  timer_settime(id, 0, &it, 0); timer_gettime(id, &it); usleep(5000); timer_getoverrun(id); timer_delete(id);
  DIR *d = opendir("/"); readdir(d); closedir(d); mkfifo("ff", 0600); struct stat st; stat("/", &st); lstat("/", &st);
  char n[] = "tXXXXXX"; int fd = mkstemp(n); ftruncate(fd, 99); posix_fallocate(fd, 0, 99); fsync(fd); rename(n, "renamed");
  int in = socket(AF_INET, SOCK_STREAM, 0); struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  bind(in, (void *)&a, sizeof(a)); listen(in, 5); struct pollfd pf = { .fd = in, .events = POLLIN }; poll(&pf, 1, 1);
  sigqueue(getpid(), SIGUSR1, (union sigval){ 0 }); setpriority(PRIO_PROCESS, 0, 3); getpriority(PRIO_PROCESS, 0);
  nanosleep(&(struct timespec){ 0, 1000 }, 0); abort == 0; puts("ran"); return 0; }
.
"""
add("build", "gcc", "gcc", (), C_PROGRAM + "gcc -O2 -g -pthread a.c -o a; ./a; gcc -flto -O2 -pthread a.c -o b; ar rc l.a /dev/null; strip a; objdump -d b >/dev/null; nm b >/dev/null")
add("build", "a program of musl's", "musl-gcc", (), C_PROGRAM + "musl-gcc -static -O2 a.c -o a; ./a; ./a")
add("build", "g++", "g++", ROOMY, """
cat >a.cc <<'.'
#include <filesystem>
#include <future>
#include <iostream>
#include <fstream>
#include <chrono>
#include <shared_mutex>
#include <random>
#include <thread>
int main() { auto f = std::async(std::launch::async, [] { return 6 * 7; }); std::random_device r; r();
  std::filesystem::create_directories("x/y"); std::ofstream("x/f") << "t"; std::filesystem::copy("x", "z", std::filesystem::copy_options::recursive);
  std::filesystem::last_write_time("x/f", std::filesystem::file_time_type::clock::now()); std::filesystem::remove_all("x");
  std::filesystem::resize_file("z/f", 9); std::filesystem::permissions("z/f", std::filesystem::perms::owner_all); (void)std::filesystem::space("/tmp");
  std::this_thread::sleep_for(std::chrono::milliseconds(1)); std::cout << f.get() << std::endl; }
.
g++ -O1 -std=c++17 -pthread a.cc -o a; ./a
""", True)
add("build", "clang", "clang", ROOMY, C_PROGRAM + "clang -O1 -pthread a.c -o a 2>/dev/null; ./a", True)
add("build", "sanitizers", "gcc", ROOMY, C_PROGRAM + "gcc -fsanitize=address,undefined -pthread a.c -o a; ASAN_OPTIONS=detect_leaks=0 ./a; gcc -fsanitize=thread -pthread a.c -o t; [ $ALONE ] || setarch -R ./t", True)
add("build", "make", "make gcc", (), C_PROGRAM + "printf 'all: a b\\n%%: a.c\\n\\tgcc -pthread $< -o $@\\n' >Makefile; make -j2 >/dev/null; touch a.c; make -q || ./b")
add("build", "ninja", "ninja gcc", (), C_PROGRAM + "printf 'rule cc\\n command = gcc -pthread $in -o $out\\nbuild a: cc a.c\\nbuild b: cc a.c\\n' >build.ninja; ninja >/dev/null; ninja -t clean >/dev/null")
add("build", "cmake", "cmake gcc make", ROOMY, C_PROGRAM + "printf 'cmake_minimum_required(VERSION 3.10)\\nproject(a C)\\nfind_package(Threads)\\nadd_executable(a a.c)\\ntarget_link_libraries(a Threads::Threads)\\n' >CMakeLists.txt; cmake -B o . >/dev/null; cmake --build o -j2 >/dev/null; o/a; cmake --install o --prefix /tmp/i >/dev/null; cmake -E tar cf t.tar a.c", True)
add("build", "meson", "meson ninja gcc", ROOMY, C_PROGRAM + "printf \"project('a', 'c')\\ntest('a', executable('a', 'a.c', dependencies: dependency('threads')))\\n\" >meson.build; meson setup o >/dev/null; meson test -C o >/dev/null", True)
GO_PROGRAM = """
mkdir g; cd g; export HOME=/tmp GOCACHE=/tmp/gc GOFLAGS=-mod=mod GOTOOLCHAIN=local; cat >go.mod <<'.'
module g

go 1.18
.
cat >a.go <<'.'
package main
import ("fmt"; "io"; "net"; "net/http"; "os"; "os/exec"; "os/signal"; "path/filepath"; "runtime"; "sync"; "syscall"; "time")
func check(e error) { if e != nil { panic(e) } }
func talk() {
	l, e := net.Listen("tcp", "127.0.0.1:0"); check(e)
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "a.go") }))
	r, e := http.Get("http://" + l.Addr().String()); check(e); f, e := os.Create("f"); check(e); _, e = io.Copy(f, r.Body); check(e); f.Close()
	p, e := net.Listen("tcp", "127.0.0.1:0"); check(e)
	go func() { a, _ := p.Accept(); b, _ := net.Dial("tcp", l.Addr().String()); go io.Copy(b, a); io.Copy(a, b); a.Close() }()
	r, e = http.Get("http://" + p.Addr().String()); check(e); io.Copy(io.Discard, r.Body); net.Interfaces()
}
func main() {
	var w sync.WaitGroup
	for i := 0; i < 50; i++ { w.Add(1); go func() { defer w.Done(); runtime.Gosched(); time.Sleep(time.Millisecond) }() }
	w.Wait(); out, e := exec.Command("echo", "hi").Output(); check(e); if string(out) != "hi\\n" { panic(out) }
	c := make(chan os.Signal, 1); signal.Notify(c, syscall.SIGUSR1); check(syscall.Kill(os.Getpid(), syscall.SIGUSR1)); <-c
	if os.Getenv("ALONE") == "" { talk() }; s, e := os.Open("a.go"); check(e)
	d, e := os.Create("f"); check(e); _, e = io.Copy(d, s); check(e); check(d.Sync())
	check(os.Chtimes("f", time.Now(), time.Now())); check(os.Chmod("f", 0600)); check(os.MkdirAll("x/y", 0755)); check(os.Rename("f", "x/f")); check(os.RemoveAll("x"))
	check(filepath.Walk("/tmp/g", func(string, os.FileInfo, error) error { return nil })); os.Hostname(); runtime.GC(); fmt.Println("ran")
	t, e := os.CreateTemp("", "t"); check(e); check(t.Truncate(9)); b, e := exec.Command("sh", "-c", "exit 3").CombinedOutput(); _ = b
}
.
"""
add("build", "go", "/usr/lib/go/bin/go", ROOMY, GO_PROGRAM + "/usr/lib/go/bin/go build -o a .; ./a; /usr/lib/go/bin/go vet .", True)
add("build", "go, newer", "/usr/local/go/bin/go", (*ROOMY, "--read", "/usr/local/go:/mnt/go"),
    """
mkdir g; cd g; export HOME=/tmp GOCACHE=/tmp/gc GOTOOLCHAIN=local; cat >a.go <<'.'
package main
import ("io"; "os"; "os/exec"; "syscall"; "time")
func check(e error) { if e != nil { panic(e) } }
func main() {
	out, e := exec.Command("echo", "hi").Output(); check(e); if string(out) != "hi\\n" { panic(out) }
	c := exec.Command("sleep", "60"); check(c.Start()); check(c.Process.Signal(syscall.SIGTERM)); c.Wait(); time.Sleep(time.Millisecond)
	s, e := os.Open("a.go"); check(e); d, e := os.Create("b"); check(e); _, e = io.Copy(d, s); check(e); check(os.RemoveAll("b"))
}
.
/mnt/go/bin/go build -p 1 -o a a.go; ./a""", True)
RUST = newest(f"{HOME}/.rustup/toolchains/stable*") or newest("/usr/bin/rustc")
add("build", "rustc, cargo", (RUST + "/bin/cargo") if RUST.startswith(HOME) else "rustc cargo",
    (*ROOMY, *(("--read", f"{RUST}:/opt/rust") if RUST.startswith(HOME) else ())), """
export HOME=/tmp PATH=/opt/rust/bin:$PATH; cargo new -q r --vcs none 2>/dev/null; cd r; cat >src/main.rs <<'.'
use std::{fs, io::{self, Read, Write}, net::*, process::Command, thread, sync::mpsc, time::Duration};
fn main() -> io::Result<()> {
    let (a, b) = mpsc::channel(); thread::spawn(move || a.send(42)); assert_eq!(b.recv().unwrap(), 42);
    assert_eq!(Command::new("echo").arg("hi").output()?.stdout, b"hi\\n");
    if std::env::var("ALONE").is_err() { let l = TcpListener::bind("127.0.0.1:0")?; let mut c = TcpStream::connect(l.local_addr()?)?; let (mut s, _) = l.accept()?; s.write_all(b"x")?; drop(s);
    let mut v = vec![]; c.read_to_end(&mut v)?; }
    thread::sleep(Duration::from_millis(1)); fs::write("f", "x")?; fs::copy("f", "g")?; fs::rename("g", "h")?;
    let mut i = fs::File::open("f")?; let mut o = fs::File::create("i")?; io::copy(&mut i, &mut o)?; o.sync_all()?; fs::create_dir_all("a/b")?; fs::remove_dir_all("a")?;
    thread::available_parallelism()?; let m = std::collections::HashMap::<u8, u8>::new(); println!("{}", m.len()); Command::new("true").spawn()?.wait()?; Ok(())
}
.
cargo build -q --offline; ./target/debug/r >/dev/null; cargo test -q --offline >/dev/null
""", True)

# ------------------------------------------------------------- databases

add("database", "sqlite", "sqlite3", (), """
sqlite3 a.db 'pragma journal_mode=wal; create table t(x); insert into t values(1),(2); select sum(x) from t; vacuum; pragma mmap_size=1000000; select * from t' >/dev/null; sqlite3 a.db '.backup b.db'; sqlite3 b.db 'pragma integrity_check' >/dev/null
""")
add("database", "postgresql", "/usr/lib/postgresql/*/bin/initdb", SERVER, """
export LC_ALL=C HOME=/tmp; PATH=$(echo /usr/lib/postgresql/*/bin):$PATH; initdb -D d -U box -A trust >/dev/null; pg_ctl -D d -w -o '-k /tmp' -l log start >/dev/null || { cat log; exit 1; }
createdb -h /tmp -U box x; psql -q -h /tmp -U box x -c 'create table t as select generate_series(1, 20000) i' -c 'create index on t(i)' -c 'select sum(i) from t' -c 'vacuum analyze t' -c checkpoint >/dev/null
psql -q -h 127.0.0.1 -U box x -c "copy t to '/tmp/t.csv'" -c 'set max_parallel_workers_per_gather=2; set parallel_setup_cost=0; set parallel_tuple_cost=0; set min_parallel_table_scan_size=0; select count(*) from t' >/dev/null
pg_dump -h /tmp -U box x >dump; pgbench -h /tmp -U box -i -q x >/dev/null 2>&1; pgbench -h /tmp -U box -c 2 -t 20 x >/dev/null 2>&1; pg_ctl -D d -w stop >/dev/null
""", True, SOCKETS)
add("database", "redis", "redis-server redis-cli", SERVER, """
redis-server --port 6399 --unixsocket /tmp/r.sock --appendonly yes --daemonize yes --io-threads 2 >/dev/null; for i in 1 2 3 4 5 6 7 8 9; do redis-cli -p 6399 ping >/dev/null 2>&1 && break; sleep 0.2; done
redis-cli -p 6399 set a b >/dev/null; redis-cli -s /tmp/r.sock get a >/dev/null; redis-cli -p 6399 bgsave >/dev/null; redis-cli -p 6399 bgrewriteaof >/dev/null; sleep 0.5; redis-benchmark -p 6399 -q -n 500 -t set,get >/dev/null; redis-cli -p 6399 shutdown >/dev/null
""", False, SOCKETS)
add("database", "mariadb", "/usr/sbin/mariadbd mariadb-install-db", SERVER, """
mariadb-install-db --no-defaults --datadir=/tmp/d --auth-root-authentication-method=normal >/dev/null 2>&1; /usr/sbin/mariadbd --no-defaults --datadir=/tmp/d --socket=/tmp/m.sock --pid-file=/tmp/m.pid --port 3399 >log 2>&1 &
for i in $(seq 60); do mariadb-admin --no-defaults -u root -S /tmp/m.sock ping >/dev/null 2>&1 && break; sleep 0.5; kill -0 $! || { tail -5 log; exit 1; }; done
mariadb --no-defaults -u root -S /tmp/m.sock -e 'create database x; use x; create table t(i int) engine=innodb; insert into t values(1); select * from t' >/dev/null; mariadb-admin --no-defaults -u root -S /tmp/m.sock shutdown; wait
""", True, SOCKETS)

# ------------------------------------------------------------- browsers

add("browser", "chromium --no-sandbox", "/usr/lib/chromium/chromium", (*SERVER, "--pids", "512"), """
echo '<p id=a></p><script>a.textContent = 6 * 7; new Worker(URL.createObjectURL(new Blob(["postMessage(1)"])))</script>' >p.html
HOME=/tmp /usr/lib/chromium/chromium --headless --no-sandbox --disable-gpu --dump-dom file:///tmp/p.html 2>log | grep -q '>42<' || { tail -5 log; exit 1; }
HOME=/tmp /usr/lib/chromium/chromium --headless --no-sandbox --disable-gpu --screenshot=/tmp/p.png file:///tmp/p.html 2>log; test -s p.png
""", False, SOCKETS)
add("browser", "firefox --headless", "firefox-esr", (*SERVER, "--pids", "512"), """
echo '<p>6 * 7</p>' >p.html; mkdir prof; echo 'user_pref("browser.shell.checkDefaultBrowser", false);' >prof/user.js
HOME=/tmp MOZ_DISABLE_CONTENT_SANDBOX=1 timeout 100 firefox-esr --headless --profile /tmp/prof --screenshot /tmp/p.png file:///tmp/p.html >log 2>&1 || true; test -s p.png || { tail -5 log; exit 1; }
""", True, SOCKETS)

# ------------------------------------------------------------- tools

add("tool", "git", "git", ("--profile", "git"), """
export EMAIL=a@b; git init -q r; cd r; seq 5000 >f; git add f; git commit -qm one; git branch b; seq 5001 >f; git commit -qam two; git gc -q; git fsck 2>/dev/null; git checkout -q b; git merge -q master 2>/dev/null || git merge -q main
git log -p --stat | head -5 >/dev/null; git clone -q --no-local . ../c; git -C ../c fetch -q; git stash list; git grep -q 99; git worktree add -q ../w; git archive HEAD | tar t >/dev/null; git bundle create -q ../b HEAD; git blame f >/dev/null; git rebase -q HEAD; git status -s
""")
add("tool", "tar, gzip, xz, zstd, zip", "tar gzip xz zstd unzip zip", (), """
mkdir d; seq 1000 >d/f; ln -s f d/l; ln d/f d/h; [ "$ALONE" ] || mkfifo d/p; for z in gzip bzip2 "xz -T2" zstd; do tar -c --xattrs --use-compress-program "$z" -f t d; mkdir -p o; tar -xpf t --use-compress-program "$z" -C o; done
zip -qr z.zip d/f; unzip -qo z.zip -d u; xz -k d/f; xz -dc d/f.xz | cmp - d/f; zstd -q -T2 d/h -o y.zst -f; gzip -9kf d/f
""")
add("tool", "rsync", "rsync", (), "mkdir a; seq 1000 >a/f; ln -s f a/l; rsync -aHAX a/ b/; echo x >>a/f; rsync -a --delete --checksum a/ b/; cmp a/f b/f; touch -d @1 a/f; rsync -at --inplace a/ b/")
add("tool", "curl", "curl python3", (), "echo hi >f; python3 -m http.server 8099 --bind 127.0.0.1 >/dev/null 2>&1 & for i in $(seq 50); do curl -sf http://127.0.0.1:8099/f >o && break; sleep 0.1; done; cmp f o; curl -sZ http://localhost:8099/f http://localhost:8099/f >/dev/null; curl -s file:///tmp/f >/dev/null; curl -sS -m 2 http://no.such.host/ 2>/dev/null || true; wget -qO- http://127.0.0.1:8099/f >/dev/null || true; kill %1", not_in_strict=SOCKETS)
add("tool", "ssh-keygen", "ssh-keygen", (), "ssh-keygen -q -t ed25519 -N '' -f k; ssh-keygen -y -f k >/dev/null; echo x >m; ssh-keygen -q -Y sign -n file -f k m 2>/dev/null; ssh -V 2>/dev/null")
add("tool", "openssl", "openssl", (), "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=a -keyout k -out c 2>/dev/null; openssl s_server -accept 8098 -cert c -key k -www >/dev/null 2>&1 & for i in $(seq 50); do echo Q | openssl s_client -connect 127.0.0.1:8098 >/dev/null 2>&1 && break; sleep 0.1; done; kill %1; openssl dgst -sha256 c >/dev/null; openssl speed -seconds 1 -bytes 64 sha256 >/dev/null 2>&1; openssl enc -aes-256-cbc -pbkdf2 -k x -in c -out e", True, SOCKETS)
add("tool", "gpg", "gpg", ("--unix", "on"), "export GNUPGHOME=/tmp/g; mkdir -m 700 g; gpg -q --batch --passphrase '' --quick-gen-key a@b default default 2>/dev/null; echo x | gpg -q --batch -se -r a@b | gpg -q --batch -d 2>/dev/null; gpgconf --kill all", True, SOCKETS)
add("tool", "ffmpeg", "ffmpeg", ROOMY, "ffmpeg -loglevel error -f lavfi -i testsrc=d=0.2:s=64x64 -f lavfi -i sine=d=0.2 -threads 2 -y o.mkv; ffmpeg -loglevel error -i o.mkv -f null - ; ffprobe -loglevel error o.mkv", True)
add("tool", "jq, sed, awk, grep", "jq sed awk grep", (), "echo '{\"a\":[1,2]}' | jq -e '.a|add==3' >/dev/null; seq 100 >f; sed -i s/1/2/ f; awk '{s+=$1} END {print s > \"o\"}' f; grep -c 2 f >/dev/null; grep -r --include=f 2 . >/dev/null; rg -q 2 f || true; sed -n 5p f >/dev/null; awk 'BEGIN { \"date\" | getline d; system(\"true\") }'")
add("tool", "coreutils, findutils", "find xargs sort cp", (), """
seq 50000 >f; sort -R f | sort -n --parallel=2 -S 1M >g; cp -a f h; cp --reflink=auto f i; cp --sparse=always f s; mv i j; ln j k; ln -s j l; install -m 755 f n; dd if=f of=d bs=4k conv=fsync status=none; dd if=f of=d2 oflag=direct,sync bs=4k status=none 2>/dev/null || true; truncate -s 1M t; shred -n1 -u t; split -l 9999 f x; cat x* | cmp - f
find . -newer f -exec true {} + ; find / -maxdepth 2 >/dev/null; ls -lZa --color / >/dev/null; stat -f . >/dev/null; df >/dev/null; du -s . >/dev/null; tail -n1 f >/dev/null; timeout 1 tail -f f --pid=$$ >/dev/null & sleep 0.1; touch -d @5 f; [ "$ALONE" ] || { chown $(id -u) f; nice -n 1 true; mkfifo p; }; chmod 600 f; timeout 1 true; nohup true >/dev/null 2>&1; mktemp >/dev/null; sync f; tee <f o >/dev/null; wc f >/dev/null; nproc >/dev/null; uname -a >/dev/null; date >/dev/null; stdbuf -o0 true; env true; seq 9 | xargs -P2 -n1 true; cat f >/dev/null; numfmt 1 >/dev/null; id >/dev/null; tac f >/dev/null; sha256sum f >/dev/null; rm -rf x*; sync; who >/dev/null; uptime >/dev/null || true; tty >/dev/null || true; pathchk x; realpath . >/dev/null
""")
add("tool", "util-linux, procps", "taskset flock ps", (), """
flock f true; taskset -c 0 true || taskset 1 true; chrt -p $$ >/dev/null; chrt -b 0 true; chrt -i 0 true; ionice -c 3 true; ionice >/dev/null; setarch -R true; setsid true; nice true; prlimit >/dev/null; ps aux >/dev/null; pgrep bash >/dev/null; top -bn1 >/dev/null; free >/dev/null; pidof bash >/dev/null || true; kill -0 $$; findmnt >/dev/null; getopt -o a -- -a >/dev/null; script -qc true /dev/null >/dev/null || true; more f >/dev/null; fallocate -l 4096 a; fallocate -p -l 4096 a; hexdump -C a >/dev/null; renice 5 $$ >/dev/null; mountpoint / >/dev/null || true; setpriv --no-new-privs true; column f; rename x y z 2>/dev/null || true; pmap $$ >/dev/null; lsns >/dev/null; ip addr >/dev/null || true; ss -t >/dev/null 2>&1 || true
""", not_in_strict="schedulers, personalities, owners")
add("tool", "tmux", "tmux", ("--unix", "on", "--env", "TERM=screen"), "export LC_ALL=C.UTF-8; tmux -S /tmp/s -f /dev/null new -d 'cat'; tmux -S /tmp/s send -l hi; tmux -S /tmp/s send Enter; sleep 0.5; tmux -S /tmp/s capture-pane -p | grep -q hi; tmux -S /tmp/s kill-server", not_in_strict=SOCKETS)
add("tool", "vim, less, man", "vim less man", ("--env", "TERM=xterm"), "seq 100 >f; vim -es -u NONE -c '%s/1/2/' -c wq f </dev/null || true; less -F f >/dev/null; man ls 2>/dev/null | head -1 >/dev/null || true; file f >/dev/null; diff f /dev/null | patch -s -R -p0 f -o o >/dev/null 2>&1 || true; bc <<<1+1 >/dev/null")
add("tool", "nginx", "/usr/sbin/nginx curl", SERVER, """
mkdir -p l; echo hi >f; printf 'daemon on; worker_processes 2; error_log /tmp/err; pid /tmp/pid; events {} http { sendfile on; aio threads; access_log off; client_body_temp_path /tmp/l; proxy_temp_path /tmp/l; fastcgi_temp_path /tmp/l; uwsgi_temp_path /tmp/l; scgi_temp_path /tmp/l; server { listen 127.0.0.1:8097; root /tmp; location /p/ { proxy_pass http://127.0.0.1:8097/; } } }' >c
/usr/sbin/nginx -e /tmp/err -c /tmp/c 2>/dev/null; curl -sf http://127.0.0.1:8097/p/f | cmp - f; kill -HUP $(cat pid); sleep 0.3; curl -sf http://127.0.0.1:8097/f | cmp - f; /usr/sbin/nginx -e /tmp/err -c /tmp/c -s quit 2>/dev/null
""", not_in_strict=SOCKETS)
add("tool", "fakeroot, dpkg-deb", "fakeroot dpkg-deb", (), "mkdir -p p/DEBIAN p/usr/share; printf 'Package: p\\nVersion: 1\\nArchitecture: all\\nMaintainer: a <a@b>\\nDescription: d\\n' >p/DEBIAN/control; fakeroot sh -c 'chown root:root p/usr; dpkg-deb -b p' >/dev/null; dpkg-deb -c p.deb >/dev/null; dpkg-deb -x p.deb o", not_in_strict="System V queues")
add("tool", "pytest", "python:pytest", (), "echo 'def test_a(tmp_path): assert (tmp_path / \"x\").write_text(\"y\")' >test_a.py; python3 -m pytest -q test_a.py >/dev/null")
add("tool", "pip, venv", "python:venv python:ensurepip", ROOMY, "mkdir q; echo 'from setuptools import setup; setup(name=\"q\", version=\"1\")' >q/setup.py; python3 -m venv v; v/bin/pip --no-input list >/dev/null 2>&1; v/bin/python -c 'import sys; assert sys.prefix == \"/tmp/v\"'", True)
add("tool", "socat", "socat", ("--unix", "on"), "socat -u OPEN:/etc/passwd CREATE:/tmp/o; socat TCP-LISTEN:8096,bind=127.0.0.1,fork EXEC:cat & for i in $(seq 50); do echo hi | socat -t1 - TCP:127.0.0.1:8096 2>/dev/null | grep -q hi && break; sleep 0.1; done; socat UNIX-LISTEN:/tmp/u,fork EXEC:cat & for i in $(seq 50); do echo hi | socat -t1 - UNIX:/tmp/u 2>/dev/null | grep -q hi && break; sleep 0.1; done; socat -u UDP-RECV:8095 - & kill %1 %2 %3", not_in_strict=SOCKETS)
