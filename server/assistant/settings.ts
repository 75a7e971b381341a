import { eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services.ts";

const { assistantSettings } = schema;

/** Whether nothing of this user is remembered and recalled at the moment. */
export async function isMemoryPaused({ db }: Pick<Services, "db">, userId: string): Promise<boolean> {
  const [row] = await db
    .select({ isPaused: assistantSettings.isMemoryPaused })
    .from(assistantSettings)
    .where(eq(assistantSettings.userId, userId));
  return row?.isPaused ?? false;
}

/** Stops or resumes the memory of a user. What is remembered stays; talks during a pause are never remembered. */
export async function pauseMemory(
  { db }: Services,
  { userId, isPaused }: { readonly userId: string; readonly isPaused: boolean },
): Promise<void> {
  await db
    .insert(assistantSettings)
    .values({ userId, isMemoryPaused: isPaused })
    .onConflictDoUpdate({ target: assistantSettings.userId, set: { isMemoryPaused: isPaused } });
}
