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
    super(more.remedy ? `${message} (${more.remedy})` : message);
    this.name = new.target.name;
    this.code = more.code ?? "";
    this.remedy = more.remedy ?? null;
    this.where = more.where ?? null;
    this.status = more.status ?? 0;
    this.requestId = more.requestId ?? "";
    this.retryAfter = more.retryAfter ?? null;
  }
}

export interface ErrorFields {
  code: string;
  remedy: string | null;
  where: string | null;
  status: number;
  requestId: string;
  retryAfter: number | null;
}

/** A field is wrong, unknown or too large. */
export class InvalidRequest extends RingfortError {}
/** No key, or one that is not good for this. */
export class NotAuthorized extends RingfortError {}
/** The policy, its ceiling or the sandbox does not allow it. */
export class Refused extends RingfortError {}
/** It is not there, or is another tenant's. */
export class NotFound extends RingfortError {}
/** Not as things are now. */
export class Conflict extends RingfortError {}
/** The key has as much as it may; `retryAfter` says when to come again. */
export class TooManyRequests extends RingfortError {}
/** Right, and not of this version of the server, or of its machine. */
export class Unsupported extends RingfortError {}
/** The server failed, or can't be reached. */
export class ServerError extends RingfortError {}

const kinds: Record<string, typeof RingfortError> = {
  malformed: InvalidRequest,
  invalid: InvalidRequest,
  too_large: InvalidRequest,
  no_type: InvalidRequest,
  no_method: InvalidRequest,
  no_range: InvalidRequest,
  no_key: NotAuthorized,
  forbidden: NotAuthorized,
  refused: Refused,
  not_found: NotFound,
  conflict: Conflict,
  too_many: TooManyRequests,
  unsupported: Unsupported,
};

/** The error that an answer is. */
export function errorOf(status: number, header: (name: string) => string | null, text: string): RingfortError {
  let said: { code?: string; message?: string; remedy?: string | null; where?: string | null } = {};
  try {
    said = (JSON.parse(text) as { error?: typeof said }).error ?? {};
  } catch {
    // it is somebody else's: a proxy's, for example
  }
  const after = header("retry-after");
  const Kind = kinds[said.code ?? ""] ?? ServerError;
  return new Kind(said.message ?? `the server answered ${status}`, {
    code: said.code ?? "",
    remedy: said.remedy ?? null,
    where: said.where ?? null,
    status,
    requestId: header("x-request-id") ?? "",
    retryAfter: after === null ? null : Number(after),
  });
}
