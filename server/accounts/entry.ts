import { randomBytes } from "node:crypto";
import { APIError } from "better-auth/api";
import { and, desc, eq, gt, isNull, lt } from "drizzle-orm";
import { recordAct } from "../audit/index.ts";
import { type Db, lockTopic, schema } from "../db/index.ts";
import { AppError, hashOfToken, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { hasAdmin, isFirstAdminToken, makeFirstAdmin } from "./first-admin.ts";

export const invitationDays = { min: 1, default: 7, max: 90 } as const;
const dayMs = 86_400_000;

/** An invitation that can still be used. */
export interface InvitationView {
  readonly id: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export interface NewInvitation extends InvitationView {
  /** Returned once; the database holds its hash. */
  readonly token: string;
}

const { invitations, users } = schema;
const isOpen = () => and(isNull(invitations.usedAt), gt(invitations.expiresAt, new Date()));

function viewOf(row: typeof invitations.$inferSelect): InvitationView {
  return { id: row.id, createdAt: row.createdAt.toISOString(), expiresAt: row.expiresAt.toISOString() };
}

/** Makes an invitation for one account; it is valid while SIGN_UP is `invite`. */
export async function createInvitation(
  { db }: Services,
  input: { createdBy: string | null; days: number },
): Promise<NewInvitation> {
  const token = randomBytes(24).toString("base64url");
  const expiresAt = new Date(Date.now() + input.days * dayMs);
  const values = { id: newId(), tokenHash: hashOfToken(token), createdBy: input.createdBy, expiresAt };
  return db.transaction(async (tx) => {
    const [row] = await tx.insert(invitations).values(values).returning();
    if (!row) throw new AppError("internal");
    const details = { days: input.days };
    await recordAct(tx, { kind: "invitation.made", by: input.createdBy, object: row.id, details });
    return { ...viewOf(row), token };
  });
}

/** Unused invitations that have not expired, the newest first. */
export async function listInvitations({ db }: Services): Promise<InvitationView[]> {
  const rows = await db
    .select()
    .from(invitations)
    .where(isOpen())
    .orderBy(desc(invitations.createdAt), desc(invitations.id))
    .limit(200);
  return rows.map(viewOf);
}

/** Makes an unused invitation invalid. Throws `not_found` when there is none. */
export async function revokeInvitation(
  { db }: Services,
  { id, adminId }: { readonly id: string; readonly adminId: string | null },
): Promise<void> {
  await db.transaction(async (tx) => {
    const gone = await tx
      .delete(invitations)
      .where(and(eq(invitations.id, id), isNull(invitations.usedAt)))
      .returning({ id: invitations.id });
    if (gone.length === 0) throw new AppError("not_found");
    await recordAct(tx, { kind: "invitation.revoked", by: adminId, object: id });
  });
}

/** Whether a new account could be made with this token now. */
async function isOpenInvitation(db: Db, token: string): Promise<boolean> {
  return (await db.$count(invitations, and(eq(invitations.tokenHash, hashOfToken(token)), isOpen()))) > 0;
}

/** Marks an invitation as used; of two sign-ups at once only one gets true. */
async function takeInvitation(db: Db, token: string): Promise<boolean> {
  const taken = await db
    .update(invitations)
    .set({ usedAt: new Date() })
    .where(and(eq(invitations.tokenHash, hashOfToken(token)), isOpen()))
    .returning({ id: invitations.id });
  return taken.length === 1;
}

/** A sign-up with the printed link that fails after this gives the link back. */
const firstLinkMs = 60_000;

/** Claims the printed link for one sign-up: of several at once only one gets true. It ends with the first admin. */
async function takeFirstLink(db: Db, token: string): Promise<boolean> {
  const [now, past] = [new Date(), new Date(Date.now() - firstLinkMs)];
  const taken = await db
    .insert(invitations)
    .values({ id: newId(), tokenHash: hashOfToken(token), expiresAt: now, usedAt: now })
    .onConflictDoUpdate({
      target: invitations.tokenHash,
      set: { usedAt: now },
      setWhere: lt(invitations.usedAt, past),
    })
    .returning({ id: invitations.id });
  return taken.length === 1;
}

/** Header of a sign-in or sign-up with the token of the first admin or of an invitation. */
export const entryTokenHeader = "atelier-token";

/** What the sign-in page offers. */
export interface Entry {
  readonly signUp: "open" | "invite" | "closed";
  /** There is no admin yet: the printed link makes one, whatever `signUp` is. */
  readonly needsAdmin: boolean;
  /** Whether people sign in with passwords. */
  readonly passwords: boolean;
  readonly providers: readonly { readonly id: string; readonly name: string }[];
}

/** Which ways to sign in and up are open now; without the database, the configured mode. */
export async function readEntry({ db, env, config, log }: Services): Promise<Entry> {
  const needsAdmin = await hasAdmin(db).then(
    (found) => !found,
    (err: unknown) => {
      log.warn({ err }, "it cannot be read whether there is an admin");
      return false;
    },
  );
  const { passwords, providers } = config.signIn;
  const shown = Object.entries(providers).map(([id, { name }]) => ({ id, name }));
  return { signUp: env.SIGN_UP, needsAdmin, passwords, providers: shown };
}

interface Attempt {
  /** Below /api/auth. */
  readonly path: string;
  readonly headers: Headers | undefined;
}

const tokenOf = ({ headers }: Attempt) => headers?.get(entryTokenHeader) ?? "";

const refusals = {
  GUESTS_CLOSED: "This studio has no guests. Sign in.",
  SIGN_UP_CLOSED: "This studio makes no new accounts.",
  LINK_IN_USE: "Another account is being made with this link. If that fails, try again in a minute.",
  INVITATION_INVALID: "A new account needs an invitation that is unused and has not expired.",
} as const;

function refuse(code: keyof typeof refusals): never {
  throw new APIError("FORBIDDEN", { code, message: refusals[code] });
}

/** Refuses guests and new accounts that SIGN_UP does not allow. Throws APIError. */
export async function admitEntry(services: Services, attempt: Attempt): Promise<void> {
  const { SIGN_UP } = services.env;
  if (SIGN_UP === "open") return;
  if (attempt.path === "/sign-in/anonymous") refuse("GUESTS_CLOSED");
  if (attempt.path !== "/sign-up/email") return;
  const token = tokenOf(attempt);
  if (await isFirstAdminToken(services, token)) return;
  if (SIGN_UP === "closed") refuse("SIGN_UP_CLOSED");
  if (!(await isOpenInvitation(services.db, token))) refuse("INVITATION_INVALID");
}

/** The second is where identity providers lead back to. */
const makesAccounts = new Set(["/sign-up/email", "/callback/:id"]);

/** Of sign-ups at once with one address each hears what it would a moment later. Throws APIError. */
async function requireFree({ db }: Services, email: string): Promise<void> {
  const isTaken = await db.transaction(async (tx) => {
    await lockTopic(tx, "account", email);
    return (await tx.$count(users, eq(users.email, email))) > 0;
  });
  if (!isTaken) return;
  // The words of the library, which looks before its transaction.
  const taken = "USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL";
  throw new APIError("UNPROCESSABLE_ENTITY", {
    code: taken,
    message: "User already exists. Use another email.",
  });
}

/**
 * Just before the account is stored: marks its invitation as used. False for a sign-up without one, which SIGN_UP=open
 * allows. Throws APIError when another sign-up was first, with the invitation or the address.
 */
export async function spendInvitation(
  services: Services,
  attempt: Attempt & { readonly email: string },
): Promise<boolean> {
  if (!makesAccounts.has(attempt.path)) return false;
  if (attempt.path === "/sign-up/email") await requireFree(services, attempt.email);
  const token = tokenOf(attempt);
  if (await isFirstAdminToken(services, token)) {
    if (services.env.SIGN_UP !== "open" && !(await takeFirstLink(services.db, token))) refuse("LINK_IN_USE");
    return true;
  }
  if (services.env.SIGN_UP === "closed") refuse("SIGN_UP_CLOSED");
  const isInvited = token !== "" && (await takeInvitation(services.db, token));
  if (!isInvited && services.env.SIGN_UP === "invite") refuse("INVITATION_INVALID");
  return isInvited;
}

/** After a sign-in or sign-up with the printed token: the account is the first admin. */
export async function claimFirstAdmin(
  services: Services,
  attempt: Attempt & { userId: string },
): Promise<void> {
  const token = tokenOf(attempt);
  if (token === "" || !(await isFirstAdminToken(services, token))) return;
  await makeFirstAdmin(services.db, attempt.userId);
}
