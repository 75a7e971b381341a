import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";

/** Name of the header, in and out. */
export const requestIdHeader = "X-Request-Id";

/** What a client or a proxy may send: nothing that could break a log line or grow it. */
const acceptable = /^[A-Za-z0-9._:@/+=-]{1,128}$/;

interface Request {
  readonly id: string;
  isAnswered: boolean;
}

const current = new AsyncLocalStorage<Request>();

/**
 * Runs `answer` under the id of its request: the header's value if it is acceptable, else a new one. Log lines, problems
 * and jobs made meanwhile carry the id. What runs on after the answer, such as a poll that the request started, does not.
 */
export async function underRequestId<Answer>(
  header: string | null | undefined,
  answer: (id: string) => Promise<Answer> | Answer,
): Promise<Answer> {
  // The prefix tells a generated id from the id of a job.
  const id = header && acceptable.test(header) ? header : `req-${randomUUID()}`;
  const request = { id, isAnswered: false };
  try {
    return await current.run(request, async () => answer(id));
  } finally {
    request.isAnswered = true;
  }
}

/** The id of the request that this code answers; null outside of one. */
export function currentRequestId(): string | null {
  const request = current.getStore();
  return request && !request.isAnswered ? request.id : null;
}
