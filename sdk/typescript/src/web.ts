/** The wire in a page: `fetch` and `WebSocket`. */
import type { Inbox } from "./inbox.js";
import type { Answer, Outlet, Question, Wire } from "./wire.js";

const ROOM = 1 << 20; // bytes that may wait to be sent
const OUR_CLOSE = 1000;

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

export class WebWire implements Wire {
  constructor(private readonly base: string) {}

  /**
   * A browser follows redirects by itself, with all headers, and lets no script see where they lead.  The API has none, so there they
   * are errors.  Of a port's, the server names those alone that stay beneath it, and hands any other over as X-Ringfort-Location.
   */
  async ask({ method, path, headers, body, signal, beneath }: Question): Promise<Answer> {
    const answer = await fetch(this.base + path, {
      method,
      headers,
      redirect: beneath === undefined ? "error" : "follow",
      ...(body === undefined ? {} : { body: body as BodyInit }),
      ...(signal ? { signal } : {}),
    });
    if (answer.redirected && !answer.url.startsWith(new URL(this.base + (beneath ?? "/")).href)) {
      await answer.body?.cancel();
      throw new Error("a redirect leads away from the port");
    }
    return { status: answer.status, fields: [...answer.headers], header: (name) => answer.headers.get(name), body: chunksOf(answer.body) };
  }

  /** A script can't set a header here: the key goes as the name of a protocol.  Why it failed is not told to scripts either. */
  connect(path: string, key: string | undefined, protocols: string[], inbox: Inbox, seconds: number): Promise<Outlet | Answer> {
    const socket = new WebSocket(this.base.replace(/^http/, "ws") + path, [...protocols, ...(key ? [`key.${key}`] : [])]);
    socket.binaryType = "arraybuffer";
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => socket.close(), seconds * 1000);
      socket.onopen = () => (clearTimeout(timer), resolve(new WebOutlet(socket)));
      socket.onmessage = ({ data }) => inbox.put(typeof data === "string" ? data : new Uint8Array(data as ArrayBuffer));
      socket.onclose = ({ code }) => {
        clearTimeout(timer);
        inbox.end(code);
        reject(new Error("the WebSocket could not be opened"));
      };
    });
  }

  close(): void {}
}

class WebOutlet implements Outlet {
  constructor(private readonly socket: WebSocket) {}

  get protocol(): string {
    return this.socket.protocol;
  }

  async send(data: string | Uint8Array): Promise<void> {
    this.socket.send(data as string);
    while (this.socket.bufferedAmount > ROOM && this.socket.readyState === WebSocket.OPEN) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  /** Of the codes that there are a script may send few. */
  close(code: number): void {
    this.socket.close(code === OUR_CLOSE || (code >= 3000 && code < 5000) ? code : OUR_CLOSE);
  }
}
