import { eq, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services.ts";
import { isTimeZone, ownZone } from "../platform/days.ts";

const { assistantSettings } = schema;

/** Whether nothing of this user is remembered and recalled at the moment. */
export async function isMemoryPaused({ db }: Pick<Services, "db">, userId: string): Promise<boolean> {
  const [row] = await db
    .select({ isPaused: assistantSettings.isMemoryPaused })
    .from(assistantSettings)
    .where(eq(assistantSettings.userId, userId));
  return row?.isPaused ?? false;
}

/** The time zone of a user: that of the browser that asked last, else that of this machine. */
export async function readTimeZone({ db }: Pick<Services, "db">, userId: string): Promise<string> {
  const [row] = await db
    .select({ timeZone: assistantSettings.timeZone })
    .from(assistantSettings)
    .where(eq(assistantSettings.userId, userId));
  const known = row?.timeZone ?? null;
  return known !== null && isTimeZone(known) ? known : ownZone();
}

/** Keeps the time zone of a user's browser; an unknown one changes nothing. */
export async function noteTimeZone(
  { db }: Pick<Services, "db">,
  { userId, timeZone }: { readonly userId: string; readonly timeZone: string },
): Promise<void> {
  if (!isTimeZone(timeZone)) return;
  await db
    .insert(assistantSettings)
    .values({ userId, timeZone })
    .onConflictDoUpdate({
      target: assistantSettings.userId,
      set: { timeZone },
      setWhere: sql`${assistantSettings.timeZone} is distinct from ${timeZone}`,
    });
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

/** Whether a model may describe the pictures of this user. */
export async function describesPictures({ db }: Pick<Services, "db">, userId: string): Promise<boolean> {
  const [row] = await db
    .select({ isOn: assistantSettings.describesPictures })
    .from(assistantSettings)
    .where(eq(assistantSettings.userId, userId));
  return row?.isOn ?? true;
}

/** Turned off, nothing more is described; the descriptions that there are stay. */
export async function setDescribesPictures(
  { db }: Pick<Services, "db">,
  { userId, isOn }: { readonly userId: string; readonly isOn: boolean },
): Promise<void> {
  await db
    .insert(assistantSettings)
    .values({ userId, describesPictures: isOn })
    .onConflictDoUpdate({ target: assistantSettings.userId, set: { describesPictures: isOn } });
}
