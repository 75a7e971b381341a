import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { bareAddress } from "./addresses.ts";

/** Name of the header, in and out. */
export const requestIdHeader = "X-Request-Id";

/** What a client or a proxy may send: nothing that could break a log line or grow it. */
const acceptable = /^[A-Za-z0-9._:@/+=-]{1,128}$/;

/** Who sends a request, and from where. */
export interface Sender {
  /** The address as the front door knows it behind `TRUSTED_PROXIES`; null where there is none. */
  readonly address: string | null;
  /** How the program names itself: `User-Agent`, cut at 500 characters. */
  readonly agent: string | null;
  /** Null until a caller is resolved. */
  userId: string | null;
  /** Of the API key that the request carries. */
  keyId: string | null;
  /** A command on this machine. */
  readonly isOperator?: boolean;
}

interface Request {
  readonly id: string;
  readonly sender: Sender;
  isAnswered: boolean;
}

interface Received {
  /** The header's value. */
  readonly id: string | null | undefined;
  /** `X-Forwarded-For`, which the front door sets to the one address of the client. */
  readonly forwardedFor?: string | null | undefined;
  /** `User-Agent`. */
  readonly agent?: string | null | undefined;
}

/** Far above any header of a browser. */
const maxAgentLength = 500;

const current = new AsyncLocalStorage<Request>();

/**
 * Runs `answer` under the id of its request: the header's value if it is acceptable, else a new one. Log lines, problems
 * and jobs made meanwhile carry the id. What runs on after the answer, such as a poll that the request started, does not.
 */
export async function underRequestId<Answer>(
  { id: header, forwardedFor, agent }: Received,
  answer: (id: string) => Promise<Answer> | Answer,
): Promise<Answer> {
  // The prefix tells a generated id from the id of a job.
  const id = header && acceptable.test(header) ? header : `req-${randomUUID()}`;
  const address = bareAddress(forwardedFor?.split(",")[0] ?? "");
  const sender = { address, agent: agent?.slice(0, maxAgentLength) ?? null, userId: null, keyId: null };
  const request: Request = { id, sender, isAnswered: false };
  try {
    return await current.run(request, async () => answer(id));
  } finally {
    request.isAnswered = true;
  }
}

/** Runs a command of an operator: what it does to an account is no act of the account's user. */
export function asOperator<Result>(command: () => Promise<Result>): Promise<Result> {
  const sender: Sender = { address: null, agent: null, userId: null, keyId: null, isOperator: true };
  return current.run({ id: "", sender, isAnswered: true }, command);
}

/** The id of the request that this code answers; null outside of one. */
export function currentRequestId(): string | null {
  const request = current.getStore();
  return request && !request.isAnswered ? request.id : null;
}

/** The sender of the request that this code runs for, also after its answer; null outside of one. */
export function currentSender(): Readonly<Sender> | null {
  return current.getStore()?.sender ?? null;
}

/** Notes whose session or key the current request carries. */
export function noteSender({ userId, keyId }: Pick<Sender, "userId" | "keyId">): void {
  const sender = current.getStore()?.sender;
  if (sender) Object.assign(sender, { userId, keyId });
}
