import Bowser from "bowser";
import { and, between, desc, eq, gt, or, sql, type SQL } from "drizzle-orm";
import { recordAct } from "../audit/index.ts";
import { ago, type Db, schema, type Tx } from "../db/index.ts";
import { AppError, currentSender } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { endSessions } from "./credentials.ts";

const { sessions } = schema;

/** A device on which a user is signed in. Times are ISO 8601, UTC. */
export interface SessionView {
  readonly id: string;
  /** Null for what is no known browser. */
  readonly browser: string | null;
  readonly system: string | null;
  /** Where it was used last, as the studio knows it behind `TRUSTED_PROXIES`. */
  readonly address: string | null;
  readonly startedAt: string;
  /** To five minutes. */
  readonly lastUsedAt: string;
  /** The one that asks. */
  readonly isCurrent: boolean;
}

/** Far above any header of a browser. */
const maxAgentLength = 500;

// Bowser knows some that its list lacks.
const browsers = new Set([...Object.values(Bowser.BROWSER_MAP), "Miui", "Opera Touch", "PlayStation 4"]);
const systems = new Set(Object.values(Bowser.OS_MAP));

/** The browser and system of a `User-Agent`, of the known ones alone: it is any text that a sender likes, and mails and pages print these. */
export function deviceOf(userAgent: string | null): Pick<SessionView, "browser" | "system"> {
  const agent = (userAgent ?? "").slice(0, maxAgentLength);
  if (agent === "") return { browser: null, system: null };
  const { browser, os } = Bowser.parse(agent);
  const known = (names: ReadonlySet<string>, name = "") => (names.has(name) ? name : null);
  return { browser: known(browsers, browser.name), system: known(systems, os.name) };
}

interface Asker {
  readonly userId: string;
  /** Null for a key, which is none of the sessions. */
  readonly sessionId: string | null;
}

/** The open sessions of a user, the one used last first. */
export async function listSessions(
  { db }: Pick<Services, "db">,
  { userId, sessionId }: Asker,
): Promise<SessionView[]> {
  const rows = await db
    .select()
    .from(sessions)
    .where(and(eq(sessions.userId, userId), gt(sessions.expiresAt, new Date())))
    .orderBy(desc(sessions.updatedAt), desc(sessions.id));
  return rows.map((row) => ({
    id: row.id,
    ...deviceOf(row.userAgent),
    address: row.ipAddress || null,
    startedAt: row.createdAt.toISOString(),
    lastUsedAt: row.updatedAt.toISOString(),
    isCurrent: row.id === sessionId,
  }));
}

/** Ends one session at once; its streams close within half a minute. Throws `not_found`, also for another user's. */
export async function endSession(
  { db }: Pick<Services, "db">,
  { userId, id }: { readonly userId: string; readonly id: string },
): Promise<void> {
  await db.transaction(async (tx) => {
    const gone = await tx
      .delete(sessions)
      .where(and(eq(sessions.id, id), eq(sessions.userId, userId)))
      .returning({ id: sessions.id });
    if (gone.length === 0) throw new AppError("not_found");
    await recordAct(tx, { kind: "account.session_ended", by: userId, object: id });
  });
}

/** Ends all sessions but the one that asks; for a key all of them. Returns how many. */
export async function endOtherSessions(
  { db }: Pick<Services, "db">,
  { userId, sessionId }: Asker,
): Promise<number> {
  return db.transaction(async (tx) => {
    const ended = await endSessions(tx, { userId, sessionId });
    const details = { sessions: ended };
    if (ended > 0) await recordAct(tx, { kind: "account.sessions_ended", by: userId, details });
    return ended;
  });
}

/** A session in use is noted this often. */
const noteMs = 5 * 60_000;

/** Notes that a session is used, and from where; after the answer, and seldom, so that reads write nothing. */
export function noteUse(
  { db, later }: Pick<Services, "db" | "later">,
  { id, updatedAt }: { readonly id: string; readonly updatedAt: Date },
): void {
  if (Date.now() - updatedAt.getTime() < noteMs) return;
  const address = currentSender()?.address ?? null;
  // Many requests of one page see the same old time: the first one writes.
  const isOld = sql`${sessions.updatedAt} < ${ago(noteMs)}`;
  later(
    db
      .update(sessions)
      .set({ updatedAt: new Date(), ...(address === null ? {} : { ipAddress: address }) })
      .where(and(eq(sessions.id, id), isOld))
      .then(() => undefined),
  );
}

/** How long a password that was typed again counts, and a new session without one. */
const confirmedMs = 10 * 60_000;

/** Whether this session began, or its user typed the password again, within the last ten minutes. */
export const isRecent = (db: Db | Tx, sessionId: string): Promise<boolean> =>
  hasTime(db, sessionId, or(isJustNow(sessions.createdAt), isJustNow(sessions.confirmedAt)));

/** Between the clocks of two machines with pages. A time further ahead was written before a clock was set back. */
const skewMs = 60_000;

/** By the clock of the pages, which wrote these times: that of the database may be another machine's. */
const isJustNow = (time: typeof sessions.createdAt | typeof sessions.confirmedAt) =>
  between(time, new Date(Date.now() - confirmedMs), new Date(Date.now() + skewMs));

async function hasTime(db: Db | Tx, sessionId: string, time: SQL | undefined): Promise<boolean> {
  return (await db.$count(sessions, and(eq(sessions.id, sessionId), time))) > 0;
}

interface Asking {
  readonly db: Db | Tx;
}

const tooOld = () =>
  new AppError(
    "forbidden",
    "Type your password again, or sign in again, and repeat this within ten minutes.",
    {
      details: { reason: "not_recent" },
    },
  );

/** Throws `forbidden` with the detail `reason: "not_recent"` unless the session is new or its user typed the password again. */
export async function requireRecent({ db }: Asking, sessionId: string | undefined): Promise<void> {
  if (sessionId === undefined || !(await isRecent(db, sessionId))) throw tooOld();
}

/** The same for what only the password may change: a new session alone does not do. */
export async function requireTyped({ db }: Asking, sessionId: string | undefined): Promise<void> {
  const isTyped = sessionId !== undefined && (await hasTime(db, sessionId, isJustNow(sessions.confirmedAt)));
  if (!isTyped) throw tooOld();
}

/** Notes that the user of a session typed the password again. The caller checked it. */
export async function noteConfirmed({ db }: Pick<Services, "db">, sessionId: string): Promise<void> {
  await db.update(sessions).set({ confirmedAt: new Date() }).where(eq(sessions.id, sessionId));
}
