/** Boxes: one for each run, or one that stays. */
import "./dispose.js";

import { bytesFrom, type Data, streamOf } from "./bytes.js";
import { Commands, type ProcessInfo } from "./commands.js";
import { NotFound } from "./errors.js";
import { Files } from "./files.js";
import { type ConnectionOptions, Line, patienceFor, type Request } from "./line.js";
import { SandboxNetwork } from "./network.js";
import {
  type CodeOptions,
  type CreateOptions,
  hasLabels,
  inputOf,
  labelOf,
  type ListOptions,
  place,
  programOf,
  rules,
  type RunOptions,
  seconds,
  type TimeOptions,
  told,
  words,
} from "./options.js";
import { type Event, Result, run as runOn, stream } from "./result.js";
import { PortSocket } from "./socket.js";
import { Pty } from "./terminal.js";
import { type Applied, type ApplyOptions, type Checkpoint, Place, type Workspace } from "./workspaces.js";

export interface SandboxInfo {
  id: string;
  state: "running" | "paused" | "ending";
  created: string | null;
  labels: Record<string, string>;
  ageMs: number | null;
  expiresInMs: number | null;
  usage: Record<string, number | null>;
  programs: ProcessInfo[];
  workspace: string | null;
  agent: string | null;
  raw: Record<string, unknown>;
}

/** What a sandbox uses: milliseconds and bytes; null is not known. */
export interface Metrics {
  uptimeMs: number | null;
  cpuMs: number | null;
  memory: number | null;
  memoryPeak: number | null;
  pids: number | null;
  disk: number | null;
  raw: Record<string, unknown>;
}

/** Of fetch's options those that mean something to a server. */
export interface PortRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: Data;
  signal?: AbortSignal;
}

type InfoDocument = Omit<SandboxInfo, "ageMs" | "expiresInMs" | "raw"> & { age_ms: number | null; expires_in_ms: number | null };
type MetricsDocument = Pick<Metrics, "memory" | "pids" | "disk"> & Record<"uptime_ms" | "cpu_ms" | "memory_peak", number | null>;

function infoOf(raw: InfoDocument): SandboxInfo {
  const { id, state, created, labels, usage, programs, workspace = null, agent = null } = raw;
  return { id, state, created, labels, usage, programs, workspace, agent, ageMs: raw.age_ms, expiresInMs: raw.expires_in_ms, raw: { ...raw } };
}

function metricsOf(raw: MetricsDocument): Metrics {
  const { memory, pids, disk } = raw;
  return { memory, pids, disk, uptimeMs: raw.uptime_ms, cpuMs: raw.cpu_ms, memoryPeak: raw.memory_peak, raw: { ...raw } };
}

const BOXES = "/v1/sandboxes";
const BODILESS = [204, 205, 304]; // answers of which Response allows no body

function runRequest(options: RunOptions): Request {
  const { argv, command, code, language, cwd, outputs } = options;
  const files = Object.entries(options.files ?? {}).map(([path, data]) => ({ path, ...inputOf(data, "content") }));
  const json = {
    ...told({ command, code, language, cwd, outputs, env: options.env ?? options.envs, timeout: seconds(options) }),
    ...(argv === undefined ? {} : words(argv)),
    ...rules(options),
    ...place(options.workspace),
    ...(options.stdin === undefined ? {} : inputOf(options.stdin, "stdin")),
    ...(files.length ? { files } : {}),
  };
  // A run under a key goes on when nobody waits for it any more: who may end it with a signal wants the other.
  return { method: "POST", path: "/v1/run", json, signal: options.signal, isOnce: !options.signal, patience: patienceFor(seconds(options)) };
}

/** Runs one program in a box of its own. */
export async function run(options: RunOptions): Promise<Result> {
  const line = new Line(options);
  try {
    return await runOn(line, runRequest(options), options);
  } finally {
    line.close();
  }
}

