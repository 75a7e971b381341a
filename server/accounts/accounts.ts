import { and, eq, sql } from "drizzle-orm";
import { z } from "zod";
import { recordAct } from "../audit/index.ts";
import { schema, type Tx } from "../db/index.ts";
import { AppError, newId } from "../platform/index.ts";
import { asLocale, type Locale } from "../locales.ts";
import type { Services } from "../services.ts";
import type { AdminLack } from "./admin-factor.ts";
import { authOf, maxPasswordLength, minPasswordLength } from "./auth.ts";
import type { Caller } from "./caller.ts";
import { forgetTrust } from "./factors.ts";
import { serviceRole } from "./first-admin.ts";
import { isReservedEmail, mailAddress, maxEmailLength, maxUserNameLength } from "./user-data.ts";
import { countTry } from "./sign-in-limit.ts";

/** The library's name for a local password, beside the ids of providers. */
export const passwordWay = "credential";

/** The account with an e-mail address, never a guest. Throws `not_found`. */
export async function findAccount({ db }: Services, input: { email: string }): Promise<{ id: string }> {
  const { users } = schema;
  const [user] = await db
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.email, mailAddress(input.email)), sql`${users.isAnonymous} is not true`));
  if (!user) throw new AppError("not_found", `There is no account with the address ${input.email}.`);
  return user;
}

export interface AccountView {
  readonly id: string;
  readonly name: string;
  /** Null for a guest. */
  readonly email: string | null;
  readonly isGuest: boolean;
  readonly isAdmin: boolean;
  /** What an admin has to do first, where the studio asks its admins for a second factor. */
  readonly adminLack: AdminLack | null;
  /** The language that the user chose; null for that of the browser. */
  readonly locale: Locale | null;
  /** Whether there is a password that signs in. */
  readonly hasPassword: boolean;
  /** Names of the providers through which the user signs in. */
  readonly providers: readonly string[];
}

/** The caller's own account; null when it was removed in the meantime. */
export async function getAccount({ db, config }: Services, caller: Caller): Promise<AccountView | null> {
  const { users } = schema;
  // Plain names: the builder would leave the tables out, and each column would be that of the inner one.
  const ways = sql<string[]>`array(select c.provider_id from credentials c
    where c.user_id = users.id order by c.created_at, c.id)`;
  const [user] = await db
    .select({ name: users.name, email: users.email, locale: users.locale, ways })
    .from(users)
    .where(eq(users.id, caller.userId));
  if (!user) return null;
  const { passwords, providers } = config.signIn;
  return {
    id: caller.userId,
    name: user.name,
    email: caller.isGuest ? null : user.email,
    isGuest: caller.isGuest,
    isAdmin: caller.isAdmin,
    adminLack: caller.adminLack ?? null,
    locale: asLocale(user.locale),
    hasPassword: passwords && user.ways.includes(passwordWay),
    providers: user.ways.flatMap((id) => providers[id]?.name ?? []),
  };
}

export interface ResetPasswordInput {
  readonly email: string;
  readonly password: string;
}

/** Sets a new password and ends all sessions. Throws `not_found` for an unknown address, `bad_request` when too short or too long. */
export async function resetPassword(
  services: Services,
  { email, password }: ResetPasswordInput,
): Promise<void> {
  requirePassword(password);
  const user = await findAccount(services, { email });
  const hash = await hashPassword(services, password);
  await services.db.transaction(async (tx) => {
    await setPassword(tx, { userId: user.id, hash });
    await recordAct(tx, { kind: "account.password_changed", by: null, to: user.id });
  });
}

/** What an account or a link may have as its password; the sign-in refuses longer ones. */
export const passwordSchema = z
  .string()
  .min(minPasswordLength, `must have at least ${minPasswordLength} characters`)
  .max(maxPasswordLength, `must have at most ${maxPasswordLength} characters`);

