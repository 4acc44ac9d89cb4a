// What the client promises, against a server: node live.mjs FOLDER-OF-THE-BUILT-PACKAGE, or imported by a page, which calls check().
const is = (left, right, what) => {
  if (JSON.stringify(left) !== JSON.stringify(right)) throw new Error(`${what}: ${JSON.stringify(left)}, not ${JSON.stringify(right)}`);
};
const text = (bytes) => new TextDecoder().decode(bytes);
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function fails(promise, Kind, more = () => true) {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Kind && more(error)) return error;
    throw error;
  }
  throw new Error(`it should have failed with ${Kind.name}`);
}

/** All that a generator gives, and what it returns. */
async function through(generator) {
  const given = [];
  for (;;) {
    const next = await generator.next();
    if (next.done) return [given, next.value];
    given.push(next.value);
  }
}

async function runs({ run, runStream, CommandError }, options) {
  const one = await run({ ...options, code: "print(6 * 7)", language: "python" });
  is([one.stdout, one.ok, one.exitCode, one.status], ["42\n", true, 0, "ok"], "run");
  is((await run({ ...options, argv: ["cat"], stdin: new Uint8Array([0, 255]) })).stdoutBytes, new Uint8Array([0, 255]), "bytes");
  is((await run({ ...options, command: "cat /code/a $B; pwd", files: { a: "x" }, env: { B: "/code/a" }, cwd: "/tmp" })).stdout, "xx/tmp\n", "files");
  is((await run({ ...options, argv: "echo a line" })).stdout, "a line\n", "a line");
  const bad = await run({ ...options, command: "echo no >&2; exit 3" });
  is([bad.exitCode, bad.stderr, bad.ok], [3, "no\n", false], "a failure is a result");
  await fails((async () => bad.check())(), CommandError, (error) => error.result === bad);
  is((await run({ ...options, command: "sleep 100", timeoutMs: 1000 })).status, "timeout", "time");
  const heard = [];
  const told = await run({ ...options, command: "echo grüße; echo b >&2", onStdout: (said) => void heard.push(said), onStderr: (said) => void heard.push(said) });
  is([heard.sort().join(""), told.stdout], ["b\ngrüße\n", "grüße\n"], "streams");
  const [events, result] = await through(runStream({ ...options, command: "echo x; sleep 0.1; echo y" }));
  is([events.map((event) => event.text).join(""), result.status], ["x\ny\n", "ok"], "a generator");
  const made = await run({ ...options, command: "echo x > a.txt; printf '\\377' > b.bin", outputs: ["*.txt", "b.bin"] });
  is([text(made.files["a.txt"]), [...made.files["b.bin"]], Object.keys(made.files).length], ["x\n", [255], 2], "outputs");
}

