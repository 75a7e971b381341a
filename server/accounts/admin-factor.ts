import type { GenericEndpointContext } from "better-auth";
import { eq, sql } from "drizzle-orm";
import { recordAct } from "../audit/index.ts";
import { type Db, schema, type Tx } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services.ts";
import type { Caller } from "./caller.ts";
import { passkeyHost } from "./credentials.ts";
import { isAdminNow, lockAdmins } from "./first-admin.ts";

/** What an admin lacks where the studio asks its admins for a second factor: one that is set up, or a sign-in with it. */
export type AdminLack = "factor" | "sign_in";

type Asked = Pick<Services, "db" | "config" | "env">;

/** Ids of the providers that ask everybody for a second factor (`isAsking`), or of the others. */
const providersThat = ({ config }: Pick<Asked, "config">, isAsking: boolean) =>
  Object.entries(config.signIn.providers).flatMap(([id, { asksSecondFactor }]) =>
    asksSecondFactor === isAsking ? [id] : [],
  );

/** SQL: users `id` can sign in with a second factor, here or at a provider that asks for one itself. */
function holdsFactor(services: Pick<Asked, "config" | "env">, userId: string) {
  const asking = providersThat(services, true);
  // Its code is asked for after a password alone, and while the library takes it for being in force.
  const byApp = services.config.signIn.passwords
    ? sql`exists (select from two_factors t join users u on u.id = t.user_id
        where u.id = ${userId} and u.two_factor_enabled and t.verified)`
    : sql`false`;
  const atProvider =
    asking.length === 0
      ? sql`false`
      : sql`exists (select from credentials c where c.user_id = ${userId} and c.provider_id in ${asking})`;
  // A passkey whose host is not known counts: an update must take no admin's rights away. The session must have begun with a factor anyway.
  const byPasskey = sql`exists (select from passkeys p where p.user_id = ${userId}
    and coalesce(p.rp_id, ${passkeyHost(services.env)}) = ${passkeyHost(services.env)})`;
  return sql`(${byApp} or ${byPasskey} or ${atProvider})`;
}

const isStrongNow = (sessionId: string | null) =>
  sql`exists (select from sessions s where s.id = ${sessionId} and s.is_strong)`;

/**
 * What an admin lacks; null when nothing is lacking or the studio has no such rule. An API key has no session: only the factors
 * of its account count.
 */
export async function lackOf(
  services: Pick<Asked, "config" | "env"> & { readonly db: Db | Tx },
  { userId, sessionId }: { readonly userId: string; readonly sessionId: string | null },
): Promise<AdminLack | null> {
  const isStrong = sessionId === null ? sql`true` : isStrongNow(sessionId);
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

interface FactorRule {
  readonly isNeeded: boolean;
  readonly adminId: string | null;
  /** Of the admin; null for a key. */
  readonly sessionId?: string | null | undefined;
}

/**
 * Asks all admins for a second factor, or no longer. An admin who turns it on has signed in with one, so that somebody keeps the way to turn it
 * off; an operator (`adminId` null) may always. Throws `conflict` for an admin without one, or whose session began without it, and `forbidden` for
 * one who is none any more.
 */
export async function setAdminFactor(
  services: Asked,
  { isNeeded, adminId, sessionId = null }: FactorRule,
): Promise<void> {
  await services.db.transaction(async (tx) => {
    await lockAdmins(tx);
    if (adminId !== null) {
      if (!(await isAdminNow(tx, adminId))) throw new AppError("forbidden");
      if (isNeeded) await requireOwn(services, tx, { adminId, sessionId });
    }
    const { studio } = schema;
    const set = { adminsNeedFactor: isNeeded };
    await tx.insert(studio).values(set).onConflictDoUpdate({ target: studio.id, set });
    await recordAct(tx, { kind: "user.admin_factor_set", by: adminId, details: { isNeeded } });
  });
}

async function requireOwn(
  services: Asked,
  tx: Tx,
  { adminId, sessionId }: { readonly adminId: string; readonly sessionId: string | null },
): Promise<void> {
  const [own] = await tx.execute<{ holds: boolean; isStrong: boolean }>(
    sql`select ${holdsFactor(services, adminId)} as holds, ${isStrongNow(sessionId)} as "isStrong"`,
  );
  if (own?.holds !== true)
    throw new AppError("conflict", "Set up a second factor of your own first, in the settings.");
  if (!own.isStrong) throw new AppError("conflict", "Sign out first, and sign in with your second factor.");
}

/** A session that begins at one of these has two factors behind it. */
const strongPaths = new Set([
  "/two-factor/verify-totp",
  "/two-factor/verify-backup-code",
  "/passkey/verify-authentication",
]);
/** One that begins at these takes the place of another in the same browser. */
const followingPaths = new Set(["/change-password", "/two-factor/disable"]);

interface Beginning {
  readonly userId: string;
  /** The session that it follows. */
  readonly before: { readonly user: { readonly id: string }; readonly session: object } | null;
}

/** Whether a session that begins now at a path below /api/auth has two factors behind it. */
export function isStrong(path: string | undefined, { userId, before }: Beginning): boolean {
  if (path === undefined) return false;
  if (strongPaths.has(path)) return true;
  if (!followingPaths.has(path) || before?.user.id !== userId) return false;
  return Reflect.get(before.session, "isStrong") === true;
}

/**
 * After a sign-in with a password that needs no code: with an app in force the browser is a trusted one. That is decided by what the library
 * read of the user, as it decided about the code: an app that is confirmed or removed at the same time changes neither.
 */
export async function noteTrusted({ db }: Pick<Services, "db">, ctx: GenericEndpointContext): Promise<void> {
  const begun = ctx.context.newSession;
  if (ctx.path !== "/sign-in/email" || begun?.user["twoFactorEnabled"] !== true) return;
  const { sessions } = schema;
  await db.update(sessions).set({ isStrong: true }).where(eq(sessions.token, begun.session.token));
}

/**
 * Removes an admin's links to providers that ask for a second factor, if the studio asks its admins for one and another way to
 * sign in stays. A link that no longer works would otherwise count as a factor for ever. Returns the ids of the providers.
 */
export async function removeAskingLinks(
  services: Pick<Asked, "config">,
  tx: Tx,
  userId: string,
): Promise<readonly string[]> {
  const asking = providersThat(services, true);
  const others = [
    ...providersThat(services, false),
    ...(services.config.signIn.passwords ? ["credential"] : []),
  ];
  if (asking.length === 0 || others.length === 0) return [];
  const gone = await tx.execute<{ id: string }>(sql`
    delete from credentials c using users u, studio s
    where u.id = ${userId} and c.user_id = u.id and c.provider_id in ${asking}
      and s.admins_need_factor and 'admin' = any (string_to_array(u.role, ','))
      and exists (select from credentials o where o.user_id = u.id and o.provider_id in ${others})
    returning c.provider_id as id`);
  return gone.map(({ id }) => id);
}
