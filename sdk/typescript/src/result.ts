/** What programs come to, and what they write meanwhile. */
import { decode, fromBase64, join, textOf } from "./bytes.js";
import { errorOf, RingfortError, ServerError } from "./errors.js";
import type { Line, Request } from "./line.js";
import type { Answer } from "./wire.js";

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
  files?: { path: string; content?: string; content_base64?: string }[];
  beyond_ceiling?: string[];
  [field: string]: unknown;
}

/** What was told as it came, where it is not in the document. */
export type Written = Record<"stdout" | "stderr", Uint8Array[]>;

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
  /** By name: those of `outputs` that there are. */
  readonly files: Record<string, Uint8Array>;

  constructor(
    readonly raw: ResultDocument,
    written?: Written,
  ) {
    this.id = raw.id;
    this.status = raw.status;
    this.exitCode = raw.exit_code;
    this.signal = raw.signal;
    this.stdoutBytes = written ? join(written.stdout) : decode(raw.stdout, raw.encoding.stdout);
    this.stderrBytes = written ? join(written.stderr) : decode(raw.stderr, raw.encoding.stderr);
    this.stdout = textOf(this.stdoutBytes);
    this.stderr = textOf(this.stderrBytes);
    this.files = Object.fromEntries(
      (raw.files ?? []).map((row) => [row.path, row.content === undefined ? fromBase64(row.content_base64 ?? "") : new TextEncoder().encode(row.content)]),
    );
  }

  get ok(): boolean {
    return this.status === "ok";
  }

  /** Of a run with `beyond: "drop"`: what it named beyond the ceiling and was not given, as "limits.memory: 2G". */
  get beyondCeiling(): string[] {
    return this.raw.beyond_ceiling ?? [];
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
export interface Event {
  stream: "stdout" | "stderr";
  data: Uint8Array;
  text: string;
}

export interface Listeners {
  onStdout?: (text: string) => void | Promise<void>;
  onStderr?: (text: string) => void | Promise<void>;
}

export async function tell(listeners: Listeners, event: Event): Promise<void> {
  await (event.stream === "stdout" ? listeners.onStdout : listeners.onStderr)?.(event.text);
}

export function eventOf(stream: "stdout" | "stderr", said: { data: string; encoding: string }): Event {
  const data = decode(said.data, said.encoding);
  return { stream, data, text: textOf(data) };
}

/** Events of a stream, as they come: the name, the data as JSON, and the id if it has one.  One that tells an error is thrown. */
export async function* eventsOf(answer: Answer): AsyncGenerator<[string, Record<string, unknown>, string | undefined]> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of answer.body) {
    text += decoder.decode(part, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const lines = block.split("\n");
      const [name, data, id] = ["event: ", "data: ", "id: "].map((field) => lines.find((line) => line.startsWith(field))?.slice(field.length));
      if (name === "error" && data) throw errorOf(answer.status, answer.header, data);
      if (name && data) yield [name, JSON.parse(data) as Record<string, unknown>, id];
    }
  }
}

/** What a program writes, as it comes; what the generator returns is the result. */
export async function* stream(line: Line, request: Request): AsyncGenerator<Event, Result> {
  const answer = await line.open({ ...request, isOnce: false, headers: { Accept: "text/event-stream" } });
  const written: Written = { stdout: [], stderr: [] };
  for await (const [name, data] of eventsOf(answer)) {
    if (name === "result") return new Result(data as ResultDocument, written);
    if (name !== "stdout" && name !== "stderr") continue;
    const event = eventOf(name, data as { data: string; encoding: string });
    written[name].push(event.data);
    yield event;
  }
  throw new ServerError("the stream ended before the program did", { code: "unavailable" });
}

/** Runs it; where somebody listens, output is told as it comes. */
export async function run(line: Line, request: Request, listeners: Listeners): Promise<Result> {
  if (!listeners.onStdout && !listeners.onStderr) return new Result(await line.json<ResultDocument>(request));
  const events = stream(line, request);
  try {
    for (;;) {
      const next = await events.next();
      if (next.done) return next.value;
      await tell(listeners, next.value);
    }
  } finally {
    await events.return(undefined as never); // a listener that throws ends it
  }
}