async function files({ Files, NotFound, Refused }, box) {
  is(box.files instanceof Files, true, "its class");
  await box.files.write("/tmp/a/ä b.txt", "hällo\nwelt");
  await box.files.write([{ path: "/tmp/a/c", data: new Uint8Array([1, 0, 255]) }]);
  is(await box.files.read("/tmp/a/ä b.txt"), "hällo\nwelt", "a file");
  is(await box.files.read("/tmp/a/c", { format: "bytes" }), new Uint8Array([1, 0, 255]), "its bytes");
  is((await box.files.read("/tmp/a/c", { format: "blob" })).size, 3, "a blob");
  const written = await box.files.writeFiles({ "/tmp/m/x.py": "def f(): pass\n", "/tmp/m/ü \"q\"": new Blob(["\0".repeat(70000)]), "/tmp/m/b": new ArrayBuffer(2) });
  is(written.map((row) => row.size), [14, 70000, 2], "several");
  is((await box.files.list("/tmp/a")).map((file) => file.name).sort(), ["c", "ä b.txt"], "a folder");
  is([await box.files.exists("/tmp/a/c"), await box.files.exists("/tmp/zz")], [true, false], "exists");
  await box.files.makeDir("/tmp/d/e");
  await box.files.rename("/tmp/a/c", "/tmp/d/e/f");
  await box.files.move("/tmp/d/e/f", "/tmp/d/e/g");
  const info = await box.files.getInfo("/tmp/d/e/g");
  is([info.size, info.modifiedMs > 1e12, (await box.files.stat("/tmp/d/e")).type], [3, true, "folder"], "stat");
  is(await box.files.search("/tmp/a", { content: "welt" }), [{ path: "/tmp/a/ä b.txt", type: null, size: null, line: 2, text: "welt" }], "search");
  is((await box.files.search("/tmp/m", { name: "*.py", limit: 5 })).map((row) => row.path), ["/tmp/m/x.py"], "search by name");
  await box.files.writeArchive("/tmp/copy", await box.files.readArchive("/tmp/d"));
  is((await box.files.stat("/tmp/copy/e/g")).size, 3, "an archive");
  await box.files.remove("/tmp/d");
  is(await box.files.exists("/tmp/d"), false, "remove");
  const large = new Uint8Array(3_000_000).fill(7);
  await box.files.write("/tmp/large", large);
  let bytes = 0;
  for await (const part of await box.files.read("/tmp/large", { format: "stream" })) bytes += part.length;
  for await (const part of box.files.readStream("/tmp/large")) bytes += part.length;
  is(bytes, 2 * large.length, "a stream");
  for await (const part of box.files.readStream("/tmp/large")) {
    is(part.length > 0, true, "the first piece is enough");
    break;
  }
  await fails(through(box.files.readStream("/tmp/zz")), NotFound, (error) => error.where === "path" && error.requestId !== "" && error.remedy !== null);
  await fails(box.files.write("/etc/zz", "x"), Refused);
}

async function watching(ringfort, box) {
  await box.files.makeDir("/tmp/w");
  const ends = new AbortController();
  const seen = [];
  const handle = await box.files.watchDir("/tmp/w", (event) => void seen.push(event), { intervalMs: 100 });
  await box.files.write("/tmp/w/new", "x");
  while (!seen.length) await later(50);
  is([seen[0].kind, seen[0].path.endsWith("new"), seen[0].type], ["created", true, "file"], "watchDir");
  await handle.stop();
  const busy = await box.commands.start("while :; do date >> /tmp/w/other; sleep 0.2; done");
  for await (const event of box.files.watch("/tmp/w", { intervalMs: 100, depth: 3 })) {
    is([["created", "modified"].includes(event.kind), event.path.endsWith("other")], [true, true], "watch");
    break;
  }
  await busy.kill();
  const quiet = box.files.watch("/tmp/w", { signal: ends.signal });
  setTimeout(() => ends.abort(), 300);
  await fails(through(quiet), Error, (error) => error.name === "AbortError");
}

async function programs({ Conflict, NotFound, Program }, box) {
  is((await box.commands.run("echo $WHO; pwd", { cwd: "/tmp" })).stdout, "me\n/tmp\n", "commands");
  is((await box.commands.run(["cat"], { stdin: "in" })).stdout, "in", "input");
  is([(await box.runCode("print(1 + 1)")).stdout, (await box.run("echo $A", { language: "bash", envs: { A: "b" } })).stdout], ["2\n", "b\n"], "code");
  const [events, last] = await through(box.commands.stream("echo a; sleep 0.2; echo b >&2; exit 4"));
  is([events.map((event) => [event.stream, event.text]), last.exitCode, last.stderr], [[["stdout", "a\n"], ["stderr", "b\n"]], 4, "b\n"], "a stream");
  const program = await box.commands.run('while read -r line; do echo "got $line"; done; exit 4', { background: true });
  is(program instanceof Program, true, "in the background");
  await program.write("one\n");
  let out = "";
  while (!out.includes("got one")) out += (await program.read(5)).map((event) => event.text).join("");
  is((await box.commands.list()).filter((row) => row.number === program.pid).length, 1, "it runs");
  is(await program.result(), null, "no result yet");
  await box.commands.sendStdin(program.number, "two\n");
  await program.write("", true);
  const heard = [];
  const done = await program.wait({ onStdout: (said) => void heard.push(said) });
  is([done.exitCode, done.stdout, heard.join("")], [4, "got one\ngot two\n", "got two\n"], "its end");
  let again = "";
  for await (const event of await box.commands.connect(program.pid)) again += event.text;
  is(again, "got one\ngot two\n", "once more from the beginning");
  is((await box.commands.list()).filter((row) => row.number === program.pid).length, 0, "it has ended");
  await fails(program.kill(), Conflict);
  await fails(box.commands.connect(9999), NotFound);
  const sleeper = await box.commands.start("sleep 1000");
  is([await box.commands.kill(sleeper.number), (await sleeper.wait()).signal, await box.commands.kill(sleeper.number)], [true, 9, false], "kill");
}

