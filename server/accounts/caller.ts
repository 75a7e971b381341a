import { eq, sql } from "drizzle-orm";
import { type Db, schema, type Tx } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { AdminLack } from "./admin-factor.ts";
import type { KeyRight } from "./key-rights.ts";

/** The sender of a request, resolved from the session cookie or an API key. */
export interface Caller {
  readonly userId: string;
  readonly isGuest: boolean;
  /** The account was made without an invitation; never of an admin. */
  readonly isSelfMade?: boolean;
  readonly isAdmin: boolean;
  /** An admin who is none until this is there; `isAdmin` is false. */
  readonly adminLack?: AdminLack;
  readonly via: "session" | "api_key";
  readonly sessionId?: string;
  /** Of the API key that calls, also where it acts for another user. */
  readonly keyId?: string;
  /** Of an API key that may not do all that its owner may; without `admin` in it `isAdmin` is false. */
  readonly rights?: ReadonlySet<KeyRight>;
}

/** For a request whose key opens nothing. */
export const deadKey =
  "This API key does not work: it is mistyped, has ended or was revoked, or its account is suspended.";

/** Who makes a way into an account. */
export type Maker = Pick<Caller, "userId" | "via" | "sessionId" | "keyId">;

/**
 * In the transaction that stores a way into an account, such as a key: its maker may have been signed out, or their key revoked, since the
 * request began. Waits for whoever ends the account's ways in. Throws `unauthorized`.
 */
export async function requireStanding(
  tx: Tx,
  { userId, via, sessionId = "", keyId = "" }: Maker,
): Promise<void> {
  const { users, sessions, apiKeys } = schema;
  await tx.select({ id: users.id }).from(users).where(eq(users.id, userId)).for("share");
  const found =
    via === "session"
      ? await tx.$count(sessions, eq(sessions.id, sessionId))
      : await tx.$count(apiKeys, eq(apiKeys.id, keyId));
  if (found === 0) throw new AppError("unauthorized");
}

/** What is tied to an account: a guest could neither see nor end it any more once the cookie is lost. Throws `forbidden`. */
export function refuseGuest({ isGuest }: { readonly isGuest: boolean }): void {
  if (isGuest) throw new AppError("forbidden", "Make an account first; guests may not do this.");
}

/** The caller as an owner of what is tied to an account. Throws `forbidden` for a guest. */
export function accountOf(caller: Pick<Caller, "userId" | "isGuest">): string {
  refuseGuest(caller);
  return caller.userId;
}

/** The columns of `users` that decide about a caller. */
export interface UserFacts {
  readonly id: string;
  readonly role?: string | null | undefined;
  readonly isAnonymous?: boolean | null | undefined;
  readonly selfMade?: boolean | null | undefined;
  readonly banned?: boolean | null | undefined;
  readonly banExpires?: Date | null | undefined;
}

/** A ban ends by itself at `banExpires`. */
export function isBanned(user: UserFacts): boolean {
  return user.banned === true && (!user.banExpires || user.banExpires > new Date());
}

/** `isBanned` as a query for the ids of users; a user who is being deleted is banned as well. */
export const suspendedUsers = sql`select u.id from ${schema.users} u
  where u.banned and (u.ban_expires is null or u.ban_expires > now())`;

/** Those of the users who may not read on: they were suspended or deleted. */
export async function findEnded(
  { db }: { readonly db: Pick<Db, "execute"> },
  userIds: readonly string[],
): Promise<readonly string[]> {
  if (userIds.length === 0) return [];
  const rows = await db.execute<{ id: string }>(sql`
    select u.id from ${schema.users} u where u.id in ${[...userIds]} and u.id not in (${suspendedUsers})`);
  const allowed = new Set(rows.map(({ id }) => id));
  return userIds.filter((id) => !allowed.has(id));
}