/** The same, with what it writes as it comes; what the generator returns is the result. */
export async function* runStream(options: Omit<RunOptions, "onStdout" | "onStderr">): AsyncGenerator<Event, Result> {
  const line = new Line(options);
  try {
    return yield* stream(line, runRequest(options));
  } finally {
    line.close();
  }
}

/** A box that stays until it is killed or its time is over.  `await using` ends it with its block. */
export class Sandbox {
  readonly commands: Commands;
  readonly files: Files;
  readonly network: SandboxNetwork;
  readonly pty: Pty;
  private readonly path: string;
  private readonly place: Place;

  private constructor(
    readonly id: string,
    private readonly line: Line,
    /** Of create() with `beyond: "drop"`: what was asked for and not given. */
    readonly beyondCeiling: readonly string[] = [],
  ) {
    this.path = `${BOXES}/${encodeURIComponent(id)}`;
    this.commands = new Commands(line, this.path);
    this.files = new Files(line, this.path);
    this.network = new SandboxNetwork(line, this.path);
    this.place = new Place(line, this.path);
    this.pty = new Pty(line, this.path);
  }

  /** Its id, as users of E2B call it. */
  get sandboxId(): string {
    return this.id;
  }

  /** Makes one; programs can be run in it when this is done.  It ends by itself after `timeout` seconds. */
  static async create(options: CreateOptions = {}): Promise<Sandbox> {
    const line = new Line(options);
    const { labels, metadata, idleTimeout, workspace } = options;
    const json = {
      ...told({ timeout: seconds(options), env: options.env ?? options.envs, labels: labels ?? metadata, idle_timeout: idleTimeout }),
      ...rules(options),
      ...place(workspace),
    };
    try {
      const made = await line.json<{ id: string; beyond_ceiling?: string[] }>({
        method: "POST",
        path: BOXES,
        json,
        signal: options.signal,
        isOnce: true,
      });
      return new Sandbox(made.id, line, made.beyond_ceiling);
    } catch (error) {
      line.close();
      throw error;
    }
  }

  /** One that there is. */
  static async connect(id: string, options: ConnectionOptions = {}): Promise<Sandbox> {
    const box = new Sandbox(id, new Line(options));
    try {
      await box.info();
    } catch (error) {
      await box.close();
      throw error;
    }
    return box;
  }

  /** All that the key's tenant has; with labels, those that have them. */
  static async list(options: ListOptions = {}): Promise<SandboxInfo[]> {
    const line = new Line(options);
    try {
      const found = await line.pages<InfoDocument>(BOXES, "sandboxes", { label: labelOf(options.labels) }, options.signal);
      return found.filter((one) => hasLabels(one.labels, options.labels)).map(infoOf);
    } finally {
      line.close();
    }
  }

  async info(): Promise<SandboxInfo> {
    return infoOf(await this.line.json({ method: "GET", path: this.path }));
  }

  getInfo(): Promise<SandboxInfo> {
    return this.info();
  }

  /** False once it has ended; a paused one is there, and does not run. */
  async isRunning(): Promise<boolean> {
    try {
      return (await this.info()).state === "running";
    } catch (error) {
      if (error instanceof NotFound) return false;
      throw error;
    }
  }

  /** What it uses now. */
  async metrics(): Promise<Metrics> {
    return metricsOf(await this.line.json({ method: "GET", path: `${this.path}/metrics` }));
  }

  getMetrics(): Promise<Metrics> {
    return this.metrics();
  }

  /** Runs code in one of the languages that the machine has. */
  runCode(code: string, options: CodeOptions = {}): Promise<Result> {
    const json = { code, language: options.language ?? "python", ...programOf(options) };
    const request = { method: "POST", path: `${this.path}/exec`, json, signal: options.signal, patience: patienceFor(seconds(options)) };
    return runOn(this.line, request, options);
  }

  /** The same; a line for a shell is commands.run()'s. */
  run(code: string, options: CodeOptions = {}): Promise<Result> {
    return this.runCode(code, options);
  }

