/** Messages that came and were not taken yet. */
export type Message = string | Uint8Array;

const ROOM = 1 << 20; // bytes that may wait before whoever sends is made to wait

export class Inbox {
  /** The code that the connection was closed with; null while it is open. */
  closed: number | null = null;
  error: unknown = null;
  /** Told when there is room again, or none. */
  onRoom: (hasRoom: boolean) => void = () => undefined;
  private readonly messages: Message[] = [];
  private readonly waiting = new Set<() => void>();
  private size = 0;

  put(message: Message): void {
    if (this.closed !== null) return;
    this.messages.push(message);
    this.size += message.length;
    if (this.size > ROOM) this.onRoom(false);
    this.wake();
  }

  /** No more will come. */
  end(code: number, error: unknown = null): void {
    if (this.closed !== null) return;
    this.closed = code;
    this.error = error;
    this.wake();
  }

  /** The next; null if none comes in time, or at all. */
  async take(waitMs?: number): Promise<Message | null> {
    const until = waitMs === undefined ? Infinity : Date.now() + waitMs;
    while (!this.messages.length && this.closed === null && Date.now() < until) await this.sleep(until);
    const message = this.messages.shift();
    if (message === undefined) return null;
    const wasFull = this.size > ROOM;
    this.size -= message.length;
    if (wasFull && this.size <= ROOM) this.onRoom(true);
    return message;
  }

  private wake(): void {
    for (const tell of this.waiting) tell();
  }

  private sleep(until: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = until === Infinity ? undefined : setTimeout(() => done(), Math.max(0, until - Date.now()) + 1);
      const done = () => {
        clearTimeout(timer);
        this.waiting.delete(done);
        resolve();
      };
      this.waiting.add(done);
    });
  }
}
