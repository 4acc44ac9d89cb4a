/** Agents: policies and workspaces under a name. */
import "./dispose.js";

import { type ConnectionOptions, Line } from "./line.js";
import { hasLabels, labelOf, type ListOptions, place, type RuleOptions, rules, seconds, type TimeOptions, told } from "./options.js";

export interface ReplaceOptions extends TimeOptions, Omit<RuleOptions, "needs" | "credentials" | "agent"> {
  /** One line. */
  description?: string;
  labels?: Record<string, string>;
}

export interface AgentOptions extends ConnectionOptions, ReplaceOptions {
  /** One that there is, and that stays; by default one of its own is made, with its name. */
  workspace?: string;
}

export interface DeleteOptions {
  /** Leaves the workspace that was made with it. */
  keepWorkspace?: boolean;
}

/** An agent; `policy`, `breaker` and `running` are told of one that is looked at by itself. */
export interface AgentInfo {
  name: string;
  description: string | null;
  labels: Record<string, string>;
  workspace: string;
  created: string;
  policy: Record<string, unknown> | null;
  breaker: Record<string, unknown> | null;
  running: Record<string, unknown>[] | null;
  raw: Record<string, unknown>;
}

type AgentDocument = Omit<AgentInfo, "raw" | "policy" | "breaker" | "running"> & Partial<Pick<AgentInfo, "policy" | "breaker" | "running">>;

function agentOf(raw: AgentDocument): AgentInfo {
  const { name, description, labels, workspace, created, policy = null, breaker = null, running = null } = raw;
  return { name, description, labels, workspace, created, policy, breaker, running, raw: { ...raw } };
}

function bodyOf(name: string, options: ReplaceOptions): Record<string, unknown> {
  const { description, labels, limits, profile, policy, beyond } = options;
  return { ...told({ name, description, labels, timeout: seconds(options) }), ...rules(told({ limits, profile, policy, beyond })) };
}

const AGENTS = "/v1/agents";

/** An agent of the key's tenant: a policy and a workspace under a name, which run({ agent }) and Sandbox.create({ agent }) go by. */
export class Agent {
  private readonly path: string;

  private constructor(
    readonly name: string,
    private readonly line: Line,
    /** Of create() with `beyond: "drop"`: what was asked for and not given. */
    readonly beyondCeiling: readonly string[] = [],
  ) {
    this.path = `${AGENTS}/${encodeURIComponent(name)}`;
  }

  /** Makes one, with a workspace of its own that goes with it, or one that there is and that stays. */
  static async create(name: string, options: AgentOptions = {}): Promise<Agent> {
    const json = { ...bodyOf(name, options), ...place(options.workspace) };
    const line = new Line(options);
    try {
      const made: { beyond_ceiling?: string[] } = await line.json({ method: "POST", path: AGENTS, json, signal: options.signal });
      return new Agent(name, line, made.beyond_ceiling);
    } catch (error) {
      line.close();
      throw error;
    }
  }

  /** One that there is. */
  static async connect(name: string, options: ConnectionOptions = {}): Promise<Agent> {
    const agent = new Agent(name, new Line(options));
    try {
      await agent.info();
    } catch (error) {
      await agent.close();
      throw error;
    }
    return agent;
  }

  /** All that the key's tenant has; with labels, those that have them. */
  static async list(options: ListOptions = {}): Promise<AgentInfo[]> {
    const line = new Line(options);
    try {
      const found = await line.pages<AgentDocument>(AGENTS, "agents", { label: labelOf(options.labels) }, options.signal);
      return found.filter((one) => hasLabels(one.labels, options.labels)).map(agentOf);
    } finally {
      line.close();
    }
  }

  async info(): Promise<AgentInfo> {
    return agentOf(await this.line.json({ method: "GET", path: this.path }));
  }

  /**
   * Puts another in its place at once, with the same name and workspace; what is not said is the default, as of a new one.
   *
   * What runs for it goes on as it is.
   */
  async replace(options: ReplaceOptions = {}): Promise<AgentInfo> {
    return agentOf(await this.line.json({ method: "PUT", path: this.path, json: bodyOf(this.name, options) }));
  }

  /** Removes it, and the workspace that was made with it, unless that is to stay. */
  async delete(options: DeleteOptions = {}): Promise<void> {
    await this.line.json({ method: "DELETE", path: this.path, query: { keep_workspace: options.keepWorkspace ? "true" : undefined } });
    await this.close();
  }

  /** Lets go of it; the agent stays. */
  close(): Promise<void> {
    this.line.close();
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
