/** The way to a server: who asks, what is asked again, and what an answer means. */
import { collect, randomName, textOf } from "./bytes.js";
import { errorOf, InvalidRequest, RingfortError, ServerError, TooManyRequests, Unreachable } from "./errors.js";
import { Inbox } from "./inbox.js";
import { isNode, NodeWire } from "./node.js";
import { WebWire } from "./web.js";
import type { Answer, Outlet, Wire } from "./wire.js";

/** Where the server is, and who asks.  `RINGFORT_URL`, `RINGFORT_KEY` and `RINGFORT_CA` are read where there is an environment. */
export interface ConnectionOptions {
  /** `http://127.0.0.1:7070`, or in Node `unix:/run/user/1000/ringfort/api.sock`, which goes by the user. */
  url?: string;
  key?: string;
  /** The same, as users of E2B call it. */
  apiKey?: string;
  /** In Node: a file with the certificates to believe, where the system's are not those. */
  ca?: string;
  /** How often something is asked again that failed for a moment, where nothing can be done twice by it: 2. */
  retries?: number;
  /** Ends the request. */
  signal?: AbortSignal;
}

export interface Request {
  method: string;
  path: string;
  query?: Record<string, string | number | undefined>;
  json?: unknown;
  bytes?: Uint8Array;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** What is asked for twice under one key is done once: the server can do that for this request. */
  isOnce?: boolean;
  /** Seconds within which the answer has to begin; null: any time. */
  patience?: number | null;
}

/** An answer that is all here. */
export interface Whole extends Pick<Answer, "status" | "header"> {
  bytes: Uint8Array;
}

const DEFAULT_URL = "http://127.0.0.1:7070";
const RETRIES = 2;
const PATIENCE = 5; // seconds that a server may ask us to wait before we ask again
export const WAIT = 30; // seconds for a server to answer, besides what a program may take
const ONCE = "Idempotency-Key";

/** Seconds for the answer to a program that may take so long. */
export function patienceFor(timeout: number | undefined): number {
  return (timeout ?? 86400) + WAIT;
}

function environment(name: string): string | undefined {
  const process = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process;
  return process?.env?.[name] || undefined;
}

function sleep(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      if (signal?.aborted) reject(signal.reason as Error);
      else resolve();
    };
    const timer = setTimeout(done, seconds * 1000);
    signal?.addEventListener("abort", done);
    if (signal?.aborted) done();
  });
}

/** The signal of who asks, and that of the clock until the answer begins. */
class Deadline {
  readonly signal: AbortSignal;
  private readonly controller = new AbortController();
  private readonly timer: ReturnType<typeof setTimeout> | undefined;
  private readonly pass = () => this.controller.abort(this.asked?.reason);

  constructor(
    private readonly asked: AbortSignal | undefined,
    seconds: number | null,
  ) {
    this.signal = this.controller.signal;
    const late = () => this.controller.abort(new Error(`no answer within ${seconds} seconds`));
    if (seconds !== null) this.timer = setTimeout(late, Math.min(seconds * 1000, 2 ** 31 - 1));
    if (asked?.aborted) this.pass();
    asked?.addEventListener("abort", this.pass, { once: true });
  }

  /** The answer has begun. */
  met(): void {
    clearTimeout(this.timer);
  }

  /** Nothing is waited for any more. */
  over(): void {
    this.met();
    this.asked?.removeEventListener("abort", this.pass);
  }
}

/** What a server is reached by; used for many requests. */
export class Line {
  /** Without a slash at its end. */
  readonly base: string;
  /* Names with a number sign: what prints an object, for a log or as JSON, sees neither the key nor requests that show it. */
  readonly #key: string | undefined;
  private readonly retries: number;
  readonly #wire: Wire;

  constructor(options: ConnectionOptions = {}) {
    const url = options.url ?? environment("RINGFORT_URL") ?? DEFAULT_URL;
    const socket = url.startsWith("unix:") ? url.slice("unix:".length) : null;
    this.#key = options.key ?? options.apiKey ?? environment("RINGFORT_KEY");
    this.base = socket ? "http://localhost" : url.replace(/\/+$/, "");
    this.retries = options.retries ?? RETRIES;
    this.#wire = isNode ? new NodeWire(new URL(this.base), socket, options.ca ?? environment("RINGFORT_CA")) : new WebWire(this.base);
  }

  /** A good answer, all of it; else the error that it tells. */
  ask(request: Request): Promise<Whole> {
    return this.again(request, async (answer) => ({ status: answer.status, header: answer.header, bytes: await collect(answer.body) }));
  }

  async json<T>(request: Request): Promise<T> {
    const text = textOf((await this.ask(request)).bytes);
    return (text ? JSON.parse(text) : undefined) as T;
  }

  /** A good answer whose body is read by whoever asked: what is lost of it is not asked for again. */
  open(request: Request): Promise<Answer> {
    return this.again(request, (answer) => Promise.resolve(answer));
  }

