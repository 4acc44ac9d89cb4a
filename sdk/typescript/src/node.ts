/**
 * The wire in Node: over TCP, TLS or a unix socket, by node:http.
 *
 * Not by Node's own fetch: that gives up on an answer after five minutes, and knows neither sockets nor certificates.
 */
import { textOf } from "./bytes.js";
import { notSent } from "./errors.js";
import { BYTES, CLOSE, frame, Frames, PONG, TEXT } from "./frames.js";
import type { Inbox } from "./inbox.js";
import type { Answer, Outlet, Question, Wire } from "./wire.js";

/* Of Node what is used here: this package has no types of Node's. */
interface NodeAnswer extends AsyncIterable<Uint8Array> {
  statusCode?: number;
  rawHeaders: string[];
  headers: Record<string, string | string[] | undefined>;
}
interface NodeSocket {
  on(event: "data", fn: (bytes: Uint8Array) => void): void;
  on(event: "error", fn: (error: Error) => void): void;
  on(event: "close", fn: () => void): void;
  on(event: "drain", fn: () => void): void;
  off(event: "drain" | "close", fn: () => void): void;
  write(bytes: Uint8Array): boolean;
  destroy(): void;
  destroySoon(): void;
  pause(): void;
  resume(): void;
  setNoDelay(isOn: boolean): void;
}
interface NodeRequest {
  reusedSocket: boolean;
  on(event: "socket", fn: (socket: { once(event: string, fn: () => void): void }) => void): void;
  on(event: "response", fn: (answer: NodeAnswer) => void): void;
  on(event: "upgrade", fn: (answer: NodeAnswer, socket: NodeSocket, head: Uint8Array) => void): void;
  on(event: "error", fn: (error: Error) => void): void;
  end(body?: string | Uint8Array): void;
  destroy(error: Error): void;
}
interface NodeAgent {
  destroy(): void;
}
interface NodeHttp {
  request(options: object): NodeRequest;
  Agent: new (options: object) => NodeAgent;
}
interface NodeFiles {
  readFile(path: string): Promise<Uint8Array>;
}
interface NodeCrypto {
  createHash(name: string): { update(text: string): { digest(form: "base64"): string } };
}

/** Milliseconds that a connection is kept for the next request: well before a server would close it, just when it is used again. */
const IDLE = 5000;
/** Milliseconds between two signs of life of who does not read: a server takes us for gone after 75 seconds. */
const BEAT = 25000;

