/** Files of a sandbox. */
import { NotFound } from "./errors.js";
import type { Answer, Body, Line } from "./line.js";

export interface FileInfo {
  name: string;
  type: "file" | "folder" | "link" | "other";
  size: number;
  mode: string;
  modified_ms: number;
}

/** A file that was found, or a line of one. */
export interface Found extends Partial<FileInfo> {
  path: string;
  line?: number;
  text?: string;
}

export interface SearchOptions {
  /** A pattern of `*`, `?` and `[...]` for names without their folder. */
  name?: string;
  /** Text that a line has. */
  content?: string;
  limit?: number;
}

export class Files {
  constructor(
    private readonly line: Line,
    private readonly path: string,
  ) {}

  read(path: string, options?: { format?: "text" }): Promise<string>;
  read(path: string, options: { format: "bytes" }): Promise<Uint8Array>;
  read(path: string, options: { format: "blob" }): Promise<Blob>;
  read(path: string, options: { format: "stream" }): Promise<AsyncIterable<Uint8Array>>;
  async read(path: string, options: { format?: string } = {}): Promise<string | Uint8Array | Blob | AsyncIterable<Uint8Array>> {
    const answer = await this.ask("GET", path);
    if (options.format === "stream") return answer.body;
    const bytes = await this.line.whole(answer);
    if (options.format === "bytes") return bytes;
    return options.format === "blob" ? new Blob([bytes as BlobPart]) : new TextDecoder().decode(bytes);
  }

  readBytes(path: string): Promise<Uint8Array> {
    return this.read(path, { format: "bytes" });
  }

  /** Writes a file, or several, and makes the folders that lead to them. */
  write(path: string, data: Body): Promise<void>;
  write(files: { path: string; data: Body }[]): Promise<void>;
  async write(first: string | { path: string; data: Body }[], data: Body = ""): Promise<void> {
    const files = typeof first === "string" ? [{ path: first, data }] : first;
    for (const file of files) await this.drain(await this.ask("PUT", file.path, "", file.data));
  }

  async list(path: string): Promise<FileInfo[]> {
    return (await this.json<{ files: FileInfo[] }>(path, "/list")).files;
  }

  stat(path: string): Promise<FileInfo> {
    return this.json(path, "/stat");
  }

  /** The same. */
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
    await this.drain(await this.ask("DELETE", path));
  }

  async makeDir(path: string): Promise<void> {
    await this.line.json({ method: "POST", path: `${this.path}/files/mkdir`, json: { path } });
  }

  /** A file that has the new name is replaced, a folder never. */
  async move(from: string, to: string): Promise<void> {
    await this.line.json({ method: "POST", path: `${this.path}/files/move`, json: { from, to } });
  }

  /** The same. */
  rename(from: string, to: string): Promise<void> {
    return this.move(from, to);
  }

  /** Files by their names, or lines by their text. */
  async search(path: string, options: SearchOptions): Promise<Found[]> {
    const { name, content, limit } = options;
    const request = { method: "GET", path: `${this.path}/files/search`, query: { path, name, content, limit } };
    return (await this.line.json<{ found: Found[] }>(request as never)).found;
  }

  /** A folder as a tar archive. */
  async readArchive(path: string): Promise<Uint8Array> {
    return this.line.whole(await this.ask("GET", path, "/archive"));
  }

  /** Unpacks a tar archive into a folder. */
  async writeArchive(path: string, archive: Uint8Array): Promise<void> {
    await this.drain(await this.ask("PUT", path, "/archive", archive, { "Content-Type": "application/x-tar" }));
  }

  private ask(method: string, path: string, rest = "", bytes?: Body, headers: Record<string, string> = {}): Promise<Answer> {
    return this.line.send({ method, path: `${this.path}/files${rest}`, query: { path }, headers, ...(bytes === undefined ? {} : { bytes }) });
  }

  private json<T>(path: string, rest: string): Promise<T> {
    return this.line.json<T>({ method: "GET", path: `${this.path}/files${rest}`, query: { path } });
  }

  private async drain(answer: Answer): Promise<void> {
    await this.line.whole(answer);
  }
}
