/** What programs come to, and what they write meanwhile. */
import { errorOf, RingfortError, ServerError } from "./errors.js";
import { type Answer, type Line, type Request, unreachable } from "./line.js";

export type Status = "ok" | "failed" | "timeout" | "cpu" | "memory" | "pids" | "disk" | "output" | "killed" | "denied" | "error";

/** The whole document of a result: docs/result.md tells all of it. */
export interface ResultDocument {
  id: string;
  status: Status;
  exit_code: number | null;
  signal: number | null;
  stdout: string;
  stderr: string;
  encoding: { stdout: string; stderr: string };
  limits_hit: string[];
  warnings: string[];
  denials: { kind: string; what: string; rule: string; remedy: string | null }[];
  [field: string]: unknown;
}

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

export function decode(data: string, encoding: string): Uint8Array {
  return encoding === "base64" ? fromBase64(data) : new TextEncoder().encode(data);
}

function join(parts: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** What a program came to; `raw` is the whole document. */
export class Result {
  readonly id: string;
  /** The truth; the exit code is its shadow. */
  readonly status: Status;
  readonly exitCode: number | null;
  readonly signal: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutBytes: Uint8Array;
  readonly stderrBytes: Uint8Array;

  constructor(
    readonly raw: ResultDocument,
    written?: Record<"stdout" | "stderr", Uint8Array[]>,
  ) {
    const decoder = new TextDecoder();
    this.id = raw.id;
    this.status = raw.status;
    this.exitCode = raw.exit_code;
    this.signal = raw.signal;
    this.stdoutBytes = written ? join(written.stdout) : decode(raw.stdout, raw.encoding.stdout);
    this.stderrBytes = written ? join(written.stderr) : decode(raw.stderr, raw.encoding.stderr);
    this.stdout = decoder.decode(this.stdoutBytes);
    this.stderr = decoder.decode(this.stderrBytes);
  }

  get ok(): boolean {
    return this.status === "ok";
  }

  /** Itself, if it ended well; else CommandError. */
  check(): this {
    if (!this.ok) throw new CommandError(this);
    return this;
  }
}

/** A program that did not end well: Result.check(). */
export class CommandError extends RingfortError {
  constructor(readonly result: Result) {
    super(`${result.status}: exit code ${result.exitCode}, ${result.stderr.trim().slice(-200)}`, { code: result.status });
  }
}

/** What a program wrote. */
export interface OutputEvent {
  stream: "stdout" | "stderr";
  data: Uint8Array;
  text: string;
}

export interface Listeners {
  onStdout?: (text: string) => void | Promise<void>;
  onStderr?: (text: string) => void | Promise<void>;
}

/** Events of a stream, as they come: the name, and the data as JSON. */
async function* eventsOf(answer: Answer): AsyncGenerator<[string, Record<string, unknown>]> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of answer.body) {
    text += decoder.decode(part, { stream: true });
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const block = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const name = block.find((line) => line.startsWith("event: "))?.slice("event: ".length);
      const data = block.find((line) => line.startsWith("data: "))?.slice("data: ".length);
      if (name && data) yield [name, JSON.parse(data) as Record<string, unknown>];
    }
  }
}

/** What a program writes, as it comes; the last is its result. */
export async function* stream(line: Line, request: Request): AsyncGenerator<OutputEvent, Result> {
  const answer = await line.send({ ...request, headers: { Accept: "text/event-stream" } });
  const written: Record<"stdout" | "stderr", Uint8Array[]> = { stdout: [], stderr: [] };
  try {
    for await (const [name, data] of eventsOf(answer)) {
      if (name === "result") return new Result(data as ResultDocument, written);
      if (name === "error") throw errorOf(answer.status, answer.header, JSON.stringify(data));
      if (name !== "stdout" && name !== "stderr") continue;
      const bytes = decode(data["data"] as string, data["encoding"] as string);
      written[name].push(bytes);
      yield { stream: name, data: bytes, text: new TextDecoder().decode(bytes) };
    }
  } catch (error) {
    throw unreachable(error, request.signal);
  }
  throw new ServerError("the stream ended before the program did", { code: "unavailable" });
}

/** Runs it; where somebody listens, output is told as it comes. */
export async function run(line: Line, request: Request, listeners: Listeners): Promise<Result> {
  if (!listeners.onStdout && !listeners.onStderr) return new Result(await line.json<ResultDocument>(request));
  const events = stream(line, request);
  for (;;) {
    const next = await events.next();
    if (next.done) return next.value;
    await (next.value.stream === "stdout" ? listeners.onStdout : listeners.onStderr)?.(next.value.text);
  }
}
