/** Terminals in a sandbox: programs on them, and coming back to those. */
import { bytesFrom, join } from "./bytes.js";
import { errorOf, NotFound, ServerError } from "./errors.js";
import type { Message } from "./inbox.js";
import { type Line, WAIT } from "./line.js";
import { type EnvOptions, type Input, programOf, type TimeOptions, type Words, words } from "./options.js";
import { Result, type ResultDocument } from "./result.js";
import { PortSocket } from "./socket.js";

export interface SizeOptions {
  /** 24. */
  rows?: number;
  /** 80. */
  columns?: number;
  /** The same. */
  cols?: number;
}

export interface TerminalOptions extends SizeOptions, TimeOptions, EnvOptions {
  /** Seconds for which it goes on when nobody is connected: 300. */
  keep?: number;
  cwd?: string;
  /** Called with what it writes, as it comes; then there is nothing to read(). */
  onData?: (data: Uint8Array) => void | Promise<void>;
}

interface Said {
  error?: unknown;
  result?: ResultDocument;
  started?: { number: number };
  attached?: { number: number; lost?: number };
}

/** A program on a terminal of its own.  To go through it (`for await`) is to read what it writes, until it ends. */
export class Terminal {
  number = 0;
  /** Bytes that it wrote, and that are kept no more. */
  lost = 0;
  /** What it came to; null while it runs. */
  result: Result | null = null;
  private unread: Uint8Array[] = [];
  private told: Promise<Result> | null = null;

  private constructor(private readonly socket: PortSocket) {}

  /** @internal */
  static async open(line: Line, path: string, order: object | null, onData: TerminalOptions["onData"]): Promise<Terminal> {
    const terminal = new Terminal(await PortSocket.open(line, path, ["ringfort"]));
    try {
      if (order) await terminal.socket.send(JSON.stringify(order));
      while (!terminal.number) if (!(await terminal.hear(WAIT))) throw new ServerError("the terminal does not answer", { code: "late" });
    } catch (error) {
      await terminal.close();
      throw error;
    }
    if (onData) {
      terminal.told = terminal.follow(onData);
      terminal.told.catch(() => undefined); // wait() tells it
    }
    return terminal;
  }

  /** Its number, by which Pty.connect() finds it again. */
  get pid(): number {
    return this.number;
  }

  /** What it wrote since; waits for something, up to so many seconds or until it ends.  Nothing: it has ended, or wrote nothing. */
  async read(wait?: number): Promise<Uint8Array> {
    const until = wait === undefined ? Infinity : Date.now() + wait * 1000;
    while (!this.unread.length && !this.result) {
      const left = Math.max(0, until - Date.now()) / 1000;
      if (!(await this.hear(left === Infinity ? undefined : left))) break;
    }
    return join(this.unread.splice(0));
  }

  /** Types. */
  async write(data: Input): Promise<void> {
    await this.socket.send(await bytesFrom(data));
  }

  sendStdin(data: Input): Promise<void> {
    return this.write(data);
  }

  async resize(rows: number, columns: number): Promise<void> {
    await this.socket.send(JSON.stringify({ terminal: { rows, columns } }));
  }

  /** Sends it a signal: "TERM", "INT" ... */
  async sendSignal(name: string): Promise<void> {
    await this.socket.send(JSON.stringify({ signal: name }));
  }

  kill(): Promise<void> {
    return this.sendSignal("KILL");
  }

  /** Reads what it writes until it ends; then what it came to. */
  wait(onData?: (data: Uint8Array) => void | Promise<void>): Promise<Result> {
    return this.told ?? this.follow(onData);
  }

  /** Lets go of it; the program goes on as long as `keep` says. */
  close(): Promise<void> {
    return this.socket.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    while (!this.result || this.unread.length) {
      const data = await this.read();
      if (data.length) yield data;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private async follow(onData?: (data: Uint8Array) => void | Promise<void>): Promise<Result> {
    for await (const data of this) await onData?.(data);
    return this.result!;
  }

  /** Takes in what comes next; false if nothing comes in time. */
  private async hear(wait?: number): Promise<boolean> {
    const message = await this.socket.receive(wait);
    if (message !== null) this.take(message);
    else if (this.socket.closed !== null && !this.result)
      throw new ServerError(`the connection ended before the program did (${this.socket.closed})`, { code: "unavailable" });
    return message !== null;
  }

  private take(message: Message): void {
    if (typeof message !== "string") {
      this.unread.push(message.subarray(1));
      return;
    }
    const said = JSON.parse(message) as Said;
    if (said.error) throw errorOf(200, () => null, message);
    if (said.result) this.result = new Result(said.result);
    const began = said.started ?? said.attached;
    if (began) this.number = began.number;
    if (said.attached) this.lost = said.attached.lost ?? 0;
  }
}

function sizeOf(size: SizeOptions): { rows: number; columns: number } {
  return { rows: size.rows ?? 24, columns: size.columns ?? size.cols ?? 80 };
}

/** Terminals in a sandbox. */
export class Pty {
  private readonly open = new Map<number, Terminal>();

  constructor(
    private readonly line: Line,
    private readonly path: string,
  ) {}

  /** Runs a program on a terminal (`sh`); when nobody is connected any more it goes on for `keep` seconds. */
  create(options?: TerminalOptions): Promise<Terminal>;
  create(command: Words, options?: TerminalOptions): Promise<Terminal>;
  async create(first: Words | TerminalOptions = {}, more: TerminalOptions = {}): Promise<Terminal> {
    const isCommand = typeof first === "string" || Array.isArray(first);
    const options = isCommand ? more : (first as TerminalOptions);
    const command = isCommand ? words(first as Words) : { argv: ["sh"] };
    const terminal = { ...sizeOf(options), keep: options.keep ?? 300 };
    return this.note(await Terminal.open(this.line, `${this.path}/exec`, { ...command, ...programOf(options), terminal }, options.onData));
  }

  /** Comes back to one; what it wrote last is read first. */
  async connect(number: number, options: Pick<TerminalOptions, "onData"> = {}): Promise<Terminal> {
    return this.note(await Terminal.open(this.line, `${this.path}/terminals/${number}`, null, options.onData));
  }

  /** Types into one that was made or come back to here. */
  async sendStdin(number: number, data: Input): Promise<void> {
    await this.known(number).write(data);
  }

  /** The same, as E2B's SDK calls it. */
  sendInput(number: number, data: Input): Promise<void> {
    return this.sendStdin(number, data);
  }

  async resize(number: number, size: SizeOptions): Promise<void> {
    const { rows, columns } = sizeOf(size);
    await this.known(number).resize(rows, columns);
  }

  /** Ends one that was made or come back to here; false if it has ended already. */
  async kill(number: number): Promise<boolean> {
    const terminal = this.open.get(number);
    if (!terminal || terminal.result) return false;
    await terminal.kill();
    return true;
  }

  private note(terminal: Terminal): Terminal {
    this.open.set(terminal.number, terminal);
    return terminal;
  }

  private known(number: number): Terminal {
    const terminal = this.open.get(number);
    if (!terminal) throw new NotFound(`there is no terminal ${number} here`, { code: "not_found", remedy: "come back to it with connect()", where: "number" });
    return terminal;
  }
}
