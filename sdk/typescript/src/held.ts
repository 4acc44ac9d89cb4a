/** What has a line of its own. */
import "./dispose.js";

import { type ConnectionOptions, Line } from "./line.js";

/** `await using` lets go of it. */
export class Held {
  protected readonly line: Line;

  constructor(options: ConnectionOptions = {}) {
    this.line = new Line(options);
  }

  close(): Promise<void> {
    this.line.close();
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
