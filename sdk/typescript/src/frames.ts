/** Frames of a WebSocket (RFC 6455), written and read.  No input or output. */
import { join } from "./bytes.js";
import type { Message } from "./inbox.js";

export const TEXT = 1;
export const BYTES = 2;
export const CLOSE = 8;
export const PING = 9;
export const PONG = 10;

const LARGEST = 64 << 20; // bytes of a message: what comes through a port was sent by whoever runs in the sandbox
const PART = 256; // what a part of one costs besides its bytes

/** Of frames that are none: the code to close with, and why. */
export class FrameError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** One frame.  What a client sends is masked. */
export function frame(kind: number, body: Uint8Array): Uint8Array {
  const wide = body.length < 126 ? 0 : body.length < 65536 ? 2 : 8;
  const all = new Uint8Array(2 + wide + 4 + body.length);
  const view = new DataView(all.buffer);
  all[0] = 0x80 | kind;
  all[1] = 0x80 | (wide === 0 ? body.length : wide === 2 ? 126 : 127);
  if (wide === 2) view.setUint16(2, body.length);
  if (wide === 8) view.setBigUint64(2, BigInt(body.length));
  const mask = crypto.getRandomValues(all.subarray(2 + wide, 6 + wide));
  for (let at = 0; at < body.length; at++) all[6 + wide + at] = body[at]! ^ mask[at & 3]!;
  return all;
}

export interface Heard {
  messages: Message[];
  /** Frames that have to be sent for what was heard. */
  answers: Uint8Array[];
  /** What came after that is none. */
  error: FrameError | null;
}

/** Takes frames apart, in whatever pieces they come. */
export class Frames {
  /** The code of the other side's last frame. */
  closed: number | null = null;
  private pieces: Uint8Array[] = [];
  private held = 0;
  private needed = 2; // bytes, before it is worth to look
  private isWithin = false; // a message whose last part has not come
  private parts: Uint8Array[] = [];
  private kind = 0;
  private size = 0;

  feed(bytes: Uint8Array): Heard {
    const heard: Heard = { messages: [], answers: [], error: null };
    this.pieces.push(bytes);
    this.held += bytes.length;
    if (this.held < this.needed) return heard;
    let unread = this.pieces.length === 1 ? bytes : join(this.pieces);
    try {
      for (let next = this.next(unread); next; next = this.closed === null ? this.next(unread) : null) {
        unread = unread.subarray(next.length);
        this.take(next.kind, next.isLast, next.body, heard);
      }
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      heard.error = error;
    }
    this.pieces = [unread];
    this.held = unread.length;
    return heard;
  }

  /** The next frame, if all of it is here. */
  private next(from: Uint8Array): { kind: number; isLast: boolean; body: Uint8Array; length: number } | null {
    this.needed = 2;
    if (from.length < this.needed) return null;
    const [first, second] = [from[0]!, from[1]!];
    const kind = first & 15;
    if (first & 0x70 || second & 0x80 || ![0, TEXT, BYTES, CLOSE, PING, PONG].includes(kind)) throw new FrameError(1002, "a frame that is none");
    let size = second & 0x7f;
    const wide = size === 126 ? 2 : size === 127 ? 8 : 0;
    if (kind >= CLOSE && (wide || !(first & 0x80))) throw new FrameError(1002, "a frame of control that is too long, or in parts");
    this.needed += wide;
    if (from.length < this.needed) return null;
    const view = new DataView(from.buffer, from.byteOffset, from.byteLength);
    if (wide === 2) size = view.getUint16(2);
    if (wide === 8) size = Number(view.getBigUint64(2));
    if (kind < CLOSE && this.size + size > LARGEST) throw new FrameError(1009, `a message of more than ${LARGEST} bytes`);
    this.needed += size;
    if (from.length < this.needed) return null;
    return { kind, isLast: (first & 0x80) !== 0, body: from.slice(2 + wide, this.needed), length: this.needed };
  }

  private take(kind: number, isLast: boolean, body: Uint8Array, heard: Heard): void {
    if (kind === PING) {
      heard.answers.push(frame(PONG, body));
    } else if (kind === CLOSE) {
      if (body.length === 1) throw new FrameError(1002, "a close without a code");
      this.closed = body.length ? (body[0]! << 8) | body[1]! : 1005;
      heard.answers.push(frame(CLOSE, body.subarray(0, 2)));
    } else if (kind < CLOSE) {
      if ((kind === 0) !== this.isWithin) throw new FrameError(1002, "parts of a message in disorder");
      if (kind) this.kind = kind;
      this.parts.push(body);
      this.size += body.length + PART;
      this.isWithin = !isLast;
      if (isLast) heard.messages.push(this.whole());
    }
  }

  private whole(): Message {
    const bytes = this.parts.length === 1 ? this.parts[0]! : join(this.parts);
    this.parts = [];
    this.size = 0;
    if (this.kind === BYTES) return bytes;
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new FrameError(1007, "text that is no UTF-8");
    }
  }
}
