/** A WebSocket: that of a terminal, or through a port to what listens in a sandbox. */
import { Unreachable } from "./errors.js";
import { Inbox, type Message } from "./inbox.js";
import type { Line } from "./line.js";
import type { Outlet } from "./wire.js";

const NORMAL = 1000;

/** One that is open.  To go through it (`for await`) is to read until it ends. */
export class PortSocket {
  private constructor(
    private readonly outlet: Outlet,
    private readonly inbox: Inbox,
  ) {}

  /** @internal */
  static async open(line: Line, path: string, protocols: string[], beneath = "/"): Promise<PortSocket> {
    const inbox = new Inbox();
    return new PortSocket(await line.connect(path, protocols, inbox, beneath), inbox);
  }

  /** What the other side has chosen of the protocols; empty if none. */
  get protocol(): string {
    return this.outlet.protocol;
  }

  /** The code that it was closed with; null while it is open. */
  get closed(): number | null {
    return this.inbox.closed;
  }

  /** A text for text, bytes for bytes; done when there is room for more. */
  async send(data: string | Uint8Array): Promise<void> {
    if (this.closed !== null) throw new Unreachable("GET", new Error(`the connection is closed (${this.closed})`));
    await this.outlet.send(data);
  }

  /** The next message; waits for it, up to so many seconds.  null: none came in time, or it is closed. */
  async receive(wait?: number): Promise<Message | null> {
    const message = await this.inbox.take(wait === undefined ? undefined : wait * 1000);
    if (message === null && this.inbox.error !== null) throw new Unreachable("GET", this.inbox.error);
    return message;
  }

  close(): Promise<void> {
    this.outlet.close(NORMAL);
    this.inbox.end(NORMAL);
    return Promise.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Message, void> {
    for (let message = await this.receive(); message !== null; message = await this.receive()) yield message;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
