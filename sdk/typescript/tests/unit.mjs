// What needs a server that misbehaves, or none: node unit.mjs FOLDER-OF-THE-BUILT-PACKAGE.  Needs Node.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import http from "node:http";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

const dist = pathToFileURL(`${process.argv[2]}/`);
const { run, runStream, Sandbox, ...ringfort } = await import(new URL("index.js", dist));
const { BYTES, CLOSE, frame, Frames, PING, TEXT } = await import(new URL("frames.js", dist));
const { Inbox } = await import(new URL("inbox.js", dist));
const { heard } = await import(new URL("audit.js", dist));

const RESULT = { id: "x", status: "ok", exit_code: 0, signal: null, stdout: "out", stderr: "", encoding: { stdout: "utf-8", stderr: "utf-8" } };
const INFO = { id: "b", state: "running", created: null, labels: {}, age_ms: 1, expires_in_ms: 1, usage: {}, programs: [] };
const CUT = "cut"; // heard, and never answered
const error = (status, code, more = {}, headers = {}) => [status, { error: { code, message: "no", remedy: null, where: null, ...more } }, headers];

/** A server that answers with one row after the other; gives what it was asked. */
async function against(answers, use) {
  const asked = [];
  const server = http.createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    asked.push({ method: request.method, url: request.url, key: request.headers["idempotency-key"], last: request.headers["last-event-id"], body });
    const answer = answers[Math.min(asked.length, answers.length) - 1];
    if (answer === CUT) return void request.socket.destroy();
    const [status, said, headers = {}] = answer;
    response.writeHead(status, headers);
    response.end(typeof said === "string" ? said : JSON.stringify(said));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const options = { url: `http://127.0.0.1:${server.address().port}`, key: "k" };
  try {
    await use(options);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  return asked;
}

const fails = (promise, Kind, more = {}) =>
  assert.rejects(promise, (thrown) => {
    assert.equal(thrown.constructor, Kind, thrown.stack);
    for (const [name, value] of Object.entries(more)) assert.equal(thrown[name], value, name);
    return true;
  });

const told = (name, id, more) => `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(more)}\n\n`;
const recorded = (id) => told("audit", id, { kind: "run.ended", time: "t" });

const tests = {
  async "paths that conflict are those that were told"() {
    for (const [said, paths] of [[{ conflicts: ["a", 5, "b"] }, ["a", "b"]], [{ conflicts: "a" }, []], [{ conflicts: null }, []], [{}, []]]) {
      const [status, body] = error(409, "conflict");
      await against([[200, INFO], [status, { ...body, ...said }]], async (options) => {
        const box = await Sandbox.connect("b", options);
        await assert.rejects(box.apply(), (thrown) => (assert.equal(thrown.constructor, ringfort.Conflict), assert.deepEqual(thrown.conflicts, paths), true));
      });
    }
  },

  async "what is followed goes on where it was"() {
    const away = error(503, "unavailable", {}, { "Retry-After": "0" });
    const rows = [[200, told("following", "1-1", {})], CUT, [200, `: alive\n\n${recorded("1-2")}`], away, [200, recorded("1-3")]];
    let asked = await against(rows, async (options) => {
      const seen = [];
      for await (const event of new ringfort.Audit(options).follow({ since: "1h", kind: "run" })) if (seen.push(event.cursor) === 2) break;
      assert.deepEqual(seen, ["1-2", "1-3"]);
    });
    assert.deepEqual(asked.map((one) => one.last), [undefined, "1-1", "1-1", "1-2", "1-2"]);
    assert.equal(new Set(asked.map((one) => one.url)).size, 1);
    const often = ["1-1", "1-2", "1-3", "1-4", "1-5"];
    await against(often.map((id) => [200, recorded(id)]), async (options) => {
      const seen = [];
      for await (const event of new ringfort.Audit(options).follow()) if (seen.push(event.cursor) === often.length) break;
      assert.deepEqual(seen, often);
    });
    const all = async (options, more) => {
      for await (const event of new ringfort.Audit(options).follow(more)) assert.ok(event);
    };
    asked = await against([[200, recorded("1-2")], CUT], (options) => fails(all(options), ringfort.Unreachable));
    assert.equal(asked.length, 4);
    asked = await against([[200, ""]], (options) => fails(all(options), ringfort.Unreachable, { message: "the server can't be reached: the stream ended" }));
    assert.equal(asked.length, 3);
    const gone = [200, told("error", "", { error: { code: "no_key", message: "gone" } })];
    asked = await against([gone], (options) => fails(all(options, { cursor: "1-9" }), ringfort.NotAuthorized, { message: "gone" }));
    assert.deepEqual(asked.map((one) => one.last), ["1-9"]);
    asked = await against([error(422, "invalid")], (options) => fails(all(options), ringfort.InvalidRequest));
    assert.equal(asked.length, 1);
  },

  async "who says nothing for too long counts as gone"() {
    const ends = new AbortController();
    const silent = async function* () {
      yield new Uint8Array(1);
      await new Promise((resolve, reject) => ends.signal.addEventListener("abort", () => reject(ends.signal.reason)));
    };
    let parts = 0;
    const read = async () => {
      for await (const part of heard(silent(), ends, 0.05)) parts += part.length;
    };
    await fails(read(), ringfort.Unreachable, { isRepeatable: true });
    assert.equal(parts, 1);
  },

  async "names lead nowhere else"() {
    const asked = await against([error(404, "not_found")], async (options) => {
      await fails(new ringfort.Workspaces(options).delete("../agents/bot?x#y"), ringfort.NotFound);
      await fails(new ringfort.Workspaces(options).undo("a/b", 1), ringfort.NotFound);
      await fails(new ringfort.Breakers(options).reset("a/b"), ringfort.NotFound);
      await fails(ringfort.Agent.connect("a b", options), ringfort.NotFound);
    });
    assert.deepEqual(
      asked.map((one) => one.url),
      ["/v1/workspaces/..%2Fagents%2Fbot%3Fx%23y", "/v1/workspaces/a%2Fb/undo", "/v1/breakers/a%2Fb/reset", "/v1/agents/a%20b"],
    );
  },

  async "what was lost is asked again where nothing can be done twice by it"() {
    let asked = await against([CUT, CUT, [200, INFO]], (options) => Sandbox.connect("b", options));
    assert.equal(asked.length, 3);
    asked = await against([CUT], (options) => fails(Sandbox.connect("b", options), ringfort.Unreachable, { wasSent: true, isRepeatable: true }));
    assert.equal(asked.length, 3);
    asked = await against([CUT], (options) => fails(Sandbox.connect("b", { ...options, retries: 0 }), ringfort.Unreachable));
    assert.equal(asked.length, 1);
  },

  async "a run and a sandbox are asked for again under one key, with the same bytes"() {
    for (const [ask, answer] of [
      [(options) => run({ ...options, argv: ["true"] }), [200, RESULT]],
      [(options) => Sandbox.create({ ...options, labels: { a: "b" } }), [201, INFO]],
    ]) {
      const asked = await against([CUT, CUT, answer], ask);
      assert.equal(asked.length, 3);
      assert.match(asked[0].key, /^[0-9a-f]{32}$/);
      assert.equal(new Set(asked.map((one) => `${one.key} ${one.body}`)).size, 1);
    }
    const [one] = await against([[200, RESULT]], (options) => run({ ...options, argv: ["true"] }));
    const [other] = await against([[200, RESULT]], (options) => run({ ...options, argv: ["true"] }));
    assert.notEqual(one.key, other.key);
  },

  async "what could be done twice is sent once"() {
    const { signal } = new AbortController();
    const inside = (ask) => [[[200, INFO], CUT], async (options) => ask(await Sandbox.connect("b", options))];
    for (const [answers, ask] of [
      [[CUT], (options) => run({ ...options, argv: ["true"], signal })], // a signal ends it, and so it has no key
      [[CUT], (options) => run({ ...options, argv: ["true"], onStdout() {} })],
      [[CUT], (options) => runStream({ ...options, argv: ["true"] }).next()],
      inside((box) => box.commands.run("true")),
      inside((box) => box.commands.start("true")),
      inside((box) => box.files.writeFiles({ a: "b" })),
      inside((box) => box.request(80, "/", { method: "POST" })),
      inside((box) => box.undo("first")),
      inside((box) => box.kill()),
    ]) {
      const asked = await against(answers, (options) => fails(ask({ ...options, retries: 5 }), ringfort.Unreachable, { wasSent: true, isRepeatable: false }));
      assert.equal(asked.length, answers.length, ask);
      assert.equal(asked.at(-1).key, undefined);
    }
  },

  async "what was never sent is asked again, whatever it is"() {
    const server = http.createServer();
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address();
    await new Promise((resolve) => server.close(resolve));
    const began = Date.now();
    await fails(run({ url: `http://127.0.0.1:${port}`, argv: ["true"] }), ringfort.Unreachable, { wasSent: false, isRepeatable: true, code: "unavailable" });
    assert.ok(Date.now() - began >= 300, "it waits longer each time");
    await fails(run({ url: "unix:/nonexistent", argv: ["true"] }), ringfort.Unreachable, { wasSent: false });
    await fails(run({ url: "https://127.0.0.1:1", ca: "/nonexistent", argv: ["true"] }), ringfort.Unreachable, { wasSent: false });
  },

  async "a server that is full for a moment is waited for"() {
    const full = (seconds) => error(429, "too_many", {}, { "Retry-After": seconds });
    let began = Date.now();
    let asked = await against([full("1"), [200, INFO], [200, RESULT]], async (options) => {
      await (await Sandbox.connect("b", options)).commands.run("true");
    });
    assert.ok(asked.length === 3 && Date.now() - began >= 1000);
    began = Date.now();
    asked = await against([full("60")], (options) => fails(Sandbox.connect("b", options), ringfort.TooManyRequests, { retryAfter: 60, status: 429 }));
    assert.ok(asked.length === 1 && Date.now() - began < 1000);
    asked = await against([full("Wed, 21 Oct 2099 07:28:00 GMT")], (options) => fails(Sandbox.connect("b", options), ringfort.TooManyRequests, { retryAfter: null }));
    assert.equal(asked.length, 1);
    const away = error(503, "unavailable", {}, { "Retry-After": "0" });
    asked = await against([away, [200, INFO], away], (options) =>
      Sandbox.connect("b", options).then((box) => fails(box.commands.run("true"), ringfort.ServerError, { status: 503 })),
    );
    assert.deepEqual(asked.map((one) => one.method), ["GET", "GET", "POST"]);
  },

  async "a run that goes on out of sight is waited for"() {
    const busy = error(409, "under_way", { message: "a request with this Idempotency-Key is under way", where: "Idempotency-Key" });
    let asked = await against([CUT, busy, busy, busy, [200, RESULT]], async (options) => {
      assert.equal((await run({ ...options, argv: ["true"] })).stdout, "out");
    });
    assert.equal(asked.length, 5);
    const other = error(409, "conflict", { message: "begun and cut off", where: "Idempotency-Key" });
    asked = await against([CUT, other], (options) => fails(run({ ...options, argv: ["true"] }), ringfort.Conflict));
    assert.equal(asked.length, 2);
  },

  async "a server that keeps no more answers is asked without a key"() {
    const none = error(429, "too_many", { where: "Idempotency-Key" }, { "Retry-After": "3600" });
    let asked = await against([none, [200, RESULT]], (options) => run({ ...options, argv: ["true"] }));
    assert.deepEqual(asked.map((one) => Boolean(one.key)), [true, false]);
    asked = await against([none, CUT], (options) => fails(run({ ...options, argv: ["true"] }), ringfort.Unreachable, { isRepeatable: false }));
    assert.equal(asked.length, 2);
  },

  async "a signal ends the waiting, too"() {
    const full = error(429, "too_many", {}, { "Retry-After": "5" });
    const began = Date.now();
    await against([full], (options) =>
      assert.rejects(Sandbox.list({ ...options, signal: AbortSignal.timeout(200) }), { name: "TimeoutError" }),
    );
    assert.ok(Date.now() - began < 2000);
  },

  async "all pages of a list are read"() {
    const page = (ids, next) => [200, { sandboxes: ids.map((id) => ({ ...INFO, id, labels: { a: "b", c: id } })), next_cursor: next }];
    const asked = await against([page(["1", "2"], "x y"), page(["3"], "z"), page([], null)], async (options) => {
      assert.deepEqual((await Sandbox.list({ ...options, labels: { a: "b", c: "3" } })).map((one) => one.id), ["3"]);
    });
    assert.deepEqual(asked.map((one) => new URL(one.url, "http://x").searchParams.get("cursor")), [null, "x y", "z"]);
    assert.ok(asked.every((one) => new URL(one.url, "http://x").searchParams.get("label") === "a=b"));
  },

  async "an answer that is not of our form is an error all the same"() {
    for (const said of ["<html>", "{}", "null", '{"error": "x"}', '{"error": null}', '{"error": {"code": "constructor", "message": 5, "where": {}}}', '{"error": {"code": "__proto__"}}']) {
      await against([[502, said]], (options) => fails(Sandbox.connect("b", options), ringfort.ServerError, { status: 502, where: null }));
    }
  },

  async "events are read in whatever pieces they come"() {
    const said = `event: stdout\ndata: {"data": "grüße\\n", "encoding": "utf-8"}\n\n: nothing\n\nevent: odd\ndata: {}\n\nevent: result\ndata: ${JSON.stringify(RESULT)}\n\n`;
    const bytes = Buffer.from(said);
    const server = http.createServer(async (_, response) => {
      for (let at = 0; at < bytes.length; at += 3) {
        response.write(bytes.subarray(at, at + 3));
        await new Promise(setImmediate);
      }
      response.end();
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const heard = [];
    const result = await run({ url: `http://127.0.0.1:${server.address().port}`, argv: ["x"], onStdout: (text) => void heard.push(text) });
    assert.deepEqual([heard, result.stdout, result.ok], [["grüße\n"], "grüße\n", true]);
    server.close();
  },

  async "frames are read in whatever pieces they come, and what is none is refused"() {
    const unmasked = (kind, body, isLast = true) => {
      const size = body.length < 126 ? [body.length] : [126, body.length >> 8, body.length & 255];
      return Buffer.concat([Buffer.from([(isLast ? 0x80 : 0) | kind, ...size]), body]);
    };
    const text = Buffer.from("grüße");
    const all = Buffer.concat([
      unmasked(TEXT, text.subarray(0, 3), false), unmasked(PING, Buffer.from("p")), unmasked(0, text.subarray(3)),
      unmasked(BYTES, Buffer.alloc(300, 7)), unmasked(BYTES, Buffer.alloc(0)), unmasked(CLOSE, Buffer.from([3, 232, 65])),
    ]);
    for (let size = 1; size <= all.length; size++) {
      const frames = new Frames();
      const messages = [];
      let answers = 0;
      for (let at = 0; at < all.length; at += size) {
        const heard = frames.feed(all.subarray(at, at + size));
        messages.push(...heard.messages);
        answers += heard.answers.length;
      }
      assert.deepEqual([messages[0], messages[1].length, messages[2].length, frames.closed, answers], ["grüße", 300, 0, 1000, 2]);
    }
    const wrong = {
      "more than there is room for": [Buffer.from([0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0]), 1009],
      "another bit": [Buffer.from([0xc1, 0]), 1002], "an unknown kind": [Buffer.from([0x83, 0]), 1002], "a mask": [Buffer.from([0x81, 0x80]), 1002],
      "a long ping": [Buffer.from([0x89, 126]), 1002], "half a ping": [Buffer.from([0x09, 0]), 1002], "a close of one byte": [unmasked(CLOSE, Buffer.from([3])), 1002],
      "a part of nothing": [unmasked(0, text), 1002], "a message within one": [Buffer.concat([unmasked(TEXT, text, false), unmasked(TEXT, text)]), 1002],
      "no UTF-8": [unmasked(TEXT, Buffer.from([255])), 1007],
      "the largest number": [Buffer.from([0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255]), 1009],
    };
    for (const [what, [bytes, code]] of Object.entries(wrong)) assert.equal(new Frames().feed(bytes).error?.code, code, what);
    const parts = new Frames(); // parts without end, and with next to nothing in them
    let refused = null;
    for (let n = 0; n < 1e6 && !refused; n++) refused = parts.feed(unmasked(n ? 0 : BYTES, Buffer.from("x"), false)).error;
    assert.equal(refused.code, 1009);
    for (let round = 0, seed = 1; round < 20000; round++) {
      const bytes = Buffer.from(Array.from({ length: 1 + (round % 40) }, () => ((seed = (seed * 1103515245 + 12345) & 0x7fffffff) >> 16) & 255));
      const { error: thrown } = new Frames().feed(bytes);
      assert.ok(!thrown || [1002, 1007, 1009].includes(thrown.code), bytes.toString("hex"));
    }
    for (const size of [0, 125, 126, 65535, 65536]) {
      const bytes = frame(BYTES, new Uint8Array(size).fill(1));
      assert.equal(bytes[1] & 0x80, 0x80, "it is masked");
      const at = size < 126 ? 2 : size < 65536 ? 4 : 10;
      assert.equal(bytes.length, at + 4 + size);
      assert.ok(bytes.subarray(at + 4).every((byte, n) => (byte ^ bytes[at + (n & 3)]) === 1));
    }
  },

  async "whoever sends much is made to wait"() {
    const inbox = new Inbox();
    const told = [];
    inbox.onRoom = (hasRoom) => void told.push(hasRoom);
    for (let n = 0; n < 3; n++) inbox.put(new Uint8Array(600_000));
    assert.deepEqual(told, [false, false]);
    await inbox.take();
    assert.deepEqual(told, [false, false]);
    await inbox.take();
    assert.deepEqual(told, [false, false, true]);
    const waiting = [inbox.take(), inbox.take(20), inbox.take()];
    inbox.end(1000);
    assert.deepEqual((await Promise.all(waiting)).map((one) => one?.length ?? null), [600_000, null, null]);
    assert.equal(await inbox.take(), null);
  },

  async "who does not read is made to wait, and says that he is here"() {
    let [sent, held, heard, first] = [0, null, 0, null];
    const real = globalThis.setInterval;
    const server = http.createServer((request, response) => response.end(JSON.stringify(INFO)));
    server.on("upgrade", (request, socket) => {
      const proof = createHash("sha1").update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${proof}\r\n\r\n`);
      socket.on("data", (bytes) => ((first ??= bytes), (heard += bytes.length)));
      socket.on("error", () => undefined);
      const more = () => {
        while (sent < 2000 && socket.write(Buffer.concat([Buffer.from([0x82, 126, 0xff, 0xff]), Buffer.alloc(65535)]))) sent++;
        if (sent < 2000) socket.once("drain", () => (sent++, more()));
      };
      more();
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const box = await Sandbox.connect("b", { url: `http://127.0.0.1:${server.address().port}` });
    globalThis.setInterval = (beat, ms) => (held = { beat, ms });
    const socket = await box.webSocket(80);
    for (let last = -1; last !== sent || !held; await new Promise((resolve) => setTimeout(resolve, 200))) last = sent;
    globalThis.setInterval = real;
    assert.ok(sent < 1500, "what is not read is not sent");
    held.beat();
    for (let n = 0; n < 100 && !first; n++) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.deepEqual([...first.subarray(0, 2)], [0x8a, 0x80]);
    let size = 0;
    while (size < 2000 * 65535) size += (await socket.receive(10)).length;
    assert.equal(size, 2000 * 65535);
    for (let n = 0; n < 200; n++) await socket.send(new Uint8Array(1 << 19));
    for (let n = 0; n < 500 && heard < 100 << 20; n++) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok(heard >= 100 << 20, "what is sent comes");
    await socket.close();
    await box.close();
    server.closeAllConnections();
    server.close();
  },

  async "what prints an object does not print its key"() {
    const key = "rfk_secret";
    const silent = (what, name) => {
      for (const text of [inspect(what, { depth: Infinity, showHidden: true }), inspect(what), JSON.stringify(what) ?? "", String(what)]) {
        assert.ok(!text.includes(key), `${name}: ${text.slice(0, 2000)}`);
      }
    };
    let isHeld = false;
    const server = http.createServer((request, response) => isHeld || response.end(JSON.stringify(INFO)));
    server.on("upgrade", (request, socket) => {
      assert.equal(request.headers["x-api-key"], key);
      const proof = createHash("sha1").update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${proof}\r\n\r\n`);
      socket.on("error", () => undefined);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const options = { url: `http://127.0.0.1:${server.address().port}`, key, retries: 0 };
    const box = await Sandbox.connect("b", options);
    silent(box, "a box");
    for (const Kind of [ringfort.Approvals, ringfort.Audit, ringfort.Breakers, ringfort.Workspaces]) silent(new Kind(options), Kind.name);
    silent(await box.request(80), "an answer");
    const socket = await box.webSocket(80);
    silent(socket, "a WebSocket");
    await socket.close();
    isHeld = true;
    const asked = box.info().catch((thrown) => thrown);
    await new Promise((resolve) => setTimeout(resolve, 100));
    silent(box, "a box that waits for an answer");
    server.closeAllConnections();
    silent(await asked, "an error");
    assert.ok((await asked) instanceof ringfort.Unreachable);
    await box.close();
    server.close();
  },

  async "what redirects is not the API"() {
    const asked = await against([[302, "", { Location: "/v1/elsewhere" }]], async (options) => {
      await fails(Sandbox.connect("b", options), ringfort.ServerError, { status: 302 });
    });
    assert.equal(asked.length, 1);
  },

  async "what answers a WebSocket has to prove that it is one"() {
    const sockets = [];
    let sent = Buffer.alloc(0);
    let isRight = false;
    const server = http.createServer((request, response) => response.end(JSON.stringify(INFO)));
    server.on("upgrade", (request, socket) => {
      sockets.push(socket);
      socket.on("error", () => undefined);
      const proof = createHash("sha1").update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${isRight ? proof : "x"}\r\n\r\n`);
      socket.write(Buffer.from([0x81, 2, 104, 105, 0xff, 0xff]));
      socket.on("data", (bytes) => (sent = Buffer.concat([sent, bytes])));
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const box = await Sandbox.connect("b", { url: `http://127.0.0.1:${server.address().port}` });
    await fails(box.webSocket(80), ringfort.Unreachable);
    isRight = true;
    const socket = await box.webSocket(80);
    assert.equal(await socket.receive(5), "hi");
    await fails(socket.receive(5), ringfort.Unreachable); // what followed is no frame
    assert.equal(socket.closed, 1002);
    for (let n = 0; n < 100 && sent.length < 8; n++) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(((sent[6] ^ sent[2]) << 8) | (sent[7] ^ sent[3]), 1002, "it is told why");
    await fails(socket.send("x"), ringfort.Unreachable);
    for (const one of sockets) one.destroy();
    await box.close();
    server.closeAllConnections();
    server.close();
  },
};

process.on("warning", (warning) => {
  console.log(warning.stack); // of listeners that are never taken away, for example
  process.exitCode = 1;
});
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
  } catch (thrown) {
    console.log(`${name}: ${thrown.stack}`);
    process.exitCode = 1;
  }
}
if (!process.exitCode) console.log("all is well");
process.exit(); // also where a test that failed has left a server
