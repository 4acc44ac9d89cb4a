/** Files of a sandbox. */
import { bytesFrom, type Data, join, randomName, textOf } from "./bytes.js";
import { NotFound } from "./errors.js";
import type { Line, Request, Whole } from "./line.js";
import { eventsOf } from "./result.js";

export interface FileInfo {
  name: string;
  type: "file" | "folder" | "link" | "other";
  size: number;
  mode: string;
  modifiedMs: number;
}

export interface WrittenFile {
  path: string;
  size: number;
}

/** A file that was found by its name, or a line that has a text. */
export interface Found {
  path: string;
  type: string | null;
  size: number | null;
  line: number | null;
  text: string | null;
}

/** `kind` is "created", "modified", "removed" or "renamed"; of the last, `old` is what it was called before. */
export interface FileEvent {
  kind: "created" | "modified" | "removed" | "renamed";
  path: string;
  type: string | null;
  old: string | null;
}

export interface SearchOptions {
  /** A pattern of `*`, `?` and `[...]` for names without their folder. */
  name?: string;
  /** Text that a line has. */
  content?: string;
  /** At most so many: 100. */
  limit?: number;
}

export interface WatchOptions {
  /** How often it is looked: 500. */
  intervalMs?: number;
  /** How far down: 64. */
  depth?: number;
  /** Ends it. */
  signal?: AbortSignal;
}

/** What watchDir() gives, as in E2B's SDK. */
export interface WatchHandle {
  stop(): Promise<void>;
}

type FileDocument = Omit<FileInfo, "modifiedMs"> & { modified_ms: number };

function infoOf({ name, type, size, mode, modified_ms }: FileDocument): FileInfo {
  return { name, type, size, mode, modifiedMs: modified_ms };
}

const KINDS = new Set(["created", "modified", "removed", "renamed"]);

