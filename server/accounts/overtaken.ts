import type { GenericEndpointContext } from "better-auth";
import { APIError, getSessionFromCtx } from "better-auth/api";
import { and, eq, type SQL, sql } from "drizzle-orm";
import { type Db, schema, type Tx } from "../db/index.ts";
import { isStorable } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { endSessions } from "./credentials.ts";

const { passkeys, sessions, users, verifications } = schema;

/**
 * Sign-ins that an end of sessions overtakes. A change of the ways in, a suspension and a sign-out of all devices end sessions, and count
 * that in `users.session_ends`. A sign-in reads the count before it reads what it checks; once its session is stored, the count is read
 * again behind the lock of the user. Another count: what was checked may be gone, and the end of sessions came too early for this
 * one, so it is removed. An end that comes later still finds the stored session.
 */
interface Start {
  readonly userId: string;
  /** Of `users.session_ends`; null where a session changes its own account, which goes on while that session does. */
  readonly ends: number | null;
  readonly sessionId: string | null;
}

/** By the context of a request, or what else lives as long. */
const starts = new WeakMap<object, Start>();

/** Requests whose change of an account stands, whatever is answered. */
const standing = new WeakSet<object>();

/** Whether a request changed its account, also where the answer is a refusal: the change is recorded all the same. */
export const isChanged = ({ context }: GenericEndpointContext): boolean => standing.has(context);

/** Before what proves a user is read, for the request that `request` stands for. */
export async function noteStart(db: Db | Tx, request: object, isUser: SQL): Promise<void> {
  const [user] = await db.select({ id: users.id, ends: users.sessionEnds }).from(users).where(isUser);
  if (user) starts.set(request, { userId: user.id, ends: user.ends, sessionId: null });
}

const ownPaths = new Set(["/two-factor/verify-totp", "/two-factor/disable", "/passkey/verify-registration"]);

/** Before an endpoint of the library. Ends all other sessions where it ends them all, so that a sign-in under way is noticed. */
export async function noteRequest({ db }: Services, ctx: GenericEndpointContext): Promise<void> {
  const isUser = userOf(ctx);
  if (isUser) return noteStart(db, ctx.context, isUser);
  const isChange = ctx.path === "/change-password";
  if (!isChange && ctx.path !== "/revoke-sessions" && !ownPaths.has(ctx.path)) return;
  const open = await getSessionFromCtx(ctx, { disableRefresh: true });
  if (!open) return;
  const own = { userId: open.user.id, sessionId: open.session.id };
  if (isChange) {
    // A session that has just ended changes nothing.
    starts.set(ctx.context, { userId: own.userId, ends: -1, sessionId: null });
    const isStill = sql`${users.id} = (select user_id from ${sessions} where id = ${own.sessionId})`;
    await noteStart(db, ctx.context, isStill);
  } else if (ownPaths.has(ctx.path)) starts.set(ctx.context, { ...own, ends: null });
  else await db.transaction((tx) => endSessions(tx, own));
}

function userOf({ path, body }: GenericEndpointContext): SQL | null {
  const sent: unknown = body;
  if (path === "/sign-in/email") {
    const email: unknown = Reflect.get(Object(sent), "email");
    return isText(email) ? eq(users.email, email.toLowerCase()) : null;
  }
  if (path !== "/passkey/verify-authentication") return null;
  const id: unknown = Reflect.get(Object(Reflect.get(Object(sent), "response")), "id");
  return isText(id) ? sql`${users.id} = (select user_id from ${passkeys} where credential_id = ${id})` : null;
}

const isText = (value: unknown): value is string => typeof value === "string" && isStorable(value);

/** Whether the user's sessions were ended since a request began. False for a user who begins with it. Waits for a change of the user. */
export async function isOvertaken(
  db: Db | Tx,
  requests: readonly unknown[],
  userId: string,
): Promise<boolean> {
  const start = requests.map((request) => starts.get(Object(request))).find((one) => one?.userId === userId);
  if (!start) return false;
  const { ends, sessionId } = start;
  const [now] = await db
    .select({ ends: users.sessionEnds })
    .from(users)
    .where(eq(users.id, userId))
    .for("share");
  if (ends !== null) return now?.ends !== ends;
  return !now || (await db.$count(sessions, eq(sessions.id, sessionId ?? ""))) === 0;
}

/** Before a session turns its app on or off: once it has ended it changes nothing. Throws APIError. */
export async function keepFactor(
  { db }: Pick<Services, "db">,
  context: GenericEndpointContext | null,
): Promise<void> {
  const start = context && starts.get(context.context);
  if (!start || start.ends !== null) return;
  if (await isOvertaken(db, [context.context], start.userId)) refuseOvertaken();
  if (context.path === "/two-factor/disable") standing.add(context.context);
}

/**
 * After a session was stored. Throws APIError, and the session is gone, when the user's sessions were ended meanwhile; a password that
 * the request changed is changed by then.
 */
export async function keepSession(
  db: Db,
  context: GenericEndpointContext | null,
  {
    id,
    userId,
    requests,
  }: { readonly id: string; readonly userId: string; readonly requests: readonly unknown[] },
): Promise<void> {
  if (context?.path === "/change-password") standing.add(context.context);
  if (!(await isOvertaken(db, requests, userId))) return;
  await db.delete(sessions).where(eq(sessions.id, id));
  // The library counts an app as in force before it makes the session of its first code.
  await db.execute(sql`update users set two_factor_enabled = false
    where id = ${userId} and two_factor_enabled
      and not exists (select from two_factors where user_id = ${userId} and verified)`);
  refuseOvertaken();
}

/** After the wait for a code, or the trust in a browser, was stored. Throws APIError, and it is gone, likewise. */
export async function keepTrust(
  db: Db,
  requests: readonly unknown[],
  { id, value }: { readonly id: string; readonly value: string },
): Promise<void> {
  if (!(await isOvertaken(db, requests, value))) return;
  await db.delete(verifications).where(eq(verifications.id, id));
  refuseOvertaken();
}

/**
 * In the transaction in which a user changes the password: one that was set meanwhile stays. It counts as an end of sessions,
 * also for a sign-in with the old one. Throws APIError.
 */
export async function keepPassword(
  { db }: Pick<Services, "db">,
  context: GenericEndpointContext | null,
): Promise<void> {
  const start = context?.path === "/change-password" ? starts.get(context.context) : undefined;
  if (!start || start.ends === null) return;
  const [now] = await db
    .update(users)
    .set({ sessionEnds: start.ends + 1 })
    .where(and(eq(users.id, start.userId), eq(users.sessionEnds, start.ends)))
    .returning({ ends: users.sessionEnds });
  if (!now) refuseOvertaken();
  starts.set(Object(context).context, { ...start, ends: now.ends });
}

/** Throws APIError. */
export function refuseOvertaken(): never {
  throw new APIError("UNAUTHORIZED", {
    code: "SIGN_IN_OVERTAKEN",
    message:
      "The account was signed out everywhere, or its ways to sign in changed, at the same time. Start again.",
  });
}
