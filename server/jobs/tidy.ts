import { expireClientFiles, expireUploads, fillSearchTexts, purgeDeleted } from "../images/index.ts";
import { pruneEnded, pruneNeeds } from "../nodes/index.ts";
import { pruneAttempts, sumPastDays } from "../providers/index.ts";
import type { Services } from "../services.ts";
import { expireEphemeral, expireGuests, pruneEvents, pruneKeys, pruneSignIns } from "./cleanup.ts";
import { pruneLogs } from "./logs.ts";

/** Recurring work that nobody waits for. */
export interface Duty {
  readonly name: string;
  readonly everyMs: number;
  readonly run: (services: Services) => Promise<unknown>;
}

const minuteMs = 60_000;

/** Removes expired rows with their files, in each worker. `sweepOrphanObjects` removes files without rows. */
const tidyDuties: readonly Duty[] = [
  { name: "results of ephemeral jobs", everyMs: minuteMs, run: expireEphemeral },
  { name: "files of clients", everyMs: minuteMs, run: expireClientFiles },
  { name: "deleted pictures", everyMs: minuteMs, run: purgeDeleted },
  { name: "uploads", everyMs: minuteMs, run: expireUploads },
  { name: "texts of the search", everyMs: minuteMs, run: ({ db }) => fillSearchTexts(db) },
  { name: "guests", everyMs: minuteMs, run: expireGuests },
  { name: "events", everyMs: minuteMs, run: pruneEvents },
  { name: "logs", everyMs: minuteMs, run: pruneLogs },
  { name: "idempotency keys", everyMs: minuteMs, run: pruneKeys },
  { name: "sign-ins", everyMs: minuteMs, run: pruneSignIns },
  { name: "ended nodes", everyMs: minuteMs, run: pruneEnded },
  { name: "needs", everyMs: minuteMs, run: pruneNeeds },
  { name: "attempts of providers", everyMs: minuteMs, run: pruneAttempts },
  { name: "sums of past days", everyMs: minuteMs, run: sumPastDays },
];

/**
 * The tidying of one process: each call runs the duties that are due, one after the other, and returns the pause until the
 * next one is, in ms. A duty that fails is logged and rests for its own pause; the others go on. Stops between two duties
 * when the signal aborts.
 */
export function createTidying(
  services: Services,
  more: readonly Duty[] = [],
  duties: readonly Duty[] = [...tidyDuties, ...more],
): (signal?: AbortSignal) => Promise<number> {
  const dueAtMs = new Map<Duty, number>();
  return async (signal) => {
    for (const duty of duties) {
      if (signal?.aborted || (dueAtMs.get(duty) ?? 0) > performance.now()) continue;
      await duty.run(services).catch((error: unknown) => {
        services.log.warn(
          { err: error, duty: duty.name },
          "tidying failed, it is tried again after its pause",
        );
      });
      dueAtMs.set(duty, performance.now() + duty.everyMs);
    }
    return Math.max(0, Math.min(...dueAtMs.values()) - performance.now());
  };
}

/** All duties once. */
export async function tidy(services: Services): Promise<void> {
  await createTidying(services)();
}
