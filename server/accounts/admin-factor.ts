import { sql } from "drizzle-orm";
import { recordAct } from "../audit/index.ts";
import { schema } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services.ts";
import type { Caller } from "./caller.ts";
import { isAdminNow, lockAdmins } from "./first-admin.ts";

/** What an admin lacks where the studio asks its admins for a second factor: one that is set up, or a sign-in with it. */
export type AdminLack = "factor" | "sign_in";

type Asked = Pick<Services, "db" | "config">;

/** SQL: users `id` can sign in with a second factor, here or at a provider that asks for one itself. */
function holdsFactor({ config }: Pick<Asked, "config">, userId: string) {
  const asking = Object.entries(config.signIn.providers).flatMap(([id, { asksSecondFactor }]) =>
    asksSecondFactor ? [id] : [],
  );
  const atProvider =
    asking.length === 0
      ? sql`false`
      : sql`exists (select from credentials c where c.user_id = ${userId} and c.provider_id in ${asking})`;
  return sql`(exists (select from two_factors t where t.user_id = ${userId} and t.verified)
    or exists (select from passkeys p where p.user_id = ${userId}) or ${atProvider})`;
}

/**
 * What an admin lacks; null where the studio asks for nothing, and for one who has it. A key has no session of its own, so
 * for it the account alone counts.
 */
export async function lackOf(
  services: Asked,
  { userId, sessionId }: { readonly userId: string; readonly sessionId: string | null },
): Promise<AdminLack | null> {
  const isStrong =
    sessionId === null
      ? sql`true`
      : sql`exists (select from sessions s where s.id = ${sessionId} and s.is_strong)`;
  const [found] = await services.db.execute<{ holds: boolean; isStrong: boolean }>(sql`
    select ${holdsFactor(services, userId)} as holds, ${isStrong} as "isStrong"
    from studio where admins_need_factor`);
  if (!found) return null;
  if (!found.holds) return "factor";
  return found.isStrong ? null : "sign_in";
}

export const lackTexts: Readonly<Record<AdminLack, string>> = {
  factor: "This studio asks its admins for a second factor. Set one up in the settings.",
  sign_in: "This studio asks its admins for a second factor. Sign out, and sign in with yours.",
};

/** Throws `forbidden`, with what to do, for an admin who lacks a second factor: who acts for others must not act for oneself instead. */
export function refuseLack({ adminLack }: Pick<Caller, "adminLack">): void {
  if (adminLack) throw new AppError("forbidden", lackTexts[adminLack]);
}

/** `forbidden` for somebody who is no admin, or is none until a second factor is there. */
export function notAdmin(caller: Pick<Caller, "adminLack">): AppError {
  return new AppError("forbidden", caller.adminLack && lackTexts[caller.adminLack]);
}

/** Whether admins need a second factor. */
export async function readAdminFactor({ db }: Pick<Services, "db">): Promise<{ readonly isNeeded: boolean }> {
  const [row] = await db.select({ isNeeded: schema.studio.adminsNeedFactor }).from(schema.studio);
  return { isNeeded: row?.isNeeded ?? false };
}

/**
 * Asks all admins for a second factor, or no longer. An admin who turns it on has one, so that somebody keeps the way to turn it off; an
 * operator (`adminId` null) may always. Throws `conflict` for an admin without one, and `forbidden` for one who is none any more.
 */
export async function setAdminFactor(
  services: Asked,
  { isNeeded, adminId }: { readonly isNeeded: boolean; readonly adminId: string | null },
): Promise<void> {
  await services.db.transaction(async (tx) => {
    await lockAdmins(tx);
    if (adminId !== null) {
      if (!(await isAdminNow(tx, adminId))) throw new AppError("forbidden");
      const [own] = await tx.execute<{ holds: boolean }>(
        sql`select ${holdsFactor(services, adminId)} as holds`,
      );
      if (isNeeded && own?.holds !== true)
        throw new AppError("conflict", "Set up a second factor of your own first, in the settings.");
    }
    const { studio } = schema;
    const set = { adminsNeedFactor: isNeeded };
    await tx.insert(studio).values(set).onConflictDoUpdate({ target: studio.id, set });
    await recordAct(tx, { kind: "user.admin_factor_set", by: adminId, details: { isNeeded } });
  });
}
