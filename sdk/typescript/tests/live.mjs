// What the client promises, against a server: node live.mjs FOLDER-OF-THE-BUILT-PACKAGE, or imported by a page, which calls check().
export async function check(ringfort, options, others) {
  const { run, runStream, Sandbox, CommandError, InvalidRequest, NotAuthorized, NotFound, Refused, RingfortError, ServerError, TooManyRequests } = ringfort;
  const is = (left, right, what) => {
    if (JSON.stringify(left) !== JSON.stringify(right)) throw new Error(`${what}: ${JSON.stringify(left)}, not ${JSON.stringify(right)}`);
  };
  const fails = async (promise, Kind, more = () => true) => {
    try {
      await promise;
    } catch (error) {
      if (error instanceof Kind && error instanceof RingfortError && more(error)) return error;
      throw error;
    }
    throw new Error(`it should have failed with ${Kind.name}`);
  };

  // Runs.
  const one = await run({ ...options, code: "print(6 * 7)", language: "python" });
  is([one.stdout, one.ok, one.exitCode, one.status], ["42\n", true, 0, "ok"], "run");
  is((await run({ ...options, argv: ["cat"], stdin: new Uint8Array([0, 255]) })).stdoutBytes, new Uint8Array([0, 255]), "bytes");
  is((await run({ ...options, command: "cat /code/a $B", files: { a: "x" }, env: { B: "/code/a" } })).stdout, "xx", "files");
  const bad = await run({ ...options, command: "echo no >&2; exit 3" });
  is([bad.exitCode, bad.stderr, bad.ok], [3, "no\n", false], "a failure is a result");
  await fails((async () => bad.check())(), CommandError, (error) => error.result === bad);
  is((await run({ ...options, command: "sleep 100", timeoutMs: 1000 })).status, "timeout", "time");
  const heard = [];
  const told = await run({ ...options, command: "echo grüße; echo b >&2", onStdout: (text) => void heard.push(text), onStderr: (text) => void heard.push(text) });
  is([heard.sort().join(""), told.stdout], ["b\ngrüße\n", "grüße\n"], "streams");
  const events = runStream({ ...options, command: "echo x; sleep 0.1; echo y" });
  const seen = [];
  let next = await events.next();
  for (; !next.done; next = await events.next()) seen.push(next.value.text);
  is([seen.join(""), next.value.status], ["x\ny\n", "ok"], "a generator");

  // A sandbox.
  const box = await Sandbox.create({ ...options, timeoutMs: 200000, metadata: { from: "sdk" }, envs: { WHO: "me" } });
  is((await box.commands.run("echo $WHO; pwd", { cwd: "/tmp" })).stdout, "me\n/tmp\n", "commands");
  is((await box.commands.run(["cat"], { stdin: "in" })).stdout, "in", "input");
  is((await box.runCode("print(1 + 1)")).stdout, "2\n", "code");
  await box.files.write("/tmp/a/ä b.txt", "hällo\nwelt");
  await box.files.write([{ path: "/tmp/a/c", data: new Uint8Array([1, 0, 255]) }]);
  is(await box.files.read("/tmp/a/ä b.txt"), "hällo\nwelt", "a file");
  is(await box.files.read("/tmp/a/c", { format: "bytes" }), new Uint8Array([1, 0, 255]), "its bytes");
  is((await box.files.list("/tmp/a")).map((file) => file.name).sort(), ["c", "ä b.txt"], "a folder");
  is([await box.files.exists("/tmp/a/c"), await box.files.exists("/tmp/zz")], [true, false], "exists");
  await box.files.makeDir("/tmp/d/e");
  await box.files.rename("/tmp/a/c", "/tmp/d/e/f");
  is([(await box.files.getInfo("/tmp/d/e/f")).size, (await box.files.stat("/tmp/d/e")).type], [3, "folder"], "stat");
  is(await box.files.search("/tmp/a", { content: "welt" }), [{ path: "/tmp/a/ä b.txt", line: 2, text: "welt" }], "search");
  await box.files.writeArchive("/tmp/copy", await box.files.readArchive("/tmp/d"));
  is((await box.files.stat("/tmp/copy/e/f")).size, 3, "an archive");
  await box.files.remove("/tmp/d");
  is(await box.files.exists("/tmp/d"), false, "remove");
  const large = new Uint8Array(3_000_000).fill(7);
  await box.files.write("/tmp/large", large);
  let bytes = 0;
  for await (const part of await box.files.read("/tmp/large", { format: "stream" })) bytes += part.length;
  is(bytes, large.length, "a stream");

  // In the background.
  const program = await box.commands.run("while read -r line; do echo \"got $line\"; done; exit 4", { background: true });
  await program.write("one\n");
  let out = "";
  while (!out.includes("got one")) out += (await program.read(5)).map((event) => event.text).join("");
  is((await box.commands.list()).filter((row) => row.number === program.pid && !row.ended).length, 1, "it runs");
  is(await program.result(), null, "no result yet");
  await program.write("two\n", true);
  is((await program.wait()).exitCode, 4, "its end");
  const sleeper = await box.commands.start("sleep 1000");
  await sleeper.kill();
  is((await sleeper.wait()).signal, 9, "kill");

  // A workspace.
  const site = await Sandbox.create({ ...options, timeout: 200, workspace: true });
  await site.files.write("/work/a", "one\n");
  is((await site.checkpoint("first")).name, "first", "a checkpoint");
  await site.files.write("/work/a", "two\n");
  is((await site.diff("first")).includes("+two"), true, "a diff");
  await site.undo("first");
  is(await site.files.read("/work/a"), "one\n", "undo");
  is((await site.checkpoints()).map((one) => one.name), ["first"], "checkpoints");
  await site.kill();
  await fails(box.checkpoint(), RingfortError);

  // Its life.
  is((await Sandbox.list({ ...options, labels: { from: "sdk" } })).map((row) => row.id), [box.sandboxId], "list");
  await box.pause();
  is((await box.info()).state, "paused", "pause");
  await box.resume();
  await box.setTimeout(100000);
  is((await (await Sandbox.connect(box.id, options)).info()).state, "running", "connect");

  // What can't be done.
  await fails(run({ ...options, argv: ["true"], limits: { odd: 1 } }), InvalidRequest);
  await fails(run({ ...options, code: "x", language: "klingon" }), InvalidRequest, (error) => error.where === "language" && error.status === 422);
  await fails(box.files.read("/tmp/zz"), NotFound, (error) => error.where === "path" && error.requestId !== "" && error.remedy !== null);
  await fails(box.files.write("/etc/zz", "x"), Refused);
  await fails(Sandbox.connect("0123", options), NotFound);
  await fails(box.network.get(), RingfortError, (error) => error.code === "conflict");
  if (others.none) await fails(run({ ...options, key: "rfk_none", argv: ["true"] }), NotAuthorized, (error) => error.code === "no_key");
  if (others.other) await fails(Sandbox.connect(box.id, { ...options, key: others.other }), NotFound);
  if (others.slow) {
    await run({ ...options, key: others.slow, argv: ["true"] });
    await fails(run({ ...options, key: others.slow, argv: ["true"] }), TooManyRequests, (error) => error.retryAfter > 0);
  }
  if (others.nowhere) await fails(run({ url: others.nowhere, argv: ["true"] }), ServerError, (error) => error.code === "unavailable");
  const ends = new AbortController();
  const slow = box.commands.run("sleep 1000", { signal: ends.signal });
  setTimeout(() => ends.abort(), 300);
  let aborted = false;
  await slow.catch((error) => (aborted = error.name === "AbortError"));
  is(aborted, true, "abort");

  await box[Symbol.asyncDispose]();
  is(await box.isRunning(), false, "it is over");
  await box[Symbol.asyncDispose](); // once more is no error
  return "all is well";
}

const node = globalThis.process;
if (node?.argv?.[2]) {
  const ringfort = await import(node.argv[2]);
  const { RINGFORT_URL: url, OTHER_KEY: other, SLOW_KEY: slow, NOWHERE: nowhere, NO_KEY: none } = node.env;
  console.log(await check(ringfort, url.startsWith("unix:") ? { url } : {}, { other, slow, nowhere, none }));
}
