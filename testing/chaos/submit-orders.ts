import type { SubmitOptions } from "@atelier/server/jobs";

/** Where the process dies: after the job was accepted, or after it was let out of the line; before the bell in both. */
export type DeathPoint = "accepted" | "queued";

/** What `submit-and-die.ts` is told, as JSON in this variable. */
export interface SubmitOrders {
  readonly submitter: SubmitOptions["submitter"];
  readonly request: unknown;
  readonly point: DeathPoint;
}

export const ordersName = "ATELIER_TEST_SUBMIT";