async function terminals({ InvalidRequest, NotFound, ServerError, Terminal }, box) {
  const terminal = await box.pty.create({ rows: 30, cols: 100, envs: { PS1: "ready> " } });
  is(terminal instanceof Terminal, true, "its class");
  let seen = "";
  const until = async (from, ...wanted) => {
    while (!wanted.every((one) => seen.includes(one))) {
      const piece = await from.read(30);
      if (!piece.length) throw new Error(`nothing more: ${seen}`);
      seen += text(piece);
    }
  };
  await terminal.write("stty size; tty; echo $((6 * 7))\n");
  await until(terminal, "30 100", "/dev/pts/", "42");
  is((await terminal.read(0.05)).length >= 0, true, "nothing in time");
  await terminal.resize(50, 120);
  await terminal.sendStdin(new TextEncoder().encode("stty size\n"));
  await until(terminal, "50 120");
  await box.pty.resize(terminal.pid, { rows: 20, cols: 90 });
  await box.pty.sendInput(terminal.pid, "stty size\n");
  await until(terminal, "20 90");
  const taken = await box.pty.connect(terminal.number);
  is([taken.number, taken.lost], [terminal.number, 0], "reattach");
  await fails(terminal.wait(), ServerError, (error) => error.message.includes("4001"));
  await taken.close();
  await fails(taken.write("x"), ServerError);
  const same = await box.pty.connect(terminal.number);
  await same.write("exit 7\n");
  seen = "";
  is((await same.wait((data) => void (seen += text(data)))).exitCode, 7, "its end");
  is([seen.includes("20 90"), same.result.exitCode, await box.pty.kill(same.pid)], [true, 7, false], "what it wrote last is read first");
  const heard = [];
  const much = await box.pty.create(["sh", "-c", "yes | head -c 3000000 | tr -d '\\n'"], { onData: (data) => void heard.push(data.length) });
  is([(await much.wait()).ok, heard.reduce((sum, size) => sum + size, 0)], [true, 1500000], "onData");
  let all = 0;
  const short = await box.pty.create("yes | head -c 300000 | tr -d '\\n'");
  for await (const data of short) all += data.length;
  is([all, short.result.ok], [150000, true], "going through it");
  const endless = await box.pty.create(["sleep", "1000"]);
  is([await box.pty.kill(endless.number), (await endless.wait()).signal], [true, 9], "kill");
  await endless[Symbol.asyncDispose]();
  await fails(box.pty.connect(9999), NotFound);
  await fails(box.pty.sendStdin(9999, "x"), NotFound);
  await fails(box.pty.create("true", { rows: -1 }), InvalidRequest);
}

// Answers 302 with what it is asked with as Location.
const REDIRECTS = `
import http.server, urllib.parse
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        place = urllib.parse.unquote(self.path.partition("?")[2])
        self.send_response(302 if place else 200)
        if place:
            self.send_header("Location", place)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    do_POST = do_GET
http.server.ThreadingHTTPServer(("127.0.0.1", 8002), Handler).serve_forever()
`;

