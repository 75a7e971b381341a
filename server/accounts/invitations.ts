import { createHash, randomBytes } from "node:crypto";
import { and, desc, eq, gt, isNull } from "drizzle-orm";
import { schema, type Db } from "../db/index.ts";
import { AppError, newId } from "../platform/index.ts";
import type { Services } from "../services/index.ts";

export const invitationDays = { min: 1, default: 7, max: 90 } as const;
const dayMs = 86_400_000;

/** An invitation that can still be used. */
export interface InvitationView {
  readonly id: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export interface NewInvitation extends InvitationView {
  /** Shown this once; the database holds its hash. */
  readonly token: string;
}

const { invitations } = schema;
const hashOf = (token: string) => createHash("sha256").update(token).digest("hex");
const isOpen = () => and(isNull(invitations.usedAt), gt(invitations.expiresAt, new Date()));

function viewOf(row: typeof invitations.$inferSelect): InvitationView {
  return { id: row.id, createdAt: row.createdAt.toISOString(), expiresAt: row.expiresAt.toISOString() };
}

/** Makes an invitation for one account; it is of use while SIGN_UP is `invite`. */
export async function createInvitation(
  { db }: Services,
  input: { createdBy: string | null; days: number },
): Promise<NewInvitation> {
  const token = randomBytes(24).toString("base64url");
  const expiresAt = new Date(Date.now() + input.days * dayMs);
  const values = { id: newId(), tokenHash: hashOf(token), createdBy: input.createdBy, expiresAt };
  const [row] = await db.insert(invitations).values(values).returning();
  if (!row) throw new AppError("internal");
  return { ...viewOf(row), token };
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
export async function revokeInvitation({ db }: Services, input: { id: string }): Promise<void> {
  const gone = await db
    .delete(invitations)
    .where(and(eq(invitations.id, input.id), isNull(invitations.usedAt)))
    .returning({ id: invitations.id });
  if (gone.length === 0) throw new AppError("not_found");
}

/** Whether a new account could be made with this token now. */
export async function isOpenInvitation(db: Db, token: string): Promise<boolean> {
  return (await db.$count(invitations, and(eq(invitations.tokenHash, hashOf(token)), isOpen()))) > 0;
}

/** Uses an invitation up; of two sign-ups at once only one gets true. */
export async function takeInvitation(db: Db, token: string): Promise<boolean> {
  const taken = await db
    .update(invitations)
    .set({ usedAt: new Date() })
    .where(and(eq(invitations.tokenHash, hashOf(token)), isOpen()))
    .returning({ id: invitations.id });
  return taken.length === 1;
}
