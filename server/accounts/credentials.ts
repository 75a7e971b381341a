import { hashPassword as hashOf, verifyPassword } from "@better-auth/utils/password";
import type { GenericEndpointContext } from "better-auth";
import { and, eq, like, ne, or, sql } from "drizzle-orm";
import { z } from "zod";
import { schema, type Tx } from "../db/index.ts";
import { AppError, type Env, isLoopback, newId, originOf } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { countTry } from "./permits.ts";

const { passkeys, sessions, twoFactors, users, verifications } = schema;

export const minPasswordLength = 10;
export const maxPasswordLength = 128;

/** The library's name for a local password, beside the ids of providers. */
export const passwordWay = "credential";

/** What an account or a link may have as its password; the sign-in refuses longer ones. */
export const passwordSchema = z
  .string()
  .min(minPasswordLength, `must have at least ${minPasswordLength} characters`)
  .max(maxPasswordLength, `must have at most ${maxPasswordLength} characters`)
  // The sign-in counts UTF-16, in which a sign outside of the usual ones has two.
  .refine(
    (password) => password.length <= maxPasswordLength,
    `must have at most ${maxPasswordLength} characters`,
  );

/** Throws `bad_request` for a password that is too short or too long; the sign-in refuses longer ones. */
export function requirePassword(password: string): void {
  if (password.length < minPasswordLength)
    throw new AppError("bad_request", `password must have at least ${minPasswordLength} characters`);
  if (password.length > maxPasswordLength)
    throw new AppError("bad_request", `password must have at most ${maxPasswordLength} characters`);
}

/** The host of passkeys. WebAuthn knows names only: a studio of this machine alone is `localhost`, as its pages must be opened then. */
export function passkeyHost(env: Env): string {
  const { hostname } = new URL(originOf(env));
  return isLoopback(hostname) ? "localhost" : hostname;
}

/** Throws `conflict` where people sign in without passwords. */
export function requireTaken({ config }: Pick<Services, "config">): void {
  const { passwords, providers } = config.signIn;
  if (passwords) return;
  const names = Object.values(providers).map(({ name }) => name);
  throw new AppError(
    "conflict",
    `This studio takes no passwords: people sign in through ${names.join(", ")}, or with a passkey.`,
  );
}

/** The hash of a password that `requirePassword` accepts, as the library of sign-ins makes it. */
export const hashPassword = (password: string): Promise<string> => hashOf(password);

/**
 * Before a sign-up: hashes its password, which the library would do in its transaction. Sign-ups at once would hold all connections of
 * the process meanwhile, and on a busy machine longer than the database lets a transaction stand idle.
 */
export async function hashAhead({ path, body, context }: GenericEndpointContext): Promise<void> {
  const { data: password } = passwordSchema.safeParse(Reflect.get(Object(body), "password"));
  if (path !== "/sign-up/email" || password === undefined) return;
  const hash = await context.password.hash(password);
  context.password = { ...context.password, hash: () => Promise.resolve(hash) };
}

/** Sets a new password by its hash, and ends all sessions. */
export async function setPassword(
  tx: Tx,
  { userId, hash }: { readonly userId: string; readonly hash: string },
): Promise<void> {
  const { credentials } = schema;
  // First of all, as everywhere: the user is locked before what belongs to it.
  await endOthers(tx, { userId, sessionId: null });
  const changed = await tx
    .update(credentials)
    .set({ password: hash, updatedAt: new Date() })
    .where(and(eq(credentials.userId, userId), eq(credentials.providerId, passwordWay)))
    .returning({ id: credentials.id });
  // Whoever came through a provider has none yet.
  if (changed.length === 0)
    await tx
      .insert(credentials)
      .values({ id: newId(), userId, accountId: userId, providerId: passwordWay, password: hash })
      // Of two first passwords at once the later one counts.
      .onConflictDoUpdate({
        target: [credentials.providerId, credentials.accountId],
        set: { password: hash, updatedAt: new Date() },
      });
}

/** Whether this is the user's password; false for a user without one. Throws `rate_limited` after ten tries in a minute. */
export async function isPasswordOf(
  services: Services,
  { userId, password }: { readonly userId: string; readonly password: string },
): Promise<boolean> {
  const { credentials } = schema;
  if (!(await countTry(services.db, `password|${userId}`))) throw new AppError("rate_limited");
  const [own] = await services.db
    .select({ hash: credentials.password })
    .from(credentials)
    .where(and(eq(credentials.userId, userId), eq(credentials.providerId, passwordWay)));
  return own?.hash ? isPassword({ hash: own.hash, password }) : false;
}

/** Whether the user has a password and this studio takes passwords. */
export async function signsInByPassword(
  { db, config }: Pick<Services, "db" | "config">,
  userId: string,
): Promise<boolean> {
  const { credentials } = schema;
  const isOwn = and(eq(credentials.userId, userId), eq(credentials.providerId, passwordWay));
  return config.signIn.passwords && (await db.$count(credentials, isOwn)) > 0;
}

/** Whether a password is that of the hash. The caller limits the tries. */
export async function isPassword({
  hash,
  password,
}: {
  readonly hash: string;
  readonly password: string;
}): Promise<boolean> {
  return password.length <= maxPasswordLength && verifyPassword(hash, password);
}

interface Ending {
  readonly userId: string;
  /** The one that stays; null for none. */
  readonly sessionId: string | null;
}

/** Ends a user's sessions, also of sign-ins that are under way (overtaken.ts), and returns how many there were. Locks the user. */
export async function endSessions(tx: Tx, { userId, sessionId }: Ending): Promise<number> {
  const counted = sql`${users.sessionEnds} + 1`;
  await tx.update(users).set({ sessionEnds: counted }).where(eq(users.id, userId));
  const isOther = sessionId === null ? undefined : ne(sessions.id, sessionId);
  const gone = await tx
    .delete(sessions)
    .where(and(eq(sessions.userId, userId), isOther))
    .returning({ id: sessions.id });
  return gone.length;
}

/** Where a way in or a factor changes, other browsers sign in again, those that were trusted with a code. */
export async function endOthers(tx: Tx, ending: Ending): Promise<void> {
  await endSessions(tx, ending);
  await forgetTrust(tx, ending.userId);
}

/** Browsers that the user trusts need a code again, and those that wait for a code also the password. */
export async function forgetTrust(tx: Tx, userId: string): Promise<void> {
  const { identifier, value } = verifications;
  const isTrust = or(like(identifier, "trust-device-%"), like(identifier, "2fa-%"));
  await tx.delete(verifications).where(and(eq(value, userId), isTrust));
}

/** Removes the app, the recovery codes and the passkeys of a user, and ends all sessions. Returns whether there were any. */
export async function removeFactors(tx: Tx, userId: string): Promise<boolean> {
  await endOthers(tx, { userId, sessionId: null });
  const apps = await tx
    .delete(twoFactors)
    .where(eq(twoFactors.userId, userId))
    .returning({ id: twoFactors.id });
  const keys = await tx.delete(passkeys).where(eq(passkeys.userId, userId)).returning({ id: passkeys.id });
  await tx.update(users).set({ twoFactorEnabled: false }).where(eq(users.id, userId));
  return apps.length + keys.length > 0;
}
