/** Boxes: one for each run, or one that stays. */
import "./dispose.js";

import { Commands, type ProgramInfo } from "./commands.js";
import { NotFound } from "./errors.js";
import { Files } from "./files.js";
import { type ConnectionOptions, Line } from "./line.js";
import { Network } from "./network.js";
import { type CreateOptions, input, type ProgramOptions, programOf, rules, type RunOptions, seconds, type TimeOptions, told } from "./options.js";
import { type OutputEvent, Result, run as runOn, stream, toBase64 } from "./result.js";

export interface SandboxInfo {
  id: string;
  state: "running" | "paused" | "ending";
  created: string | null;
  labels: Record<string, string>;
  age_ms: number | null;
  expires_in_ms: number | null;
  usage: Record<string, number | null>;
  programs: ProgramInfo[];
}

/** What the files of a sandbox's workspace were at some time. */
export interface Checkpoint {
  number: number;
  name: string;
  created: string;
}

const BOXES = "/v1/sandboxes";

function runRequest(options: RunOptions) {
  const files = Object.entries(options.files ?? {}).map(([path, data]) =>
    typeof data === "string" ? { path, content: data } : { path, content_base64: toBase64(data) },
  );
  const { argv, command, code, language } = options;
  const json = {
    ...told({ argv, command, code, language, env: options.env ?? options.envs, timeout: seconds(options) }),
    ...rules(options),
    ...input(options.stdin),
    ...(files.length ? { files } : {}),
  };
  return { method: "POST", path: "/v1/run", json, signal: options.signal };
}

/** Runs one program in a box of its own. */
export function run(options: RunOptions): Promise<Result> {
  return runOn(new Line(options), runRequest(options), options);
}

/** The same, with what it writes as it comes; the generator returns the result. */
export function runStream(options: RunOptions): AsyncGenerator<OutputEvent, Result> {
  return stream(new Line(options), runRequest(options));
}

/** A box that stays until it is killed or its time is over.  `await using` ends it with its block. */
export class Sandbox {
  readonly commands: Commands;
  readonly files: Files;
  readonly network: Network;
  private readonly path: string;

  private constructor(
    readonly id: string,
    private readonly line: Line,
  ) {
    this.path = `${BOXES}/${encodeURIComponent(id)}`;
    this.commands = new Commands(line, this.path);
    this.files = new Files(line, this.path);
    this.network = new Network(line, this.path);
  }

  /** Its id, as users of E2B call it. */
  get sandboxId(): string {
    return this.id;
  }

  /** Makes one; programs can be run in it when this is done. */
  static async create(options: CreateOptions = {}): Promise<Sandbox> {
    const line = new Line(options);
    const { labels, metadata, idleTimeout, workspace } = options;
    const json = {
      ...told({ timeout: seconds(options), env: options.env ?? options.envs, labels: labels ?? metadata, idle_timeout: idleTimeout }),
      ...rules(options),
      ...(workspace === undefined ? {} : { workspace: workspace === true ? {} : { name: workspace } }),
    };
    const { id } = await line.json<SandboxInfo>({ method: "POST", path: BOXES, json, signal: options.signal });
    return new Sandbox(id, line);
  }

  /** One that there is. */
  static async connect(id: string, options: ConnectionOptions = {}): Promise<Sandbox> {
    const box = new Sandbox(id, new Line(options));
    await box.info();
    return box;
  }

  /** All that the key's tenant has, or those with these labels. */
  static async list(options: ConnectionOptions & { labels?: Record<string, string> } = {}): Promise<SandboxInfo[]> {
    const line = new Line(options);
    const wanted = Object.entries(options.labels ?? {});
    const label = wanted[0] ? `${wanted[0][0]}=${wanted[0][1]}` : undefined;
    const found: SandboxInfo[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const query: Record<string, string | number> = { limit: 1000, ...(cursor ? { cursor } : {}), ...(label ? { label } : {}) };
      const page: { sandboxes: SandboxInfo[]; next_cursor: string | null } = await line.json({ method: "GET", path: BOXES, query });
      found.push(...page.sandboxes);
      cursor = page.next_cursor;
    }
    return found.filter((one) => wanted.every(([name, value]) => one.labels[name] === value));
  }

  info(): Promise<SandboxInfo> {
    return this.line.json({ method: "GET", path: this.path });
  }

  /** The same. */
  getInfo(): Promise<SandboxInfo> {
    return this.info();
  }

  async isRunning(): Promise<boolean> {
    try {
      return (await this.info()).state !== "ending";
    } catch (error) {
      if (error instanceof NotFound) return false;
      throw error;
    }
  }

  /** Runs code in one of the languages that the machine has. */
  runCode(code: string, options: Omit<ProgramOptions, "stdin"> & { language?: string } = {}): Promise<Result> {
    const json = { code, language: options.language ?? "python", ...programOf(options) };
    return runOn(this.line, { method: "POST", path: `${this.path}/exec`, json, signal: options.signal }, options);
  }

  /** The same. */
  run(code: string, options: Omit<ProgramOptions, "stdin"> & { language?: string } = {}): Promise<Result> {
    return this.runCode(code, options);
  }

  /** Stops everything in it where it is; its time passes. */
  async pause(): Promise<void> {
    await this.line.json({ method: "POST", path: `${this.path}/pause` });
  }

  async resume(): Promise<void> {
    await this.line.json({ method: "POST", path: `${this.path}/resume` });
  }

  /** It ends so long from now: milliseconds, or `{timeout: seconds}`. */
  async setTimeout(time: number | TimeOptions): Promise<void> {
    const timeout = seconds(typeof time === "number" ? { timeoutMs: time } : time);
    await this.line.json({ method: "POST", path: `${this.path}/timeout`, json: { timeout } });
  }

  /** Notes what the files of its workspace are. */
  checkpoint(name?: string): Promise<Checkpoint> {
    return this.line.json({ method: "POST", path: `${this.path}/checkpoints`, json: told({ name }) });
  }

  async checkpoints(): Promise<Checkpoint[]> {
    return (await this.line.json<{ checkpoints: Checkpoint[] }>({ method: "GET", path: `${this.path}/checkpoints` })).checkpoints;
  }

  /** Brings the files of a checkpoint back, by its number or name. */
  undo(to: number | string): Promise<Checkpoint> {
    return this.line.json({ method: "POST", path: `${this.path}/undo`, json: { to: String(to) } });
  }

  /** What has changed since a checkpoint, or between two, as a unified diff. */
  async diff(from: number | string, to?: number | string): Promise<string> {
    const query = { from, ...(to === undefined ? {} : { to }) };
    return (await this.line.json<{ unified: string }>({ method: "GET", path: `${this.path}/diff`, query })).unified;
  }

  /** Another workspace that begins with these files: Sandbox.create({workspace: name}) has it. */
  async fork(name: string): Promise<void> {
    await this.line.json({ method: "POST", path: `${this.path}/fork`, json: { name } });
  }

  /** Ends it; nothing of it runs when this is done. */
  async kill(): Promise<void> {
    await this.line.json({ method: "DELETE", path: this.path });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.kill();
    } catch (error) {
      if (!(error instanceof NotFound)) throw error; // its time was over
    }
  }
}