/** A program that sends who asks elsewhere gets its key nowhere: tests look at what `elsewhere` was asked. */
async function redirects({ InvalidRequest }, box, others) {
  const program = await box.commands.start(["python3", "-c", REDIRECTS]);
  const send = (place, options) => box.request(8002, `/?${encodeURIComponent(place)}`, options);
  while ((await box.request(8002, "/")).status === 502) await later(100);
  if (others.none) {
    const beside = new URL(box.getUrl(1)).origin;
    for (const place of [others.elsewhere, others.elsewhere.replace(/^http:/, ""), `${beside}/v1/sandboxes`, "../../../../sandboxes", "/\\evil.example"]) {
      for (const method of ["GET", "POST"]) {
        const answer = await send(place, { method });
        is([answer.status, answer.headers.get("location"), answer.headers.get("x-ringfort-location")], [302, null, place], `elsewhere: ${place}`);
      }
    }
  }
  const own = await send("/done");
  is([own.status, await own.text()], [others.page ? 200 : 302, "ok"], "a place of the port's own");
  await fails(box.request(8002, "/../../../../sandboxes"), InvalidRequest);
  await fails(box.request(8002, "/%2e%2e/%2e%2e/x"), InvalidRequest);
  await fails(box.webSocket(8002, "/../x"), InvalidRequest);
  await program.kill();
}

async function ports({ NotFound, PortSocket, Sandbox }, box, options, others) {
  await box.files.write("/tmp/echo.py", others.echo);
  await box.files.write("/tmp/page.txt", "served");
  const served = await box.commands.start(["python3", "-m", "http.server", "8000", "--bind", "127.0.0.1", "--directory", "/tmp"]);
  const echo = await box.commands.start(["python3", "/tmp/echo.py"]);
  is(box.getUrl(8000, "x").endsWith(`/v1/sandboxes/${box.id}/ports/8000/x`), true, "getUrl");
  is(box.getHost(8000), box.getUrl(8000).split("//")[1].replace(/\/$/, ""), "getHost");
  let answer = await box.request(8000, "/page.txt");
  for (; answer.status === 502; answer = await box.request(8000, "/page.txt")) await later(100);
  is([answer.status, await answer.text(), answer.headers.get("content-length")], [200, "served", "6"], "a page of it");
  is((await box.request(8000, "page.txt", { method: "HEAD", headers: { Authorization: "of the program's own" } })).status, 200, "another method");
  is((await box.request(8000, "/", { method: "POST", body: "x" })).status, 501, "its own answer");
  is((await box.request(8000, "/none")).status, 404, "what it does not have");
  const connected = async () => {
    for (;;) {
      const socket = await box.webSocket(8001, "/x", ["chat", "other"]).catch((error) => error);
      if (socket instanceof PortSocket) return socket;
      await later(100);
    }
  };
  const socket = await connected();
  is([socket.protocol, socket.closed], ["chat", null], "a WebSocket");
  await socket.send("grüße");
  is(await socket.receive(), "grüße", "text");
  for (const size of [0, 125, 126, 65535, 65536, 1_000_000]) {
    const bytes = new Uint8Array(size).fill(size & 255);
    await socket.send(bytes);
    const back = await socket.receive(30);
    is([back.length, back.every((byte) => byte === (size & 255))], [size, true], "bytes");
  }
  is(await socket.receive(0.05), null, "nothing in time");
  await socket.close();
  is([await socket.receive(), socket.closed], [null, 1000], "closed");
  await fails((await Sandbox.connect(box.id, options)).webSocket(1), Error);
  await served.kill();
  await echo.kill();
}

