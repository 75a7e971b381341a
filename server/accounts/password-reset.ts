import { randomBytes } from "node:crypto";
import { and, eq, gt, isNull } from "drizzle-orm";
import { z } from "zod";
import { recordAct } from "../audit/index.ts";
import { schema } from "../db/index.ts";
import { AppError, hashOfToken, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { findAccount, isReservedEmail, mailAddress, maxEmailLength, maxUserNameLength } from "./accounts.ts";
import { recordChange } from "./account-changes.ts";
import { authOf } from "./auth.ts";
import {
  hashPassword,
  passwordSchema,
  passwordWay,
  requirePassword,
  requireTaken,
  setPassword,
} from "./credentials.ts";

const { passwordResets, users } = schema;

/** A link works for this long. */
export const resetLinkHours = 24;

/** A link to a new password, for the user to whom an admin hands it over. */
export interface ResetLink {
  /** Returned once; the database holds its hash. */
  readonly token: string;
  readonly expiresAt: string;
}

/**
 * Makes a one-time link with which a user sets a new password; earlier links of the user end. The password of today
 * works until then. Throws `not_found`, and `conflict` for a user who signs in without a password and where there are none.
 */
export async function createResetLink(
  services: Services,
  { userId, adminId }: { readonly userId: string; readonly adminId: string | null },
): Promise<ResetLink> {
  requireTaken(services);
  const token = randomBytes(24).toString("base64url");
  const expiresAt = new Date(Date.now() + resetLinkHours * 3_600_000);
  await services.db.transaction(async (tx) => {
    // Of two links at once the second ends the first, and a user who is being deleted gets none.
    const [user] = await tx
      .select({ email: users.email })
      .from(users)
      .where(and(eq(users.id, userId), isNull(users.deletedAt)))
      .for("update");
    if (!user) throw new AppError("not_found");
    if (isReservedEmail(user.email))
      throw new AppError("conflict", "This user has no e-mail address to sign in with, and so no password.");
    await tx.delete(passwordResets).where(eq(passwordResets.userId, userId));
    await tx.insert(passwordResets).values({ id: newId(), tokenHash: hashOfToken(token), userId, expiresAt });
    await recordAct(tx, { kind: "user.password_link_made", by: adminId, to: userId });
  });
  return { token, expiresAt: expiresAt.toISOString() };
}

/**
 * Sets the password of the user whose link this is, and ends all of the user's sessions. Of two calls at once one succeeds. Throws
 * `bad_request` for a password that is too short or too long (the link still works then), `not_found` for a link that was
 * used, has expired or never existed.
 */
export async function spendResetLink(
  services: Services,
  { token, password }: { readonly token: string; readonly password: string },
): Promise<void> {
  requireTaken(services);
  requirePassword(password);
  const isValid = and(
    eq(passwordResets.tokenHash, hashOfToken(token)),
    gt(passwordResets.expiresAt, new Date()),
  );
  const unknown = new AppError("not_found", "This link was used or has expired. Ask an admin for a new one.");
  // Asked before the hash, which takes long on purpose: anybody may call this.
  if ((await services.db.$count(passwordResets, isValid)) === 0) throw unknown;
  const hash = await hashPassword(password);
  await services.db.transaction(async (tx) => {
    // The user first, as whoever suspends or deletes the user does: the other way round would deadlock.
    await tx
      .select({ id: users.id })
      .from(users)
      .innerJoin(passwordResets, eq(passwordResets.userId, users.id))
      .where(isValid)
      .for("update", { of: users });
    const [taken] = await tx
      .delete(passwordResets)
      .where(isValid)
      .returning({ userId: passwordResets.userId });
    if (!taken) throw unknown;
    await setPassword(tx, { userId: taken.userId, hash });
    await recordChange(services, tx, { kind: "user.password_link_used", by: null, to: taken.userId });
  });
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
  const hash = await hashPassword(password);
  await services.db.transaction(async (tx) => {
    await setPassword(tx, { userId: user.id, hash });
    await recordChange(services, tx, { kind: "account.password_changed", by: null, to: user.id });
  });
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
  const { internalAdapter } = await authOf(services).$context;
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
    password: await hashPassword(password),
  });
  await recordAct(services.db, { kind: "account.made", by: null, to: user.id, details: { isAdmin } });
  return { id: user.id };
}
