/** What can't be done, each kind a class.  The same names as in the Python SDK. */

/** `code` is for programs; `message` and `remedy` are for people; `where` is the field that it is about. */
export class RingfortError extends Error {
  readonly code: string;
  readonly remedy: string | null;
  readonly where: string | null;
  /** Of the answer; 0 where there was none. */
  readonly status: number;
  readonly requestId: string;
  /** Seconds until it is worth another try, where the server says so. */
  readonly retryAfter: number | null;

  constructor(message: string, more: Partial<ErrorFields> = {}) {
    super(more.remedy ? `${message} (${more.remedy})` : message, more.cause === undefined ? {} : { cause: more.cause });
    this.name = new.target.name;
    this.code = more.code ?? "";
    this.remedy = more.remedy ?? null;
    this.where = more.where ?? null;
    this.status = more.status ?? 0;
    this.requestId = more.requestId ?? "";
    this.retryAfter = more.retryAfter ?? null;
  }
}

interface ErrorFields {
  code: string;
  remedy: string | null;
  where: string | null;
  status: number;
  requestId: string;
  retryAfter: number | null;
  conflicts: readonly string[];
  cause: unknown;
}

/** A field is wrong, unknown or too large. */
export class InvalidRequest extends RingfortError {}
/** No key, or one that is not good for this. */
export class NotAuthorized extends RingfortError {}
/** The policy, its ceiling or the sandbox does not allow it. */
export class Refused extends RingfortError {}
/** It is not there, or is another tenant's. */
export class NotFound extends RingfortError {}
/** Not as things are now.  Of an apply, `conflicts` are the paths that both have changed. */
export class Conflict extends RingfortError {
  readonly conflicts: readonly string[];

  constructor(message: string, more: Partial<ErrorFields> = {}) {
    super(message, more);
    this.conflicts = more.conflicts ?? [];
  }
}
/** The key has as much as it may; `retryAfter` says when to come again. */
export class TooManyRequests extends RingfortError {}
/** Right, and not of this version of the server, or of its machine. */
export class Unsupported extends RingfortError {}
/** The server failed, or can't be reached. */
export class ServerError extends RingfortError {}

/** It can't be reached, or the connection was lost; `wasSent`: it may have been done all the same. */
export class Unreachable extends ServerError {
  readonly wasSent: boolean;
  /** Nothing would be done twice by asking again. */
  readonly isRepeatable: boolean;

  /** `why` is what is told, where the error itself does not say it. */
  constructor(method: string, error: unknown, hasKey = false, why: unknown = error) {
    const cause = why instanceof Error && why.cause instanceof Error ? why.cause : why;
    const words = cause instanceof Error ? cause.message || String((cause as { code?: unknown }).code ?? cause.name) : String(cause);
    super(`the server can't be reached: ${words}`, { code: "unavailable", cause: error });
    this.wasSent = (error as { wasSent?: unknown } | null)?.wasSent !== false;
    this.isRepeatable = method === "GET" || method === "PUT" || !this.wasSent || hasKey;
  }
}

/** Marks an error of a connection that was never made.  (A browser does not tell.) */
export function notSent(error: unknown): unknown {
  return Object.assign(error instanceof Error ? error : new Error(String(error)), { wasSent: false });
}

const kinds = new Map<string, typeof RingfortError>([
  ["malformed", InvalidRequest],
  ["invalid", InvalidRequest],
  ["too_large", InvalidRequest],
  ["no_type", InvalidRequest],
  ["no_method", InvalidRequest],
  ["no_range", InvalidRequest],
  ["no_key", NotAuthorized],
  ["forbidden", NotAuthorized],
  ["refused", Refused],
  ["not_found", NotFound],
  ["conflict", Conflict],
  ["under_way", Conflict],
  ["too_many", TooManyRequests],
  ["unsupported", Unsupported],
]);

const wordsOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** The error that an answer is.  One that is not of our form is somebody else's: a proxy's, for example. */
export function errorOf(status: number, header: (name: string) => string | null, text: string): RingfortError {
  let said: Record<string, unknown> = {};
  let paths: unknown;
  try {
    const { error, conflicts } = JSON.parse(text) as { error?: unknown; conflicts?: unknown };
    if (typeof error === "object" && error !== null) said = error as Record<string, unknown>;
    paths = conflicts;
  } catch {
    // no JSON
  }
  const code = wordsOf(said["code"]) ?? "";
  const after = Number(header("retry-after") ?? NaN);
  const Kind = kinds.get(code) ?? ServerError;
  return new Kind(wordsOf(said["message"]) ?? `the server answered ${status}`, {
    code,
    remedy: wordsOf(said["remedy"]),
    where: wordsOf(said["where"]),
    status,
    requestId: header("x-request-id") ?? "",
    retryAfter: Number.isFinite(after) ? after : null,
    conflicts: Array.isArray(paths) ? paths.filter((path) => typeof path === "string") : [],
  });
}
