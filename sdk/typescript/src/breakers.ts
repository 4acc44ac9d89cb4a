/** What stops agents. */
import { Held } from "./held.js";
import { told } from "./options.js";

/** What stops an agent; `reason` and `retryMs` are told in a list. */
export interface Breaker {
  name: string;
  state: "closed" | "open" | "half-open";
  reason: string | null;
  retryMs: number | null;
  raw: Record<string, unknown>;
}

export interface TripOptions {
  reason?: string;
  /** For so long; without it, until it is reset. */
  seconds?: number;
}

type BreakerDocument = Pick<Breaker, "name" | "state"> & { reason?: string | null; retry_ms?: number | null };

function breakerOf(raw: BreakerDocument): Breaker {
  return { name: raw.name, state: raw.state, reason: raw.reason ?? null, retryMs: raw.retry_ms ?? null, raw: { ...raw } };
}

const ALL = "/v1/breakers";
const pathOf = (name: string) => `${ALL}/${encodeURIComponent(name)}`;

/** The breakers of the tenant's agents, by the agents' names. */
export class Breakers extends Held {
  /** Those that are open first. */
  async list(): Promise<Breaker[]> {
    return (await this.line.json<{ breakers: BreakerDocument[] }>({ method: "GET", path: ALL })).breakers.map(breakerOf);
  }

  /** Opens one, for so long or until it is reset: nothing begins for the agent then.  Takes a key with scope `admin`. */
  async trip(name: string, { reason, seconds }: TripOptions = {}): Promise<Breaker> {
    return breakerOf(await this.line.json({ method: "POST", path: `${pathOf(name)}/trip`, json: told({ reason, seconds }) }));
  }

  /** Closes one, and forgets what the agent has spent; the same. */
  async reset(name: string): Promise<Breaker> {
    return breakerOf(await this.line.json({ method: "POST", path: `${pathOf(name)}/reset` }));
  }
}