async function workspaces({ Conflict, NotFound, RingfortError, Sandbox, Workspaces }, box, options, others) {
  const site = await Sandbox.create({ ...options, timeout: 200, workspace: true });
  await site.files.write("/work/a", "one\n");
  const first = await site.checkpoint("first");
  is(first.name, "first", "a checkpoint");
  await site.files.write("/work/a", "two\n");
  is([(await site.diff("first")).includes("+two"), (await site.diff(first.number)).includes("-one")], [true, true], "a diff");
  is((await site.undo("first")).number, first.number, "undo");
  is(await site.files.read("/work/a"), "one\n", "undone");
  is((await site.checkpoints()).map((one) => one.name), ["first"], "checkpoints");
  const name = `fork-${others.page ? "page" : "node"}-${Date.now()}`;
  const fork = await site.fork(name);
  is([fork.name, fork.named, fork.inUse, fork.origin], [name, true, false, (await site.info()).workspace], "fork");
  const other = await Sandbox.create({ ...options, timeout: 200, workspace: name });
  is((await other.commands.run("cat a")).stdout, "one\n", "its files");
  await applying({ Conflict }, site, other);
  const places = new Workspaces(options);
  is((await places.get(name)).inUse, true, "a workspace");
  await fails(places.delete(name), Conflict);
  await other.kill();
  await site.kill();
  await places.delete(name);
  await fails(places.get(name), NotFound);
  is([(await places.create(name)).origin, (await places.list()).filter((one) => one.name === name).length], [null, 1], "workspaces");
  await byName({ Conflict, NotFound, Sandbox, Workspaces }, places, name, options, others);
  await places.delete(name);
  await places.close();
  await fails(box.checkpoint(), RingfortError);
}

/** What a sandbox does with its workspace, without one. */
async function byName({ Conflict, NotFound, Sandbox, Workspaces }, places, name, options, { other }) {
  const box = await Sandbox.create({ ...options, timeout: 200, workspace: name });
  const first = await places.checkpoint(name);
  await box.commands.run("echo one > f");
  const second = await places.checkpoint(name, "second");
  is((await places.checkpoints(name)).map((one) => one.name), [first.name, "second"], "checkpoints by name");
  is([(await places.diff(name, first.number, "second")).includes("+one"), await places.diff(name, "second")], [true, ""], "a diff by name");
  const fork = await places.fork(name, `${name}-2`);
  is(fork.origin, name, "a fork by name");
  const inside = await Sandbox.create({ ...options, timeout: 200, workspace: fork.name });
  await inside.commands.run("echo two > f");
  is((await places.apply(fork.name, { dryRun: true })).changes, { f: "modified" }, "a dry run by name");
  await box.commands.run("echo three > f");
  is((await fails(places.apply(fork.name), Conflict)).conflicts, ["f"], "conflicts by name");
  const done = await places.apply(fork.name, { conflicts: "fork" });
  is([done.origin, (await box.commands.run("cat f")).stdout], [name, "two\n"], "apply by name");
  is([(await places.undo(name, done.checkpoint)).number, (await box.commands.run("cat f")).stdout], [done.checkpoint, "three\n"], "undo by name");
  await places.deleteCheckpoint(name, first.number);
  await box.deleteCheckpoint(second.number);
  is((await box.checkpoints()).map((one) => one.number), [done.checkpoint], "checkpoints that are gone");
  await fails(places.deleteCheckpoint(name, first.number), NotFound);
  await inside.kill();
  await box.kill();
  await places.delete(fork.name);
  await fails(places.checkpoints(fork.name), NotFound);
  if (!other) return;
  const others = new Workspaces({ ...options, key: other });
  for (const ask of [
    () => others.checkpoint(name),
    () => others.checkpoints(name),
    () => others.deleteCheckpoint(name, done.checkpoint),
    () => others.undo(name, done.checkpoint),
    () => others.diff(name, done.checkpoint),
    () => others.fork(name, "mine"),
    () => others.apply(name),
  ])
    await fails(ask(), NotFound); // they are another tenant's
}

async function applying({ Conflict }, origin, fork) {
  await fork.commands.run("echo F > a; echo new > n; mkdir -p .git/hooks; echo x > .git/hooks/pre-push");
  const told = await fork.apply({ dryRun: true });
  is([told.dryRun, told.checkpoint, told.changes.a, told.changes.n, told.protected], [true, null, "modified", "added", { ".git/hooks/pre-push": "git hook" }], "a dry run");
  await fork.commands.run("rm -r .git");
  await origin.commands.run("echo O > a");
  is((await fails(fork.apply(), Conflict)).conflicts, ["a"], "conflicts");
  const done = await fork.apply({ conflicts: "fork" });
  is([done.added, done.modified, done.deleted, done.conflicts, done.checkpoint > 0], [1, 1, 0, ["a"], true], "apply");
  is((await origin.commands.run("cat a n")).stdout, "F\nnew\n", "applied");
  is((await fails(origin.apply(), Conflict)).conflicts, [], "what is no fork");
}

