/** Requests that wait until somebody decides. */
import { fromBase64 } from "./bytes.js";
import { Held } from "./held.js";
import { told } from "./options.js";

/** A request of a sandbox's that waits until somebody decides.  `head`, `body` and `isCut` are of one that waits and was asked for by itself. */
export interface Approval {
  id: string;
  state: "waiting" | "approved" | "denied" | "expired";
  sandbox: string | null;
  agent: string | null;
  method: string;
  /** Without its query. */
  url: string;
  size: number;
  asked: string;
  expires: string;
  reason: string | null;
  head: string | null;
  body: Uint8Array | null;
  isCut: boolean;
  raw: Record<string, unknown>;
}

/** What became of one: `status` is what it was answered with, or null; `refused` says that the gateway did not send it. */
export interface Decision {
  id: string;
  state: "approved" | "denied";
  status: number | null;
  refused: string | null;
}

type ApprovalDocument = Pick<Approval, "id" | "state" | "method" | "size" | "asked" | "expires"> &
  Partial<Pick<Approval, "sandbox" | "agent" | "reason" | "head">> & {
    scheme: string;
    host: string;
    port: number;
    path: string;
    body?: string;
    body_base64?: string;
    is_cut?: boolean;
  };

function bodyOf({ body, body_base64 }: ApprovalDocument): Uint8Array | null {
  if (body !== undefined) return new TextEncoder().encode(body);
  return body_base64 === undefined ? null : fromBase64(body_base64);
}

function approvalOf(raw: ApprovalDocument): Approval {
  const { id, state, sandbox = null, agent = null, method, size, asked, expires, reason = null, head = null } = raw;
  const url = `${raw.scheme}://${raw.host}:${raw.port}${raw.path}`;
  return { id, state, sandbox, agent, method, url, size, asked, expires, reason, head, body: bodyOf(raw), isCut: raw.is_cut ?? false, raw: { ...raw } };
}

const ALL = "/v1/approvals";
const pathOf = (id: string) => `${ALL}/${encodeURIComponent(id)}`;

/** Requests of the tenant's sandboxes that wait until somebody decides: of policies, or keys, with `network: { writes: "hold" }`. */
export class Approvals extends Held {
  /** Those that wait, the oldest first; of one sandbox, or all. */
  async list(sandbox?: string): Promise<Approval[]> {
    return (await this.line.pages<ApprovalDocument>(ALL, "approvals", { sandbox })).map(approvalOf);
  }

  /** One of them, with its head and the beginning of its body; credentials are placeholders there. */
  async get(id: string): Promise<Approval> {
    return approvalOf(await this.line.json({ method: "GET", path: pathOf(id) }));
  }

  /** Has it sent now; takes a key with scope `admin`.  Conflict: it was decided before. */
  approve(id: string, reason?: string): Promise<Decision> {
    return this.decide(id, "approve", reason);
  }

  /** It is never sent; the same. */
  deny(id: string, reason?: string): Promise<Decision> {
    return this.decide(id, "deny", reason);
  }

  private async decide(id: string, how: string, reason?: string): Promise<Decision> {
    const raw = await this.line.json<Pick<Decision, "id" | "state"> & Partial<Decision>>({ method: "POST", path: `${pathOf(id)}/${how}`, json: told({ reason }), patience: null });
    return { id: raw.id, state: raw.state, status: raw.status ?? null, refused: raw.refused ?? null };
  }
}