  /**
   * Any answer is a good one, and nothing is asked again: what listens on a port is nobody that we know.
   *
   * `beneath` is the path of the port: the key goes nowhere else, whatever a program there answers.
   */
  async relay(request: Request, beneath: string): Promise<Answer> {
    this.checkBeneath(request.path, beneath);
    try {
      const headers: Record<string, string> = { ...request.headers, ...(this.#key ? { "X-API-Key": this.#key } : {}) };
      return await this.#wire.ask({ method: request.method, path: request.path, headers, body: request.bytes, signal: request.signal, beneath });
    } catch (error) {
      throw lost(error, request);
    }
  }

  /** A WebSocket: what comes goes into the inbox. */
  async connect(path: string, protocols: string[], inbox: Inbox, beneath = "/"): Promise<Outlet> {
    this.checkBeneath(path, beneath);
    const request = { method: "GET", path };
    let answer: Outlet | Answer;
    try {
      answer = await this.#wire.connect(path, this.#key, protocols, inbox, WAIT);
    } catch (error) {
      if (!isNode) await this.explain(path);
      throw lost(error, request);
    }
    if ("send" in answer) return answer;
    throw errorOf(answer.status, answer.header, textOf(await collect(answer.body)));
  }

  /** All rows of a list that comes in pages. */
  async pages<T>(path: string, name: string, more: Record<string, string | undefined> = {}, signal?: AbortSignal): Promise<T[]> {
    const found: T[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: Record<string, unknown> = await this.json({ method: "GET", path, query: { limit: 1000, cursor, ...more }, signal });
      found.push(...(page[name] as T[]));
      cursor = page["next_cursor"] as string | null;
    }
    return found;
  }

  /** Waits as long as is right after so many failures in a row of what can be asked again; throws the last where it is not asked again. */
  async rest(failures: number, error: RingfortError, signal?: AbortSignal): Promise<void> {
    const wait = pauseBefore(failures, this.retries, error, true);
    if (wait === null) throw error;
    await sleep(wait, signal);
  }

  close(): void {
    this.#wire.close();
  }

  /** Asks once more without an upgrade, since a browser keeps to itself why there was none; what is right but for that is no reason. */
  private async explain(path: string): Promise<void> {
    try {
      await this.ask({ method: "GET", path });
    } catch (error) {
      if (error instanceof RingfortError && error.where !== "Upgrade" && !(error instanceof ServerError)) throw error;
    }
  }

  /** A path may come from a program in a sandbox, and `fetch` resolves its dots: it is to lead nowhere else. */
  private checkBeneath(path: string, beneath: string): void {
    if (new URL(this.base + path).href.startsWith(new URL(this.base + beneath).href)) return;
    throw new InvalidRequest(`${path} leads away from ${beneath}`, { code: "invalid", where: "path" });
  }

  private async *reading(body: AsyncIterable<Uint8Array>, request: Request, deadline: Deadline): AsyncGenerator<Uint8Array> {
    try {
      yield* body;
    } catch (error) {
      throw lost(error, request);
    } finally {
      deadline.over();
    }
  }

  /** Asks, and again, as far as nothing can be done twice by it. */
  private async again<T>(request: Request, read: (answer: Answer) => Promise<T>): Promise<T> {
    const headers: Record<string, string> = { ...request.headers };
    if (request.isOnce) headers[ONCE] = randomName();
    const until = Date.now() + (request.patience ?? WAIT) * 1000;
    let isLost = false;
    for (let attempt = 0; ; ) {
      try {
        return await this.once({ ...request, headers }, read);
      } catch (error) {
        if (!(error instanceof RingfortError)) throw error;
        isLost ||= error instanceof Unreachable && error.wasSent;
        let pause = 0;
        if (error.where === ONCE && ONCE in headers && (error instanceof TooManyRequests || (error.status === 503 && !isLost))) {
          delete headers[ONCE]; // the server keeps no more answers: it is done without, and not asked again
        } else if (isLost && error.code === "under_way" && Date.now() < until) {
          pause = 1; // what we asked for and lost sight of
        } else {
          const wait = pauseBefore(attempt++, this.retries, error, request.method === "GET" || request.method === "PUT" || ONCE in headers);
          if (wait === null) throw error;
          pause = wait;
        }
        await sleep(pause, request.signal);
      }
    }
  }

  private async once<T>(request: Request, read: (answer: Answer) => Promise<T>): Promise<T> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(request.query ?? {})) if (value !== undefined) query.set(name, String(value));
    const asked = query.toString();
    const headers: Record<string, string> = { ...(this.#key ? { Authorization: `Bearer ${this.#key}` } : {}), ...request.headers };
    let body: string | Uint8Array | undefined = request.bytes;
    if (request.json !== undefined) {
      headers["Content-Type"] = "application/json";
      body = JSON.stringify(request.json);
    } else if (body !== undefined) {
      headers["Content-Type"] ??= "application/octet-stream";
    }
    const deadline = new Deadline(request.signal, request.patience === undefined ? (request.bytes ? null : 2 * WAIT) : request.patience);
    try {
      const path = asked ? `${request.path}?${asked}` : request.path;
      const answer = await this.#wire.ask({ method: request.method, path, headers, body, signal: deadline.signal });
      deadline.met();
      // The API redirects nobody: what does is somebody else, who would get the key.
      if (answer.status < 300 || answer.status === 304) return await read({ ...answer, body: this.reading(answer.body, request, deadline) });
      throw errorOf(answer.status, answer.header, textOf(await collect(answer.body)));
    } catch (error) {
      deadline.over();
      throw lost(error, request, deadline.signal.aborted ? deadline.signal.reason : error);
    }
  }
}

/** What an error of the wire means; one who ended the request himself is told so. */
function lost(error: unknown, request: Request, why = error): unknown {
  if (error instanceof RingfortError) return error;
  if (request.signal?.aborted) return request.signal.reason;
  return new Unreachable(request.method, error, request.headers !== undefined && ONCE in request.headers, why);
}

/** Seconds to wait before it is asked again; null: it is not. */
function pauseBefore(attempt: number, retries: number, error: RingfortError, isRepeatable: boolean): number | null {
  if (attempt >= retries) return null;
  if (error instanceof Unreachable) return error.isRepeatable ? 0.1 * 2 ** attempt * (1 + Math.random()) : null;
  const isForAMoment = error instanceof TooManyRequests || (error.status === 503 && isRepeatable);
  return isForAMoment && error.retryAfter !== null && error.retryAfter <= PATIENCE ? error.retryAfter : null;
}
