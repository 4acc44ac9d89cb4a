/** Programs of a sandbox. */
import { Conflict, NotFound } from "./errors.js";
import { type Line, patienceFor, type Request } from "./line.js";
import { type Input, inputOf, type ProgramOptions, programOf, seconds, type StartOptions, type Words, words } from "./options.js";
import { type Event, eventOf, type Listeners, Result, type ResultDocument, run, stream, tell, type Written } from "./result.js";

export interface ProcessInfo {
  number: number;
  name: string;
  background: boolean;
  ended: boolean;
}

/** The programs of a sandbox. */
export class Commands {
  constructor(
    private readonly line: Line,
    private readonly path: string,
  ) {}

  /** Runs a program: a line for a shell, or words.  One that fails is a result, and no exception. */
  run(command: Words, options: StartOptions & { background: true }): Promise<Program>;
  run(command: Words, options?: ProgramOptions & { background?: false }): Promise<Result>;
  run(command: Words, options: ProgramOptions & { background?: boolean } = {}): Promise<Result | Program> {
    return options.background ? this.start(command, options) : run(this.line, this.request(command, options), options);
  }

  /** Starts one in the background. */
  async start(command: Words, options: StartOptions = {}): Promise<Program> {
    const request = this.request(command, options);
    const json = { ...(request.json as object), background: true };
    return new Program(this.line, this.path, (await this.line.json<{ number: number }>({ ...request, json })).number);
  }

  /** What it writes, as it comes; what the generator returns is the result. */
  stream(command: Words, options: StartOptions = {}): AsyncGenerator<Event, Result> {
    return stream(this.line, this.request(command, options));
  }

  /** One in the background that there is; what it wrote is read from the beginning, as far as it is kept. */
  async connect(number: number): Promise<Program> {
    const program = new Program(this.line, this.path, number);
    await program.result();
    return program;
  }

  /** The programs that run. */
  async list(): Promise<ProcessInfo[]> {
    const { programs } = await this.line.json<{ programs: ProcessInfo[] }>({ method: "GET", path: this.path });
    return programs.filter((row) => !row.ended);
  }

  /** Ends a program in the background; false if it has ended already. */
  async kill(number: number): Promise<boolean> {
    try {
      await new Program(this.line, this.path, number).kill();
      return true;
    } catch (error) {
      if (error instanceof Conflict || error instanceof NotFound) return false;
      throw error;
    }
  }

  sendStdin(number: number, data: Input): Promise<void> {
    return new Program(this.line, this.path, number).write(data);
  }

  private request(command: Words, options: StartOptions): Request {
    const json = { ...words(command), ...programOf(options) };
    return { method: "POST", path: `${this.path}/exec`, json, signal: options.signal, patience: patienceFor(seconds(options)) };
  }
}

interface Log {
  events: { stream: "stdout" | "stderr"; data: string; encoding: string }[];
  cursor: number;
}

/** One that runs in the background of a sandbox.  To go through it (`for await`) is to read what it writes, until it ends. */
export class Program {
  private cursor = 0;
  private readonly path: string;
  private readonly written: Written = { stdout: [], stderr: [] };

  constructor(
    private readonly line: Line,
    box: string,
    readonly number: number,
  ) {
    this.path = `${box}/programs/${number}`;
  }

  /** Its number, by which Commands.connect() finds it again. */
  get pid(): number {
    return this.number;
  }

  /** What it wrote since this was last called; waits up to so many seconds for something. */
  async read(wait = 0): Promise<Event[]> {
    const query = { cursor: this.cursor, wait_ms: Math.round(Math.min(wait, 30) * 1000) };
    const log = await this.line.json<Log>({ method: "GET", path: `${this.path}/log`, query });
    this.cursor = log.cursor;
    const events = log.events.map((row) => eventOf(row.stream, row));
    for (const event of events) this.written[event.stream].push(event.data);
    return events;
  }

  /** Writes to its standard input. */
  async write(data: Input, close = false): Promise<void> {
    await this.line.json({ method: "POST", path: `${this.path}/stdin`, json: { ...inputOf(data, "data"), close } });
  }

  sendStdin(data: Input): Promise<void> {
    return this.write(data);
  }

  /** Sends it a signal: "TERM", "INT" ... */
  async sendSignal(name: string): Promise<void> {
    await this.line.json({ method: "POST", path: `${this.path}/signal`, json: { signal: name } });
  }

  kill(): Promise<void> {
    return this.sendSignal("KILL");
  }

  /** What it came to; null while it runs.  Of what it wrote it has what was read so far. */
  async result(): Promise<Result | null> {
    const { result } = await this.line.json<{ result: ResultDocument | null }>({ method: "GET", path: this.path });
    return result && new Result(result, this.written);
  }

  /** Reads what it writes until it ends; then what it came to. */
  async wait(listeners: Listeners = {}): Promise<Result> {
    for (;;) {
      const done = await this.result();
      for (const event of await this.read(done ? 0 : 20)) await tell(listeners, event);
      if (done) return new Result(done.raw, this.written);
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void> {
    for (let isOver = false; !isOver; ) {
      isOver = (await this.result()) !== null;
      yield* await this.read(isOver ? 0 : 20);
    }
  }
}