/** Throws `bad_request` for a password that is too short or too long; the sign-in refuses longer ones. */
export function requirePassword(password: string): void {
  if (password.length < minPasswordLength)
    throw new AppError("bad_request", `password must have at least ${minPasswordLength} characters`);
  if (password.length > maxPasswordLength)
    throw new AppError("bad_request", `password must have at most ${maxPasswordLength} characters`);
}

/** The hash of a password that `requirePassword` accepts. */
export async function hashPassword(services: Services, password: string): Promise<string> {
  const { password: passwords } = await authOf(services).$context;
  return passwords.hash(password);
}

/** Sets a new password by its hash, and ends all sessions. */
export async function setPassword(
  tx: Tx,
  { userId, hash }: { readonly userId: string; readonly hash: string },
): Promise<void> {
  const { credentials, sessions } = schema;
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
  await tx.delete(sessions).where(eq(sessions.userId, userId));
  await forgetTrust(tx, userId);
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
  return own?.hash ? isPassword(services, { hash: own.hash, password }) : false;
}

/** Whether a password is that of the hash. The caller limits the tries. */
export async function isPassword(
  services: Services,
  { hash, password }: { readonly hash: string; readonly password: string },
): Promise<boolean> {
  if (password.length > maxPasswordLength) return false;
  const { password: passwords } = await authOf(services).$context;
  return passwords.verify({ hash, password });
}

/** The address receives no mail and the account has no password, so a sign-in is impossible. */
const serviceEmail = "workers@atelier.invalid";

/**
 * The account that owns jobs from workers' own endpoints; created on first use. One for all workers: the job
 * can be read at each of them, and direct clients together have one share of the line and one limit of open jobs.
 * Found by its role, which no person can have; an account of a person may hold its address.
 */
export async function workerAccount({ db }: Pick<Services, "db">): Promise<{ id: string }> {
  const { users } = schema;
  const find = () => db.select({ id: users.id }).from(users).where(eq(users.role, serviceRole));
  for (const email of [serviceEmail, `workers-${newId()}@atelier.invalid`]) {
    const [known] = await find();
    if (known) return known;
    // The unique index on the role decides between two workers that create the account at once.
    await db
      .insert(users)
      .values({ id: newId(), name: "Workers", email, emailVerified: true, role: serviceRole })
      .onConflictDoNothing();
  }
  const [made] = await find();
  if (!made) throw new Error("the account of the workers was not stored");
  return made;
}

const createUserSchema = z.strictObject({
  email: z
    .string()
    .transform(mailAddress)
    .pipe(
      z.email(
        "is not an e-mail address that can be used: before the @ it must be of ASCII letters and digits",
      ),
    )
    .refine((email) => email.length <= maxEmailLength, `must have at most ${maxEmailLength} characters`)
    .refine((email) => !isReservedEmail(email), "is reserved; take one that does not end in .invalid"),
  password: passwordSchema,
  isAdmin: z.boolean().default(false),
});

export type CreateUserInput = z.input<typeof createUserSchema>;

/**
 * Makes an account without a session, whatever SIGN_UP is. Throws `bad_request` for a wrong address or password and
 * `conflict` when the address is taken.
 */
export async function createUser(services: Services, input: CreateUserInput): Promise<{ id: string }> {
  const parsed = createUserSchema.safeParse(input);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new AppError("bad_request", `${issue?.path.join(".")} ${issue?.message}`);
  }
  const { email, password, isAdmin } = parsed.data;
  const { internalAdapter, password: passwords } = await authOf(services).$context;
  if (await internalAdapter.findUserByEmail(email))
    throw new AppError("conflict", `There is already an account with the address ${email}.`);
  const name = email.slice(0, Math.min(email.indexOf("@"), maxUserNameLength));
  const user = await internalAdapter.createUser(
    { email, name, emailVerified: false, ...(isAdmin ? { role: "admin" } : {}) },
    { method: "email-password" },
  );
  await internalAdapter.linkAccount({
    userId: user.id,
    providerId: passwordWay,
    accountId: user.id,
    password: await passwords.hash(password),
  });
  await recordAct(services.db, { kind: "account.made", by: null, to: user.id, details: { isAdmin } });
  return { id: user.id };
}
