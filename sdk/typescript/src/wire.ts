/** What carries requests to a server: node.ts in Node, web.ts in a page. */
import type { Inbox } from "./inbox.js";

/** An answer whose body is not read yet. */
export interface Answer {
  status: number;
  header(name: string): string | null;
  fields: [string, string][];
  body: AsyncIterable<Uint8Array>;
}

export interface Question {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | Uint8Array | undefined;
  signal?: AbortSignal | undefined;
  /** A path that ends in a slash: what leads there may be followed by who does that itself, and nothing else. */
  beneath?: string | undefined;
}

/** The way out of a WebSocket; its way in is an Inbox. */
export interface Outlet {
  /** What the other side has chosen of the protocols. */
  readonly protocol: string;
  /** Done when there is room for more. */
  send(data: string | Uint8Array): Promise<void>;
  close(code: number): void;
}

export interface Wire {
  /** Fails where there is no answer; any answer is one. */
  ask(question: Question): Promise<Answer>;
  /** A WebSocket, within so many seconds; the answer, where it did not become one and it is known. */
  connect(path: string, key: string | undefined, protocols: string[], inbox: Inbox, seconds: number): Promise<Outlet | Answer>;
  close(): void;
}