async function agents(ringfort, options, others) {
  const { Agent, Conflict, NotFound, run, runStream, Sandbox, Workspaces } = ringfort;
  const name = `agent-${others.page ? "page" : "node"}-${Date.now()}`;
  const agent = await Agent.create(name, { ...options, description: "a test", labels: { a: name }, timeout: 60, limits: { memory: "64M" } });
  const info = await agent.info();
  is([info.name, info.description, info.workspace, info.running, info.policy.limits.memory], [name, "a test", name, [], "64M"], "an agent");
  is((await Agent.list({ ...options, labels: { a: name } })).map((one) => one.name), [name], "agents");
  is(await Agent.list({ ...options, labels: { a: name, c: "d" } }), [], "none of them");
  await run({ ...options, command: "echo x > here", agent: name });
  is((await through(runStream({ ...options, command: "cat here", agent: name })))[1].stdout, "x\n", "its workspace");
  const box = await Sandbox.create({ ...options, agent: name, timeout: 30 });
  is([(await box.info()).agent, (await box.commands.run("cat here")).stdout], [name, "x\n"], "a sandbox of it");
  await fails(agent.delete(), Conflict);
  await box.kill();
  await breakers(ringfort, options, others, name);
  const another = await agent.replace({ description: "another", limits: { memory: "32M" } });
  is([another.name, another.description, another.labels, another.workspace, another.policy.limits.memory], [name, "another", {}, name, "32M"], "replace");
  is([(await agent.info()).description, (await run({ ...options, command: "cat here", agent: name })).stdout], ["another", "x\n"], "it keeps its files");
  const again = await Agent.connect(name, options);
  await again.delete({ keepWorkspace: true });
  await fails(Agent.connect(name, options), NotFound);
  await fails(agent.replace(), NotFound);
  await agent[Symbol.asyncDispose]();
  await (await Agent.create(name, { ...options, workspace: name })).delete();
  await new Workspaces(options).delete(name); // which was there before
}

async function breakers({ Breakers, NotAuthorized, NotFound, run }, options, { other }, name) {
  const all = new Breakers(options);
  if (other) {
    const others = new Breakers({ ...options, key: other });
    is(await others.list(), [], "they are another tenant's");
    await fails(others.trip(name), NotAuthorized);
  }
  is((await all.trip(name, { reason: "enough", seconds: 600 })).state, "open", "trip");
  const [row] = (await all.list()).filter((one) => one.name === name);
  is([row.state, row.reason.includes("enough"), row.retryMs > 0], ["open", true, true], "breakers");
  is((await run({ ...options, command: "true", agent: name })).status, "denied", "it is open");
  is([(await all.reset(name)).state, (await run({ ...options, command: "true", agent: name })).ok], ["closed", true], "reset");
  await fails(all.reset("nobody"), NotFound);
}

async function firstOf(events) {
  for await (const event of events) return event;
}

