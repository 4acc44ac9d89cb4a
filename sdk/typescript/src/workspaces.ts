/** Files that outlive sandboxes: where they are, and what came to them. */
import { Held } from "./held.js";

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

const ALL = "/v1/workspaces";
const pathOf = (name: string) => `${ALL}/${encodeURIComponent(name)}`;

/** The workspaces of the key's tenant; what is done to the files of one is a sandbox's that has it. */
export class Workspaces extends Held {
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
}
