/** The way to a server: over HTTP by `fetch`, or, in Node, by a unix socket. */
import { errorOf, RingfortError, ServerError } from "./errors.js";

/** Where the server is, and who asks.  `RINGFORT_URL` and `RINGFORT_KEY` are read where there is an environment. */
export interface ConnectionOptions {
  /** `http://127.0.0.1:7070`, or in Node `unix:/run/user/1000/ringfort/api.sock`, which goes by the user. */
  url?: string;
  key?: string;
  /** The same, as users of E2B call it. */
  apiKey?: string;
  /** Ends the request. */
  signal?: AbortSignal;
}

export type Body = Uint8Array | string;

/** An answer whose body is not read yet. */
export interface Answer {
  status: number;
  header(name: string): string | null;
  body: AsyncIterable<Uint8Array>;
}

export interface Request {
  method: string;
  path: string;
  query?: Record<string, string | number | undefined>;
  json?: unknown;
  bytes?: Body;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

const DEFAULT_URL = "http://127.0.0.1:7070";

function environment(name: string): string | undefined {
  const process = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process;
  return process?.env?.[name];
}

async function* chunksOf(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (!stream) return;
  const reader = stream.getReader();
  let isWhole = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isWhole = done;
      if (done) return;
      yield value;
    }
  } finally {
    if (!isWhole) await reader.cancel().catch(() => undefined); // who stops to read does not want the rest
    reader.releaseLock();
  }
}

export async function bytesOf(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of body) {
    parts.push(part);
    length += part.length;
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** One that is used for many requests; it holds nothing that had to be closed. */
export class Line {
  private readonly base: string;
  private readonly socket: string | null;
  private readonly headers: Record<string, string>;

  constructor(options: ConnectionOptions = {}) {
    const url = options.url ?? environment("RINGFORT_URL") ?? DEFAULT_URL;
    const key = options.key ?? options.apiKey ?? environment("RINGFORT_KEY");
    this.socket = url.startsWith("unix:") ? url.slice("unix:".length) : null;
    this.base = this.socket ? "http://localhost" : url.replace(/\/+$/, "");
    this.headers = key ? { Authorization: `Bearer ${key}` } : {};
  }

  /** The answer, if it is a good one; else the error that it tells. */
  async send(request: Request): Promise<Answer> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(request.query ?? {}))
      if (value !== undefined) query.set(name, String(value));
    const path = query.size ? `${request.path}?${query}` : request.path;
    const headers = { ...this.headers, ...request.headers };
    let body: Body | undefined = request.bytes;
    if (request.json !== undefined) {
      headers["Content-Type"] = "application/json";
      body = JSON.stringify(request.json);
    } else if (body !== undefined) {
      headers["Content-Type"] ??= "application/octet-stream";
    }
    let answer: Answer;
    try {
      answer = this.socket
        ? await askSocket(this.socket, request.method, path, headers, body, request.signal)
        : await askFetch(this.base + path, request.method, headers, body, request.signal);
    } catch (error) {
      throw unreachable(error, request.signal);
    }
    if (answer.status < 400) return answer;
    throw errorOf(answer.status, answer.header, new TextDecoder().decode(await bytesOf(answer.body)));
  }

  async json<T>(request: Request): Promise<T> {
    const answer = await this.send(request);
    const text = new TextDecoder().decode(await this.whole(answer, request.signal));
    return (text ? JSON.parse(text) : undefined) as T;
  }

  /** All of a body. */
  async whole(answer: Answer, signal?: AbortSignal): Promise<Uint8Array> {
    try {
      return await bytesOf(answer.body);
    } catch (error) {
      throw unreachable(error, signal);
    }
  }
}

export function unreachable(error: unknown, signal?: AbortSignal): unknown {
  if (error instanceof RingfortError || signal?.aborted) return error;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const words = cause instanceof Error ? cause.message : String(cause);
  return new ServerError(`the server can't be reached: ${words}`, { code: "unavailable" });
}

async function askFetch(url: string, method: string, headers: Record<string, string>, body?: Body, signal?: AbortSignal): Promise<Answer> {
  const answer = await fetch(url, {
    method,
    headers,
    ...(body === undefined ? {} : { body: body as BodyInit }),
    ...(signal ? { signal } : {}),
  });
  return { status: answer.status, header: (name) => answer.headers.get(name), body: chunksOf(answer.body) };
}

/* Of node:http what is used here: this package has no types of Node's. */
interface NodeAnswer extends AsyncIterable<Uint8Array> {
  statusCode?: number;
  headers: Record<string, string | string[] | undefined>;
}
interface NodeRequest {
  on(event: "response", fn: (answer: NodeAnswer) => void): void;
  on(event: "error", fn: (error: Error) => void): void;
  end(body?: Body): void;
}
interface NodeHttp {
  request(options: object): NodeRequest;
}

async function askSocket(socketPath: string, method: string, path: string, headers: Record<string, string>, body?: Body, signal?: AbortSignal): Promise<Answer> {
  const name = "node:http"; // so that what bundles for browsers does not look for it
  const http = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as NodeHttp;
  const answer = await new Promise<NodeAnswer>((resolve, reject) => {
    const length = typeof body === "string" ? new TextEncoder().encode(body).length : (body?.length ?? 0);
    const fields = body === undefined ? headers : { ...headers, "Content-Length": String(length) };
    const request = http.request({ socketPath, method, path, headers: fields, ...(signal ? { signal } : {}) });
    request.on("response", resolve);
    request.on("error", reject);
    request.end(body);
  });
  return {
    status: answer.statusCode ?? 0,
    header(field) {
      const value = answer.headers[field.toLowerCase()];
      return value === undefined ? null : Array.isArray(value) ? value.join(", ") : value;
    },
    body: answer,
  };
}