/** With a key whose writes wait, and one that decides. */
async function approvals({ Approvals, Audit, Conflict, InvalidRequest, NotAuthorized, NotFound, Sandbox }, options, { admin, net: key, netPort }) {
  const decides = new Approvals({ ...options, key: admin });
  const audit = new Audit({ ...options, key });
  const one = await Sandbox.create({ ...options, key, policy: { network: { allow: ["plain.test:*"], writes: "hold" } } });
  const { cursor } = await audit.page({ limit: 1000 });
  for (let times = 0; times < 2; times++) await one.commands.run(`curl -s -d text http://plain.test:${netPort}/x`);
  const [first, second] = await decides.list(one.id);
  is([first.method, first.url.endsWith("/x"), first.state, first.sandbox, first.head, first.body], ["POST", true, "waiting", one.id, null, null], "it waits");
  const whole = await decides.get(first.id);
  is([whole.head.startsWith("POST /x HTTP/1.1"), text(whole.body), whole.isCut], [true, "text", false], "all of it");
  await fails(new Approvals({ ...options, key }).approve(first.id), NotAuthorized);
  is(await decides.approve(first.id, "fine"), { id: first.id, state: "approved", status: 501, refused: null }, "approve");
  is([(await decides.deny(second.id)).state, (await decides.get(first.id)).reason], ["denied", "fine"], "deny");
  await fails(decides.deny(first.id), Conflict);
  await fails(decides.get("../approvals"), NotFound);
  const told = await firstOf(audit.follow({ cursor, kind: "approval" }));
  is([told.kind, told.raw.approval], ["approval", first.id], "follow");
  const after = await firstOf(audit.follow({ cursor: told.cursor, kind: "approval" }));
  is([after.raw.approval, after.raw.decision], [second.id, "asked"], "and on behind it");
  const page = await audit.page({ since: "1h", kind: "approval", box: one.id, limit: 1 });
  is([page.events.map((event) => event.raw.decision), page.nextCursor !== null, page.events[0].cursor], [["asked"], true, null], "a page");
  await fails(firstOf(audit.follow({ kind: "nothing" })), InvalidRequest);
  const ends = new AbortController();
  setTimeout(() => ends.abort(), 300);
  await fails(firstOf(audit.follow({ signal: ends.signal })), Error, (error) => error.name === "AbortError");
  await fails(firstOf(audit.follow({ signal: ends.signal })), Error, (error) => error.name === "AbortError");
  await one.kill();
  await decides.close();
  await audit.close();
}

/** With a key whose ceiling leads to a server of files. */
async function network({ SandboxNetwork, Sandbox }, options, { net, netPort }) {
  const one = await Sandbox.create({ ...options, key: net, policy: { network: { allow: ["GET plain.test:*/**"] } } });
  const ask = `curl -s -o /dev/null -w '%{http_code}' http://plain.test:${netPort}`;
  is([(await one.commands.run(ask)).stdout, one.network instanceof SandboxNetwork], ["200", true], "it is let through");
  is((await one.network.get()).rules.allow, ["GET plain.test:*"], "network");
  const wide = { allow: ["POST plain.test:*/**", "other.test"] };
  is(await one.network.set(wide).catch((error) => error.code), "refused", "beyond its ceiling");
  is((await one.network.get()).rules.allow, ["GET plain.test:*"], "and nothing has changed");
  is((await one.network.set(wide, { beyond: "drop" })).beyondCeiling, ["network.allow: other.test"], "or the rest holds");
  is((await one.commands.run(ask)).stdout, "403", "no more");
  await one.network.allow(["GET plain.test:*/**"]);
  is((await one.commands.run(ask)).stdout, "200", "again");
  const log = await one.network.log();
  is([log.cursor > 0, log.lost, JSON.stringify(log.events).includes("plain.test")], [true, 0, true], "log");
  is(JSON.stringify(await one.network.summary()).includes("plain.test"), true, "summary");
  await one.kill();
}

async function life({ Conflict, Sandbox }, box, options) {
  is((await Sandbox.list({ ...options, labels: { from: "sdk" } })).map((row) => [row.id, row.labels]), [[box.sandboxId, { from: "sdk" }]], "list");
  is(await Sandbox.list({ ...options, labels: { from: "other" } }), [], "none of them");
  await box.pause();
  is([(await box.info()).state, await box.isRunning()], ["paused", false], "pause");
  await fails(box.commands.run("true"), Conflict);
  await box.resume();
  await box.setTimeout(100000);
  const info = await box.getInfo();
  is([info.expiresInMs <= 100000, info.ageMs > 0, info.raw.id, await box.isRunning()], [true, true, box.id, true], "info");
  await box.setTimeout({ timeout: 120 });
  const metrics = await box.getMetrics();
  is([metrics.memory > 0, metrics.uptimeMs > 0, "memoryPeak" in metrics], [true, true, true], "metrics");
  const same = await Sandbox.connect(box.id, options);
  is((await same.info()).state, "running", "connect");
  await same.close();
  is((await same.commands.run("echo on")).stdout, "on\n", "who let go may come again");
}

