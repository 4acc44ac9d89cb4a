/** What is recorded. */
import { RingfortError, Unreachable } from "./errors.js";
import { Held } from "./held.js";
import { eventsOf } from "./result.js";

export interface FollowOptions {
  /** A moment, `2026-11-16T06:50:00Z`, or how long ago: `10m`, `2h`, `7d`. */
  since?: string;
  /** `run.ended`, or a family of kinds: `run`. */
  kind?: string;
  box?: string;
  verdict?: string;
  /** Where to go on from. */
  cursor?: string;
  /** Ends it. */
  signal?: AbortSignal;
}

export interface AuditOptions extends FollowOptions {
  /** Those before it. */
  until?: string;
  /** At most so many: 100. */
  limit?: number;
}

/** What is recorded; `cursor` leads on behind it, where it was followed. */
export interface AuditEvent {
  kind: string;
  time: string;
  cursor: string | null;
  raw: Record<string, unknown>;
}

/** Some of it; `nextCursor` is there while there is more, `cursor` always, to go on from later. */
export interface AuditPage {
  events: AuditEvent[];
  cursor: string;
  nextCursor: string | null;
}

const PATH = "/v1/audit";
const SILENCE = 60; // seconds: a server that is there says something every 15

function eventOf(raw: Record<string, unknown>, cursor: string | null = null): AuditEvent {
  return { kind: String(raw["kind"]), time: String(raw["time"]), cursor, raw };
}

/** The same; who says nothing for too long is gone, which a connection alone may never tell. */
export async function* heard(body: AsyncIterable<Uint8Array>, ends: AbortController, seconds = SILENCE): AsyncGenerator<Uint8Array> {
  const parts = body[Symbol.asyncIterator]();
  const late = () => ends.abort(new Unreachable("GET", new Error(`nothing was heard for ${seconds} seconds`)));
  try {
    for (;;) {
      const timer = setTimeout(late, seconds * 1000);
      const next = await parts.next().finally(() => clearTimeout(timer));
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await parts.return?.();
  }
}

/** What is recorded of the key's tenant. */
export class Audit extends Held {
  /** Some of it, the oldest first. */
  async page(options: AuditOptions = {}): Promise<AuditPage> {
    const { signal, ...query } = options;
    const raw = await this.line.json<{ events: Record<string, unknown>[]; cursor: string; next_cursor: string | null }>({
      method: "GET",
      path: PATH,
      query: { ...query },
      signal,
    });
    return { events: raw.events.map((row) => eventOf(row)), cursor: raw.cursor, nextCursor: raw.next_cursor };
  }

  /** Events as they are written, from now on, or from `since` or behind `cursor`.  Goes on where it was when a connection is lost. */
  async *follow(options: FollowOptions = {}): AsyncGenerator<AuditEvent, void> {
    const { since, kind, box, verdict, cursor, signal } = options;
    let last = cursor;
    for (let failures = 0; ; failures++) {
      const ends = new AbortController();
      const pass = () => ends.abort(signal?.reason);
      signal?.addEventListener("abort", pass, { once: true });
      if (signal?.aborted) pass();
      let failure: RingfortError = new Unreachable("GET", new Error("the stream ended"));
      try {
        const headers: Record<string, string> = { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) };
        const answer = await this.line.open({ method: "GET", path: PATH, query: { since, kind, box, verdict }, headers, signal: ends.signal });
        try {
          for await (const [name, data, id] of eventsOf({ ...answer, body: heard(answer.body, ends) })) {
            last = id ?? last;
            failures = 0; // it was reached
            if (name === "audit") yield eventOf(data, last ?? null);
          }
        } catch (error) {
          if (!(error instanceof Unreachable)) throw error;
          failure = error;
        }
      } finally {
        signal?.removeEventListener("abort", pass);
      }
      await this.line.rest(failures, failure, signal);
    }
  }
}
