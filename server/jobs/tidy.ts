import {
  countNoted,
  dropOldSearchTexts,
  expireClientFiles,
  expireUploads,
  fillSearchTexts,
  purgeDeleted,
} from "../images/index.ts";
import { doDuties, type Duty } from "../leases/index.ts";
import { pruneEnded, pruneNeeds, pruneOffers } from "../nodes/index.ts";
import { pruneAttempts, sumPastDays } from "../providers/index.ts";
import type { Services } from "../services.ts";
import { expireEphemeral, expireGuests, pruneEvents, pruneKeys, pruneSignIns } from "./cleanup.ts";
import { pruneLogs } from "./logs.ts";

const minuteMs = 60_000;

/** Remove expired rows with their files; `sweepOrphanObjects` removes files without rows. */
export const tidyDuties: readonly Duty[] = [
  { name: "expired results", everyMs: minuteMs, run: expireEphemeral },
  { name: "expired files of clients", everyMs: minuteMs, run: expireClientFiles },
  { name: "deleted pictures", everyMs: minuteMs, run: purgeDeleted },
  { name: "expired uploads", everyMs: minuteMs, run: expireUploads },
  { name: "search index", everyMs: minuteMs, run: ({ db }) => fillSearchTexts(db) },
  { name: "old search texts", everyMs: 360 * minuteMs, run: ({ db }) => dropOldSearchTexts(db) },
  { name: "counts of months", everyMs: minuteMs, run: countNoted },
  { name: "expired guests", everyMs: minuteMs, run: expireGuests },
  { name: "old events of jobs", everyMs: minuteMs, run: pruneEvents },
  { name: "old log lines of jobs", everyMs: minuteMs, run: pruneLogs },
  { name: "old idempotency keys", everyMs: minuteMs, run: pruneKeys },
  { name: "old sign-ins", everyMs: minuteMs, run: pruneSignIns },
  { name: "ended nodes", everyMs: minuteMs, run: pruneEnded },
  { name: "old needs", everyMs: minuteMs, run: pruneNeeds },
  { name: "old offers", everyMs: minuteMs, run: pruneOffers },
  { name: "old attempts of providers", everyMs: minuteMs, run: pruneAttempts },
  { name: "sums of past days", everyMs: minuteMs, run: sumPastDays },
];

/** All of them now, due or not. */
export async function tidy(services: Services): Promise<void> {
  await doDuties(services, tidyDuties, { isForced: true });
}
