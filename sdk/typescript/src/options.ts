/** What is said of programs and sandboxes.  Some things have two names: ours, and the one that users of E2B type. */
import type { ConnectionOptions, Body } from "./line.js";
import type { Listeners } from "./result.js";
import { toBase64 } from "./result.js";

export interface TimeOptions {
  /** Seconds. */
  timeout?: number;
  /** The same in milliseconds. */
  timeoutMs?: number;
}

export interface EnvOptions {
  env?: Record<string, string>;
  /** The same. */
  envs?: Record<string, string>;
}

/** What a box may do: docs/policy.md.  The ceiling of the key holds. */
export interface RuleOptions {
  limits?: Record<string, string | number>;
  profile?: string | string[];
  policy?: Record<string, unknown>;
  needs?: { isolation?: string; network?: boolean };
  /** Credentials of the tenant, by name, that the gateway adds to requests. */
  credentials?: string | string[];
}

export interface ProgramOptions extends TimeOptions, EnvOptions, Listeners {
  cwd?: string;
  stdin?: Body;
  signal?: AbortSignal;
}

export interface RunOptions extends ConnectionOptions, RuleOptions, TimeOptions, EnvOptions, Listeners {
  argv?: string[];
  command?: string;
  code?: string;
  language?: string;
  stdin?: Body;
  /** Brought along beneath /code. */
  files?: Record<string, Body>;
}

export interface CreateOptions extends ConnectionOptions, RuleOptions, TimeOptions, EnvOptions {
  labels?: Record<string, string>;
  /** The same. */
  metadata?: Record<string, string>;
  /** Seconds without a request and without a program, after which it ends. */
  idleTimeout?: number;
  /** A workspace at /work: by its name, or `true` for one that goes with the sandbox. */
  workspace?: string | true;
}

/** What was not said is not sent. */
export function told(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

export function seconds(options: TimeOptions): number | undefined {
  if (options.timeout !== undefined) return options.timeout;
  return options.timeoutMs === undefined ? undefined : Math.max(1, Math.ceil(options.timeoutMs / 1000));
}

export function input(stdin: Body | undefined): Record<string, unknown> {
  if (stdin === undefined) return {};
  return typeof stdin === "string" ? { stdin } : { stdin_base64: toBase64(stdin) };
}

export function rules(options: RuleOptions): Record<string, unknown> {
  const { limits, profile, policy, needs, credentials } = options;
  return told({ limits, profile, policy, needs, credentials });
}

export function words(command: string | string[]): Record<string, unknown> {
  return typeof command === "string" ? { command } : { argv: command };
}

export function programOf(options: ProgramOptions): Record<string, unknown> {
  return { ...told({ cwd: options.cwd, env: options.env ?? options.envs, timeout: seconds(options) }), ...input(options.stdin) };
}