  /** Where what listens on a port in the sandbox is reached, by who shows a key. */
  getUrl(port: number, path = "/"): string {
    return this.line.base + this.portPath(port, path);
  }

  /** The same without its scheme, as it is put behind one. */
  getHost(port: number): string {
    return this.getUrl(port).replace(/^[a-z]+:\/\//, "").replace(/\/+$/, "");
  }

  /**
   * Asks what listens on a port in the sandbox, as `fetch` does.  Its answer is whatever it is.
   *
   * The key goes nowhere but to the port: a redirect that leads elsewhere is given as it is, with its address in `X-Ringfort-Location`.
   * Those that stay at the port a browser follows; in Node they are given, too.
   */
  async request(port: number, path = "/", options: PortRequest = {}): Promise<Response> {
    const { method = "GET", headers = {}, body, signal } = options;
    const bytes = body === undefined ? {} : { bytes: await bytesFrom(body) };
    const answer = await this.line.relay({ method: method.toUpperCase(), path: this.portPath(port, path), headers, signal, ...bytes }, this.portPath(port, "/"));
    return new Response(BODILESS.includes(answer.status) ? null : streamOf(answer.body), { status: answer.status, headers: answer.fields });
  }

  /** A WebSocket to what listens on a port in the sandbox. */
  webSocket(port: number, path = "/", protocols: readonly string[] = []): Promise<PortSocket> {
    return PortSocket.open(this.line, this.portPath(port, path), [...protocols], this.portPath(port, "/"));
  }

  /** Keeps the files of its workspace as they are; everything in it stands still meanwhile. */
  checkpoint(name?: string): Promise<Checkpoint> {
    return this.place.checkpoint(name);
  }

  checkpoints(): Promise<Checkpoint[]> {
    return this.place.checkpoints();
  }

  /** Takes a checkpoint away, and makes room for another. */
  deleteCheckpoint(number: number): Promise<void> {
    return this.place.deleteCheckpoint(number);
  }

  /** Brings the files of a checkpoint back, by its number or name. */
  undo(to: number | string): Promise<Checkpoint> {
    return this.place.undo(to);
  }

  /** What has changed since a checkpoint, or between two, as a unified diff. */
  diff(since: number | string, to?: number | string): Promise<string> {
    return this.place.diff(since, to);
  }

  /** Another workspace that begins with these files: Sandbox.create({ workspace: name }) has it. */
  fork(name: string): Promise<Workspace> {
    return this.place.fork(name);
  }

  /**
   * Brings what has changed in its workspace, which is a fork, back into the one that it is a fork of.
   *
   * What both have changed is a Conflict, whose `conflicts` are the paths, unless the word of one of them counts.
   */
  apply(options: ApplyOptions = {}): Promise<Applied> {
    return this.place.apply(options);
  }

  /** Stops everything in it where it is; its time passes. */
  async pause(): Promise<void> {
    await this.line.json({ method: "POST", path: `${this.path}/pause` });
  }

  async resume(): Promise<void> {
    await this.line.json({ method: "POST", path: `${this.path}/resume` });
  }

  /** It ends so long from now: milliseconds, as in E2B's SDK, or `{ timeout: seconds }`. */
  async setTimeout(time: number | TimeOptions): Promise<void> {
    const timeout = seconds(typeof time === "number" ? { timeoutMs: time } : time);
    await this.line.json({ method: "POST", path: `${this.path}/timeout`, json: { timeout } });
  }

  /** Ends it, and waits until nothing of it runs. */
  async kill(): Promise<void> {
    await this.line.json({ method: "DELETE", path: this.path });
  }

  /** Lets go of it; it goes on until its time is over. */
  close(): Promise<void> {
    this.line.close();
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.kill();
    } catch (error) {
      if (!(error instanceof NotFound)) throw error; // its time was over
    } finally {
      await this.close();
    }
  }

  private portPath(port: number, path: string): string {
    return `${this.path}/ports/${port}${path.startsWith("/") ? path : `/${path}`}`;
  }
}
