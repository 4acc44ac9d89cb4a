/** The network of a sandbox: what it may reach, and what it did. */
import type { Line } from "./line.js";
import { told } from "./options.js";

/** Which rules hold; `beyondCeiling` is what was asked for with `beyond: "drop"` and not given, as "network.allow: b.example". */
export interface Network {
  rules: Record<string, unknown>;
  credentials: string[];
  beyondCeiling: string[];
}

export interface ChangeOptions {
  /** What becomes of what is named beyond the key's ceiling: it is refused, and nothing changes; or it is left out and listed. */
  beyond?: "refuse" | "drop";
}

export interface NetworkLog {
  events: Record<string, unknown>[];
  /** Goes into the next call. */
  cursor: number;
  /** Events that are kept no more. */
  lost: number;
}

interface NetworkDocument {
  network: Record<string, unknown>;
  credentials: string[];
  beyond_ceiling?: string[];
}

function networkOf(raw: NetworkDocument): Network {
  return { rules: raw.network, credentials: raw.credentials, beyondCeiling: raw.beyond_ceiling ?? [] };
}

/** What a sandbox may reach: of a server that gives its sandboxes a network. */
export class SandboxNetwork {
  private readonly path: string;

  constructor(
    private readonly line: Line,
    box: string,
  ) {
    this.path = `${box}/network`;
  }

  /** What holds now. */
  async get(): Promise<Network> {
    return networkOf(await this.line.json({ method: "GET", path: this.path }));
  }

  /** Other rules from now on, as `network` of a policy; what holds then is within the key's ceiling. */
  async set(rules: Record<string, unknown>, options: ChangeOptions = {}): Promise<Network> {
    const json = { network: rules, ...told({ beyond: options.beyond }) };
    return networkOf(await this.line.json({ method: "PUT", path: this.path, json }));
  }

  /** These rules besides those that hold. */
  async allow(hosts: Iterable<string>, options: ChangeOptions = {}): Promise<Network> {
    const { rules } = await this.get();
    return this.set({ ...rules, allow: [...((rules["allow"] as string[] | undefined) ?? []), ...hosts] }, options);
  }

  /** What its network did, from a cursor on. */
  log(cursor = 0): Promise<NetworkLog> {
    return this.line.json({ method: "GET", path: `${this.path}/log`, query: { cursor } });
  }

  /** What it came to, host by host. */
  summary(): Promise<Record<string, unknown>> {
    return this.line.json({ method: "GET", path: `${this.path}/summary` });
  }
}
