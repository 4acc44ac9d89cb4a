/** Files that outlive sandboxes: where they are, and what came to them. */
import { Held } from "./held.js";
import type { Line } from "./line.js";
import { told } from "./options.js";

/** What the files of a workspace were at some time. */
export interface Checkpoint {
  number: number;
  name: string;
  created: string;
}

/** Files that outlive sandboxes. */
export interface Workspace {
  name: string;
  created: string;
  /** False: it goes with its sandbox. */
  named: boolean;
  inUse: boolean;
  /** Of which it is a fork. */
  origin: string | null;
}

export interface ApplyOptions {
  /** Whose word counts where both have changed something; "fail", which is the default: nothing is done then. */
  conflicts?: "fail" | "fork" | "origin";
  /** Tells what would be done, and does nothing. */
  dryRun?: boolean;
}

/** What an apply did to the origin of a fork, or would do; `checkpoint` brings back what was before. */
export interface Applied {
  origin: string;
  dryRun: boolean;
  checkpoint: number | null;
  added: number;
  modified: number;
  deleted: number;
  /** By path. */
  changes: Record<string, "added" | "modified" | "deleted">;
  /** Those of them that act later on who uses the files: "git hook". */
  protected: Record<string, string>;
  conflicts: string[];
  truncated: boolean;
}

type WorkspaceDocument = Omit<Workspace, "inUse"> & { in_use: boolean };
type AppliedDocument = Omit<Applied, "dryRun" | "changes" | "protected"> & {
  dry_run: boolean;
  changes: { path: string; change: "added" | "modified" | "deleted"; protected: string | null }[];
};

export function workspaceOf(raw: WorkspaceDocument): Workspace {
  return { name: raw.name, created: raw.created, named: raw.named, inUse: raw.in_use, origin: raw.origin ?? null };
}

export function appliedOf(raw: AppliedDocument): Applied {
  const { origin, checkpoint, added, modified, deleted, conflicts, truncated } = raw;
  const changes = Object.fromEntries(raw.changes.map((row) => [row.path, row.change]));
  const later = Object.fromEntries(raw.changes.flatMap((row) => (row.protected ? [[row.path, row.protected]] : [])));
  return { origin, dryRun: raw.dry_run, checkpoint, added, modified, deleted, changes, protected: later, conflicts, truncated };
}

/** What is done to the files of a workspace, by its own name or by a sandbox that has it: by the path that leads to it. */
export class Place {
  constructor(
    private readonly line: Line,
    private readonly path: string,
  ) {}

  checkpoint(name?: string): Promise<Checkpoint> {
    return this.line.json({ method: "POST", path: `${this.path}/checkpoints`, json: told({ name }), patience: null });
  }

  async checkpoints(): Promise<Checkpoint[]> {
    return (await this.line.json<{ checkpoints: Checkpoint[] }>({ method: "GET", path: `${this.path}/checkpoints` })).checkpoints;
  }

  async deleteCheckpoint(number: number): Promise<void> {
    await this.line.json({ method: "DELETE", path: `${this.path}/checkpoints/${encodeURIComponent(number)}`, patience: null });
  }

  undo(to: number | string): Promise<Checkpoint> {
    return this.line.json({ method: "POST", path: `${this.path}/undo`, json: { to: String(to) }, patience: null });
  }

  async diff(since: number | string, to?: number | string): Promise<string> {
    return (await this.line.json<{ unified: string }>({ method: "GET", path: `${this.path}/diff`, query: { from: since, to } })).unified;
  }

  async fork(name: string): Promise<Workspace> {
    return workspaceOf(await this.line.json({ method: "POST", path: `${this.path}/fork`, json: { name }, patience: null }));
  }

  async apply({ conflicts, dryRun }: ApplyOptions): Promise<Applied> {
    return appliedOf(await this.line.json({ method: "POST", path: `${this.path}/apply`, json: told({ conflicts, dry_run: dryRun }), patience: null }));
  }
}

const ALL = "/v1/workspaces";
const pathOf = (name: string) => `${ALL}/${encodeURIComponent(name)}`;

/**
 * The workspaces of the key's tenant, by their names.
 *
 * What is done to the files of one is a sandbox's, too, in which everything stands still meanwhile; asked for by name, what programs write meanwhile may be
 * half there.
 */
export class Workspaces extends Held {
  private place(name: string): Place {
    return new Place(this.line, pathOf(name));
  }

  /** Makes one that is empty. */
  async create(name: string): Promise<Workspace> {
    return workspaceOf(await this.line.json({ method: "POST", path: ALL, json: { name } }));
  }

  async list(): Promise<Workspace[]> {
    return (await this.line.json<{ workspaces: WorkspaceDocument[] }>({ method: "GET", path: ALL })).workspaces.map(workspaceOf);
  }

  async get(name: string): Promise<Workspace> {
    return workspaceOf(await this.line.json({ method: "GET", path: pathOf(name) }));
  }

  /** Removes it, with its checkpoints.  Conflict: a sandbox has it. */
  async delete(name: string): Promise<void> {
    await this.line.json({ method: "DELETE", path: pathOf(name) });
  }

  /** Keeps its files as they are, under a number and maybe a name. */
  checkpoint(workspace: string, name?: string): Promise<Checkpoint> {
    return this.place(workspace).checkpoint(name);
  }

  checkpoints(workspace: string): Promise<Checkpoint[]> {
    return this.place(workspace).checkpoints();
  }

  /** Takes a checkpoint away, and makes room for another. */
  deleteCheckpoint(workspace: string, number: number): Promise<void> {
    return this.place(workspace).deleteCheckpoint(number);
  }

  /** Brings the files of a checkpoint back, by its number or name. */
  undo(workspace: string, to: number | string): Promise<Checkpoint> {
    return this.place(workspace).undo(to);
  }

  /** What has changed since a checkpoint, or between two, as a unified diff. */
  diff(workspace: string, since: number | string, to?: number | string): Promise<string> {
    return this.place(workspace).diff(since, to);
  }

  /** Another workspace that begins with its files. */
  fork(workspace: string, name: string): Promise<Workspace> {
    return this.place(workspace).fork(name);
  }

  /**
   * Brings what has changed in it, which is a fork, back into the one that it is a fork of.
   *
   * What both have changed is a Conflict, whose `conflicts` are the paths, unless the word of one of them counts.
   */
  apply(workspace: string, options: ApplyOptions = {}): Promise<Applied> {
    return this.place(workspace).apply(options);
  }
}