async function errors(ringfort, box, options, others) {
  const { run, Sandbox, InvalidRequest, NotAuthorized, NotFound, RingfortError, TooManyRequests, Unreachable } = ringfort;
  await fails(run({ ...options, argv: ["true"], limits: { odd: 1 } }), InvalidRequest);
  const wide = { ...options, limits: { memory: "1T" } };
  is(await run({ ...wide, argv: ["true"] }).catch((error) => [error.code, error.where]), ["refused", "limits.memory"], "beyond the ceiling");
  is((await run({ ...wide, argv: ["true"], beyond: "drop" })).beyondCeiling, ["limits.memory: 1T"], "what was dropped");
  is((await run({ ...options, argv: ["true"] })).beyondCeiling, [], "nothing was dropped");
  await fails(run({ ...options, code: "x", language: "klingon" }), InvalidRequest, (error) => error.where === "language" && error.status === 422);
  await fails(run({ ...options, argv: ["true"], timeout: 0, onStdout: () => undefined }), InvalidRequest);
  await fails(Sandbox.connect("0123", options), NotFound, (error) => error instanceof RingfortError && error.name === "NotFound");
  await fails(box.network.get(), RingfortError, (error) => error.code === "conflict");
  if (others.none) await fails(run({ ...options, key: "rfk_none", argv: ["true"] }), NotAuthorized, (error) => error.code === "no_key");
  if (others.other) await fails(Sandbox.connect(box.id, { ...options, key: others.other }), NotFound);
  if (others.slow) {
    await run({ ...options, key: others.slow, argv: ["true"] });
    await fails(run({ ...options, key: others.slow, argv: ["true"] }), TooManyRequests, (error) => error.retryAfter > 0);
  }
  if (others.nowhere) await fails(run({ url: others.nowhere, argv: ["true"] }), Unreachable, (error) => error.code === "unavailable" && !error.wasSent);
  const ends = new AbortController();
  setTimeout(() => ends.abort(), 300);
  await fails(box.commands.run("sleep 1000", { signal: ends.signal }), Error, (error) => error.name === "AbortError");
  await fails(box.commands.run("echo x; sleep 1000", { signal: AbortSignal.timeout(300), onStdout: () => undefined }), Error, (error) => error.name === "TimeoutError");
  await fails(box.commands.run("echo x; sleep 1000", { onStdout: () => Promise.reject(new TypeError("of the listener")) }), TypeError);
}

export async function check(ringfort, options, others) {
  const { Sandbox } = ringfort;
  await runs(ringfort, options);
  const box = await Sandbox.create({ ...options, timeoutMs: 200000, metadata: { from: "sdk" }, envs: { WHO: "me" } });
  await files(ringfort, box);
  await programs(ringfort, box);
  await terminals(ringfort, box);
  await watching(ringfort, box);
  await ports(ringfort, box, options, others);
  await redirects(ringfort, box, others);
  await workspaces(ringfort, box, options, others);
  await agents(ringfort, options, others);
  if (others.net) await network(ringfort, options, others);
  if (others.admin) await approvals(ringfort, options, others);
  await life(ringfort, box, options);
  await errors(ringfort, box, options, others);
  await box[Symbol.asyncDispose]();
  is(await box.isRunning(), false, "it is over");
  await box[Symbol.asyncDispose](); // once more is no error
  return "all is well";
}

const node = globalThis.process;
if (node?.argv?.[2]) {
  const ringfort = await import(node.argv[2]);
  const { RINGFORT_URL: url, ECHO: echo, OTHER_KEY: other, SLOW_KEY: slow, NOWHERE: nowhere, NO_KEY: none, NET_KEY: net, NET_PORT: netPort, ADMIN_KEY: admin, ELSEWHERE: elsewhere } = node.env;
  console.log(await check(ringfort, url.startsWith("unix:") ? { url } : {}, { echo, other, slow, nowhere, none, net, netPort, admin, elsewhere }));
}
