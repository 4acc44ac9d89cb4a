/**
 * The client of a Ringfort server, which runs code that nobody reviewed in disposable boxes.
 *
 * For Node 20 and later and for browsers; needs nothing else.
 */

export { Agent, type AgentInfo, type AgentOptions, type DeleteOptions, type ReplaceOptions } from "./agent.js";
export { type Approval, Approvals, type Decision } from "./approvals.js";
export { Audit, type AuditEvent, type AuditOptions, type AuditPage, type FollowOptions } from "./audit.js";
export { type Breaker, Breakers, type TripOptions } from "./breakers.js";
export type { Data } from "./bytes.js";
export { Commands, type ProcessInfo, Program } from "./commands.js";
export {
  Conflict,
  InvalidRequest,
  NotAuthorized,
  NotFound,
  Refused,
  RingfortError,
  ServerError,
  TooManyRequests,
  Unreachable,
  Unsupported,
} from "./errors.js";
export { type FileEvent, type FileInfo, Files, type Found, type SearchOptions, type WatchHandle, type WatchOptions, type WrittenFile } from "./files.js";
export type { ConnectionOptions } from "./line.js";
export { type ChangeOptions, type Network, type NetworkLog, SandboxNetwork } from "./network.js";
export type { CodeOptions, CreateOptions, ListOptions, ProgramOptions, RunOptions, StartOptions } from "./options.js";
export { CommandError, type Event, Result, type ResultDocument, type Status } from "./result.js";
export { type Metrics, type PortRequest, run, runStream, Sandbox, type SandboxInfo } from "./sandbox.js";
export { PortSocket } from "./socket.js";
export { Pty, Terminal, type TerminalOptions } from "./terminal.js";
export { type Applied, type ApplyOptions, type Checkpoint, type Workspace, Workspaces } from "./workspaces.js";
export { Sandbox as default } from "./sandbox.js";
