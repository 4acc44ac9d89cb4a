/** Programs of a sandbox. */
import type { Line } from "./line.js";
import { type ProgramOptions, programOf, words } from "./options.js";
import { decode, type OutputEvent, Result, type ResultDocument, run, stream, toBase64 } from "./result.js";

interface Log {
  events: { stream: "stdout" | "stderr"; data: string; encoding: string }[];
  cursor: number;
  ended: boolean;
}

export interface ProgramInfo {
  number: number;
  name: string;
  background: boolean;
  ended: boolean;
}

export class Commands {
  constructor(
    private readonly line: Line,
    private readonly path: string,
  ) {}

  /** Runs a program: a line for a shell, or words.  One that fails is a result, and no exception. */
  run(command: string | string[], options: ProgramOptions & { background: true }): Promise<Program>;
  run(command: string | string[], options?: ProgramOptions & { background?: false }): Promise<Result>;
  run(command: string | string[], options: ProgramOptions & { background?: boolean } = {}): Promise<Result | Program> {
    return options.background ? this.start(command, options) : run(this.line, this.request(command, options), options);
  }

  /** What it writes, as it comes; the generator returns the result. */
  stream(command: string | string[], options: ProgramOptions = {}): AsyncGenerator<OutputEvent, Result> {
    return stream(this.line, this.request(command, options));
  }

  /** Starts one in the background. */
  async start(command: string | string[], options: ProgramOptions = {}): Promise<Program> {
    const request = this.request(command, options);
    const { number } = await this.line.json<{ number: number }>({
      ...request,
      json: { ...(request.json as object), background: true },
    });
    return new Program(this.line, this.path, number);
  }

  /** One that was started in the background. */
  connect(number: number): Program {
    return new Program(this.line, this.path, number);
  }

  async list(): Promise<ProgramInfo[]> {
    return (await this.line.json<{ programs: ProgramInfo[] }>({ method: "GET", path: this.path })).programs;
  }

  kill(number: number): Promise<void> {
    return this.connect(number).kill();
  }

  sendStdin(number: number, data: string | Uint8Array): Promise<void> {
    return this.connect(number).write(data);
  }

  private request(command: string | string[], options: ProgramOptions) {
    return { method: "POST", path: `${this.path}/exec`, json: { ...words(command), ...programOf(options) }, signal: options.signal };
  }
}

/** One that runs in the background of a sandbox. */
export class Program {
  private cursor = 0;
  private readonly path: string;

  constructor(
    private readonly line: Line,
    box: string,
    readonly number: number,
  ) {
    this.path = `${box}/programs/${number}`;
  }

  /** Its number, as users of E2B call it. */
  get pid(): number {
    return this.number;
  }

  /** What it wrote since this was last called; waits up to so many seconds for something. */
  async read(wait = 0): Promise<OutputEvent[]> {
    return (await this.log(wait)).events;
  }

  /** Everything that it writes from now on, until it ends. */
  async *output(): AsyncGenerator<OutputEvent> {
    for (let isOver = false; !isOver; ) {
      const { events, ended } = await this.log(20);
      yield* events;
      isOver = ended && events.length === 0;
    }
  }

  async write(data: string | Uint8Array, close = false): Promise<void> {
    const body = typeof data === "string" ? { data } : { data_base64: toBase64(data) };
    await this.line.json({ method: "POST", path: `${this.path}/stdin`, json: { ...body, close } });
  }

  async sendSignal(name: string): Promise<void> {
    await this.line.json({ method: "POST", path: `${this.path}/signal`, json: { signal: name } });
  }

  kill(): Promise<void> {
    return this.sendSignal("KILL");
  }

  /** What it came to; null while it runs.  What it wrote is read by itself. */
  async result(): Promise<Result | null> {
    const { result } = await this.line.json<{ result: ResultDocument | null }>({ method: "GET", path: this.path });
    return result && new Result(result);
  }

  /** Waits for its end. */
  async wait(): Promise<Result> {
    for (let cursor = this.cursor; ; ) {
      const result = await this.result();
      if (result) return result;
      cursor = (await this.line.json<Log>({ method: "GET", path: `${this.path}/log`, query: { cursor, wait_ms: 20000 } })).cursor;
    }
  }

  private async log(wait: number): Promise<{ events: OutputEvent[]; ended: boolean }> {
    const log = await this.line.json<Log>({
      method: "GET",
      path: `${this.path}/log`,
      query: { cursor: this.cursor, wait_ms: Math.round(Math.min(wait, 30) * 1000) },
    });
    this.cursor = log.cursor;
    const events = log.events.map((row) => {
      const data = decode(row.data, row.encoding);
      return { stream: row.stream, data, text: new TextDecoder().decode(data) };
    });
    return { events, ended: log.ended };
  }
}
