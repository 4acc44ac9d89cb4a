/** What is said of programs and sandboxes.  Some things have two names: ours, and the one that users of E2B type. */
import { toBase64 } from "./bytes.js";
import type { ConnectionOptions } from "./line.js";
import type { Listeners } from "./result.js";

/** A line for a shell, or words. */
export type Words = string | readonly string[];
/** Text as UTF-8, or bytes. */
export type Input = string | Uint8Array;

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
  profile?: string | readonly string[];
  policy?: Record<string, unknown>;
  /** What it can't do without: what can't be given is refused before anything runs. */
  needs?: { isolation?: string; network?: boolean };
  /** Credentials of the tenant, by name, that the gateway adds to requests. */
  credentials?: readonly string[];
  /** One of the tenant's agents, for which it is: its policy holds, and it has its workspace unless another is named. */
  agent?: string;
  /** What becomes of what is named beyond the key's ceiling: it is refused, or left out and listed (`beyondCeiling`). */
  beyond?: "refuse" | "drop";
}

export interface StartOptions extends TimeOptions, EnvOptions {
  cwd?: string;
  stdin?: Input;
  signal?: AbortSignal;
}

export interface ProgramOptions extends StartOptions, Listeners {}

export interface CodeOptions extends Omit<ProgramOptions, "stdin"> {
  /** One of those that the machine has: "python". */
  language?: string;
}

export interface RunOptions extends ConnectionOptions, RuleOptions, TimeOptions, EnvOptions, Listeners {
  argv?: Words;
  command?: string;
  code?: string;
  language?: string;
  stdin?: Input;
  cwd?: string;
  /** Brought along beneath /code. */
  files?: Record<string, Input>;
  /** A workspace, by its name: at /work. */
  workspace?: string;
  /** Names or patterns of files that are wanted of it: `files` of the result. */
  outputs?: readonly string[];
}

export interface CreateOptions extends ConnectionOptions, RuleOptions, TimeOptions, EnvOptions {
  labels?: Record<string, string>;
  /** The same. */
  metadata?: Record<string, string>;
  /** Seconds without a request and without a program, after which it ends. */
  idleTimeout?: number;
  /** A workspace at /work: by its name, or `true` for one that goes with the sandbox. */
  workspace?: string | boolean;
}

export interface ListOptions extends ConnectionOptions {
  /** Those that have them. */
  labels?: Record<string, string>;
}

/** What was not said is not sent. */
export function told(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

export function seconds(options: TimeOptions): number | undefined {
  if (options.timeout !== undefined) return options.timeout;
  return options.timeoutMs === undefined ? undefined : Math.max(1, Math.ceil(options.timeoutMs / 1000));
}

export function inputOf(data: Input, name: string): Record<string, string> {
  return typeof data === "string" ? { [name]: data } : { [`${name}_base64`]: toBase64(data) };
}

export function rules(options: RuleOptions): Record<string, unknown> {
  const { limits, profile, policy, needs, credentials, agent, beyond } = options;
  return told({ limits, profile, policy, needs, credentials, agent, beyond });
}

/** The label that a server looks for. */
export function labelOf(labels: Record<string, string> = {}): string | undefined {
  const [first] = Object.entries(labels);
  return first && `${first[0]}=${first[1]}`;
}

export function hasLabels(there: Record<string, string>, labels: Record<string, string> = {}): boolean {
  return Object.entries(labels).every(([name, value]) => there[name] === value);
}

export function words(command: Words): Record<string, unknown> {
  return typeof command === "string" ? { command } : { argv: command };
}

export function place(workspace: string | boolean | undefined): Record<string, unknown> {
  return workspace ? { workspace: workspace === true ? {} : { name: workspace } } : {};
}

export function programOf(options: StartOptions): Record<string, unknown> {
  return {
    ...told({ cwd: options.cwd, env: options.env ?? options.envs, timeout: seconds(options) }),
    ...(options.stdin === undefined ? {} : inputOf(options.stdin, "stdin")),
  };
}
