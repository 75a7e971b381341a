import { and, count, eq, gt, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services.ts";

const { modelCalls } = schema;

interface CallRate {
  readonly ownerId: string;
  readonly stage: (typeof modelCalls.$inferSelect)["stage"];
  /** Calls of this user and stage in a minute; above it the next one is refused. */
  readonly most: number;
  /** What the user reads then. */
  readonly refusal: string;
}

/** Throws `rate_limited` when a user has made the calls of a minute. Two at once can both be let through. */
export async function requireCallRate(
  { db }: Pick<Services, "db">,
  { ownerId, stage, most, refusal }: CallRate,
): Promise<void> {
  const inMinute = gt(modelCalls.startedAt, sql`clock_timestamp() - interval '1 minute'`);
  const [row] = await db
    .select({ calls: count() })
    .from(modelCalls)
    .where(and(eq(modelCalls.ownerId, ownerId), eq(modelCalls.stage, stage), inMinute));
  if ((row?.calls ?? 0) >= most) throw new AppError("rate_limited", refusal);
}