export const isNode = Boolean((globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node);

/** By a name that is no constant, so that what bundles for browsers does not look for it. */
function load<T>(name: string): Promise<T> {
  return import(/* @vite-ignore */ /* webpackIgnore: true */ `node:${name}`) as Promise<T>;
}

function answerOf(answer: NodeAnswer): Answer {
  const fields: [string, string][] = [];
  for (let at = 0; at + 1 < answer.rawHeaders.length; at += 2) fields.push([answer.rawHeaders[at]!, answer.rawHeaders[at + 1]!]);
  return {
    status: answer.statusCode ?? 0,
    fields,
    header(name) {
      const value = answer.headers[name.toLowerCase()];
      return value === undefined ? null : Array.isArray(value) ? value.join(", ") : value;
    },
    body: answer,
  };
}

export class NodeWire implements Wire {
  /* Not to be printed: what is under way has headers with the key. */
  #ready: Promise<{ http: NodeHttp; where: object }> | null = null;
  #agent: NodeAgent | null = null;

  /** `ca` is a file with the certificates to believe. */
  constructor(
    private readonly url: URL,
    private readonly socketPath: string | null,
    private readonly ca: string | undefined,
  ) {}

  /** Node's http follows no redirect: who asks a port is told of it. */
  async ask({ method, path, headers, body, signal }: Question): Promise<Answer> {
    const length = body === undefined ? {} : { "Content-Length": String(typeof body === "string" ? new TextEncoder().encode(body).length : body.length) };
    const { http, where } = await this.settled();
    return new Promise((resolve, reject) => {
      const request = http.request({ ...where, method, path, headers: { ...headers, ...length }, ...(signal ? { signal } : {}) });
      request.on("response", (answer) => resolve(answerOf(answer)));
      this.mind(request, reject);
      request.end(body);
    });
  }

  async connect(path: string, key: string | undefined, protocols: string[], inbox: Inbox, seconds: number): Promise<Outlet | Answer> {
    const { http, where } = await this.settled();
    const { createHash } = await load<NodeCrypto>("crypto");
    const nonce = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(16))));
    const proof = createHash("sha1").update(`${nonce}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    const headers = {
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": nonce,
      ...(protocols.length ? { "Sec-WebSocket-Protocol": protocols.join(", ") } : {}),
      ...(key ? { "X-API-Key": key } : {}),
    };
    return new Promise((resolve, reject) => {
      const request = http.request({ ...where, agent: false, method: "GET", path, headers });
      const timer = setTimeout(() => request.destroy(new Error(`no answer within ${seconds} seconds`)), seconds * 1000);
      request.on("response", (answer) => (clearTimeout(timer), resolve(answerOf(answer))));
      this.mind(request, (error) => (clearTimeout(timer), reject(error)));
      request.on("upgrade", (answer, socket, head) => {
        clearTimeout(timer);
        if (answer.headers["sec-websocket-accept"] !== proof) {
          socket.destroy();
          reject(new Error("what answered is no WebSocket"));
          return;
        }
        const outlet = new NodeOutlet(socket, String(answer.headers["sec-websocket-protocol"] ?? ""), inbox);
        outlet.hear(head);
        resolve(outlet);
      });
      request.end();
    });
  }

  close(): void {
    this.#agent?.destroy();
    this.#agent = null;
    this.#ready = null;
  }

  /** Tells an error, and whether the request can have been heard by then. */
  private mind(request: NodeRequest, reject: (error: unknown) => void): void {
    let isOpen = false;
    request.on("socket", (socket) => {
      if (!request.reusedSocket) socket.once(this.url.protocol === "https:" ? "secureConnect" : "connect", () => (isOpen = true));
    });
    request.on("error", (error) => reject(isOpen || request.reusedSocket ? error : notSent(error)));
  }

  private async settled(): Promise<{ http: NodeHttp; where: object }> {
    try {
      return await (this.#ready ??= this.settle());
    } catch (error) {
      this.#ready = null;
      throw notSent(error);
    }
  }

  private async settle(): Promise<{ http: NodeHttp; where: object }> {
    const isSafe = this.url.protocol === "https:";
    const http = await load<NodeHttp>(isSafe ? "https" : "http");
    const ca = isSafe && this.ca ? { ca: textOf(await (await load<NodeFiles>("fs/promises")).readFile(this.ca)) } : {};
    this.#agent = new http.Agent({ keepAlive: true, timeout: IDLE });
    const host = this.url.hostname.replace(/^\[|\]$/g, "");
    const where = this.socketPath ? { socketPath: this.socketPath } : { host, ...(this.url.port ? { port: Number(this.url.port) } : {}), ...ca };
    return { http, where: { ...where, agent: this.#agent } };
  }
}

class NodeOutlet implements Outlet {
  private readonly frames = new Frames();
  private beats: ReturnType<typeof setInterval> | undefined;
  readonly #socket: NodeSocket; // nor this: it knows the request that it began with

  constructor(
    socket: NodeSocket,
    readonly protocol: string,
    private readonly inbox: Inbox,
  ) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (bytes) => this.hear(bytes));
    socket.on("error", (error) => inbox.end(1006, error));
    socket.on("close", () => (clearInterval(this.beats), inbox.end(1006)));
    inbox.onRoom = (hasRoom) => this.hold(!hasRoom);
  }

  /** While nothing is read no question is heard either: that we are here is said without one. */
  private hold(isHeld: boolean): void {
    clearInterval(this.beats);
    this.beats = undefined;
    if (!isHeld) return void this.#socket.resume();
    this.#socket.pause();
    this.beats = setInterval(() => this.#socket.write(frame(PONG, new Uint8Array())), BEAT);
    (this.beats as { unref?(): void }).unref?.();
  }

  hear(bytes: Uint8Array): void {
    if (!bytes.length || this.inbox.closed !== null) return;
    const { messages, answers, error } = this.frames.feed(bytes);
    for (const message of messages) this.inbox.put(message);
    for (const answer of answers) this.#socket.write(answer);
    if (error) this.end(error.code, error);
    else if (this.frames.closed !== null) this.over(this.frames.closed);
  }

  async send(data: string | Uint8Array): Promise<void> {
    const isText = typeof data === "string";
    if (this.#socket.write(frame(isText ? TEXT : BYTES, isText ? new TextEncoder().encode(data) : data))) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        this.#socket.off("drain", done);
        this.#socket.off("close", done);
        resolve();
      };
      this.#socket.on("drain", done);
      this.#socket.on("close", done);
    });
  }

  close(code: number): void {
    if (this.inbox.closed === null) this.end(code);
  }

  /** By us: the other side is told why. */
  private end(code: number, error: unknown = null): void {
    this.#socket.write(frame(CLOSE, new Uint8Array([code >> 8, code & 255])));
    this.over(code, error);
  }

  private over(code: number, error: unknown = null): void {
    this.inbox.end(code, error);
    this.#socket.destroySoon();
  }
}
