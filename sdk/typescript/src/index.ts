/**
 * The client of a Ringfort server, which runs code that nobody reviewed in disposable boxes.
 *
 * For Node 18 and later and for browsers; needs nothing else.
 */

export { Commands, Program, type ProgramInfo } from "./commands.js";
export * from "./errors.js";
export { type FileInfo, Files, type Found, type SearchOptions } from "./files.js";
export type { ConnectionOptions } from "./line.js";
export { Network, type NetworkState } from "./network.js";
export type { CreateOptions, ProgramOptions, RunOptions } from "./options.js";
export { CommandError, type OutputEvent, Result, type ResultDocument, type Status } from "./result.js";
export { type Checkpoint, run, runStream, Sandbox, type SandboxInfo } from "./sandbox.js";
export { Sandbox as default } from "./sandbox.js";
