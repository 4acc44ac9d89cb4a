/** The network of a sandbox: what it may reach, and what it has. */
import type { Line } from "./line.js";

export interface NetworkState {
  network: unknown;
  credentials: string[];
  /** Of a change: rules that the key's ceiling does not allow as they are. */
  beyond_ceiling?: string[];
}

export class Network {
  constructor(
    private readonly line: Line,
    private readonly path: string,
  ) {}

  /** The rules that hold. */
  get(): Promise<NetworkState> {
    return this.line.json({ method: "GET", path: `${this.path}/network` });
  }

  /** Other rules from now on, all of them: as `network` of a policy. */
  set(network: Record<string, unknown>): Promise<NetworkState> {
    return this.line.json({ method: "PUT", path: `${this.path}/network`, json: { network } });
  }

  /** What happened since; `cursor` of the answer goes into the next call. */
  log(cursor?: number): Promise<{ events: Record<string, unknown>[]; cursor: number }> {
    return this.line.json({ method: "GET", path: `${this.path}/network/log`, query: { cursor } as Record<string, number> });
  }

  /** What it came to, host by host. */
  summary(): Promise<Record<string, unknown>> {
    return this.line.json({ method: "GET", path: `${this.path}/network/summary` });
  }
}