/** Several files as the parts of a form: the type, and the bytes. */
async function formOf(files: [string, Data][]): Promise<[string, Uint8Array]> {
  const edge = `ringfort-${randomName()}`;
  const parts: Uint8Array[] = [];
  for (const [path, data] of files) {
    const name = path.replace(/["\r\n]/g, encodeURIComponent);
    const head = `--${edge}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n`;
    parts.push(await bytesFrom(head), await bytesFrom(data), await bytesFrom("\r\n"));
  }
  return [`multipart/form-data; boundary=${edge}`, join([...parts, await bytesFrom(`--${edge}--\r\n`)])];
}

/** The files of a sandbox. */
export class Files {
  private readonly path: string;

  constructor(
    private readonly line: Line,
    box: string,
  ) {
    this.path = `${box}/files`;
  }

  /** A file as text; or in one of the forms that E2B's SDK has, too. */
  read(path: string, options?: { format?: "text" }): Promise<string>;
  read(path: string, options: { format: "bytes" }): Promise<Uint8Array>;
  read(path: string, options: { format: "blob" }): Promise<Blob>;
  read(path: string, options: { format: "stream" }): Promise<AsyncIterable<Uint8Array>>;
  async read(path: string, options: { format?: string } = {}): Promise<string | Uint8Array | Blob | AsyncIterable<Uint8Array>> {
    if (options.format === "stream") return (await this.line.open(this.question("GET", path))).body;
    const bytes = await this.readBytes(path);
    if (options.format === "bytes") return bytes;
    return options.format === "blob" ? new Blob([bytes as BlobPart]) : textOf(bytes);
  }

  async readBytes(path: string): Promise<Uint8Array> {
    return (await this.ask("GET", path)).bytes;
  }

  /** A file in pieces, however large it is. */
  async *readStream(path: string): AsyncGenerator<Uint8Array, void> {
    yield* (await this.line.open(this.question("GET", path))).body;
  }

  /** Writes a file, and makes the folders that lead to it.  A list is written as by writeFiles(). */
  write(path: string, data: Data): Promise<void>;
  write(files: readonly { path: string; data: Data }[]): Promise<void>;
  async write(first: string | readonly { path: string; data: Data }[], data: Data = ""): Promise<void> {
    if (typeof first === "string") await this.ask("PUT", first, "", await bytesFrom(data));
    else await this.writeFiles(first);
  }

  /** Writes several files at once, by their paths. */
  async writeFiles(files: Record<string, Data> | readonly { path: string; data: Data }[]): Promise<WrittenFile[]> {
    const pairs = Array.isArray(files)
      ? (files as { path: string; data: Data }[]).map(({ path, data }): [string, Data] => [path, data])
      : Object.entries(files as Record<string, Data>);
    const [kind, bytes] = await formOf(pairs);
    const answer = await this.line.json<{ files: WrittenFile[] }>({ method: "POST", path: this.path, headers: { "Content-Type": kind }, bytes });
    return answer.files.map(({ path, size }) => ({ path, size }));
  }

  async list(path: string): Promise<FileInfo[]> {
    return (await this.json<{ files: FileDocument[] }>(path, "/list")).files.map(infoOf);
  }

  async stat(path: string): Promise<FileInfo> {
    return infoOf(await this.json(path, "/stat"));
  }

  getInfo(path: string): Promise<FileInfo> {
    return this.stat(path);
  }

  async exists(path: string): Promise<boolean> {
    try {
      await this.stat(path);
      return true;
    } catch (error) {
      if (error instanceof NotFound && error.where === "path") return false;
      throw error;
    }
  }

  /** Removes a file, or a folder with all that is in it. */
  async remove(path: string): Promise<void> {
    await this.ask("DELETE", path);
  }

  /** Makes a folder, and those that lead to it. */
  async makeDir(path: string): Promise<void> {
    await this.line.json({ method: "POST", path: `${this.path}/mkdir`, json: { path } });
  }

  /** What changes beneath a folder, from now on and for as long as it is gone through. */
  async *watch(path: string, options: WatchOptions = {}): AsyncGenerator<FileEvent, void> {
    for await (const event of this.changes(path, options)) if (event) yield event;
  }

  /** The same for who has a function to be called: done when the folder is watched. */
  async watchDir(
    path: string,
    onEvent: (event: FileEvent) => void | Promise<void>,
    options: WatchOptions & { onExit?: (error?: unknown) => void | Promise<void> } = {},
  ): Promise<WatchHandle> {
    const ends = new AbortController();
    options.signal?.addEventListener("abort", () => ends.abort(), { once: true });
    const changes = this.changes(path, { ...options, signal: ends.signal });
    await changes.next(); // it is watched now
    const told = (async () => {
      for await (const event of changes) if (event) await onEvent(event);
    })().then(
      () => options.onExit?.(),
      (error: unknown) => options.onExit?.(ends.signal.aborted ? undefined : error),
    );
    return { stop: async () => (ends.abort(), await told) };
  }

  move(from: string, to: string): Promise<void> {
    return this.rename(from, to);
  }

  /** Moves a file or a folder; a file that has the new name is replaced, a folder never. */
  async rename(from: string, to: string): Promise<void> {
    await this.line.json({ method: "POST", path: `${this.path}/move`, json: { from, to } });
  }

  /** Files beneath a folder by a pattern for their names, or the lines that have a text. */
  async search(path: string, options: SearchOptions): Promise<Found[]> {
    const { name, content, limit } = options;
    const query = { path, name, content, limit };
    const { found } = await this.line.json<{ found: (Partial<Found> & { path: string })[] }>({ method: "GET", path: `${this.path}/search`, query });
    return found.map((row) => ({ path: row.path, type: row.type ?? null, size: row.size ?? null, line: row.line ?? null, text: row.text ?? null }));
  }

  /** A folder, or a file, as a tar archive. */
  async readArchive(path: string): Promise<Uint8Array> {
    return (await this.ask("GET", path, "/archive")).bytes;
  }

  /** Unpacks a tar archive into a folder. */
  async writeArchive(path: string, archive: Uint8Array): Promise<void> {
    await this.ask("PUT", path, "/archive", archive, "application/x-tar");
  }

  /** What changes; null first, when it is watched. */
  private async *changes(path: string, { intervalMs, depth, signal }: WatchOptions): AsyncGenerator<FileEvent | null, void> {
    const query = { path, interval_ms: intervalMs, depth };
    const headers = { Accept: "text/event-stream" };
    const answer = await this.line.open({ method: "GET", path: `${this.path}/watch`, query, headers, signal });
    for await (const [name, data] of eventsOf(answer)) {
      const said = data as { path: string; type?: string; from?: string };
      if (name === "watching") yield null;
      else if (KINDS.has(name)) yield { kind: name as FileEvent["kind"], path: said.path, type: said.type ?? null, old: said.from ?? null };
    }
  }

  private question(method: string, path: string, rest = ""): Request {
    return { method, path: this.path + rest, query: { path } };
  }

  private ask(method: string, path: string, rest = "", bytes?: Uint8Array, kind = "application/octet-stream"): Promise<Whole> {
    const body = bytes === undefined ? {} : { bytes, headers: { "Content-Type": kind } };
    return this.line.ask({ ...this.question(method, path, rest), ...body });
  }

  private json<T>(path: string, rest: string): Promise<T> {
    return this.line.json<T>(this.question("GET", path, rest));
  }
}
