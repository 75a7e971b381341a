import { createHash } from "node:crypto";
import type { BetterAuthOptions, GenericEndpointContext } from "better-auth";
import { APIError, getSessionFromCtx } from "better-auth/api";
import { eq } from "drizzle-orm";
import { type AuditKind, recordAct } from "../audit/index.ts";
import { type Db, schema } from "../db/index.ts";
import { isStorable, networksOf, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { recordChange } from "./account-changes.ts";
import { isBanned } from "./caller.ts";
import { isChanged } from "./overtaken.ts";
import { countTry, forgetTry } from "./permits.ts";

const deviceSeconds = 180 * 86_400;

/** Where a provider leads people back to. */
export const callbackPath = "/callback/:id";

/** Per caller's address; the limits per e-mail address are below. */
export const addressLimits = {
  enabled: true,
  storage: "database",
  window: 60,
  max: 300,
  customRules: {
    "/get-session": false,
    "/sign-in/anonymous": { window: 60, max: 120 },
    "/sign-in/*": { window: 60, max: 60 },
    "/sign-up/*": { window: 60, max: 60 },
    "/change-password": { window: 60, max: 10 },
    "/two-factor/*": { window: 60, max: 30 },
    // Each view of the sign-in page asks for a challenge, to offer passkeys in its field.
    "/passkey/generate-authenticate-options": { window: 60, max: 300 },
    "/passkey/*": { window: 60, max: 60 },
    "/callback/*": { window: 60, max: 120 },
  },
} as const satisfies BetterAuthOptions["rateLimit"];

/** Before each endpoint of the library: ends sessions of banned users, and refuses a sign-in above the limit of failed tries. */
export async function limitSignIn({ db }: Services, ctx: GenericEndpointContext): Promise<void> {
  // Each request of the API asks for the session and looks at the ban itself.
  if (ctx.headers?.has("cookie") && ctx.path !== "/get-session") await endBannedSessions(ctx);
  const email = emailOf(ctx);
  if (email === null || (await countTry(db, await limitKey(ctx, email)))) return;
  throw new APIError("TOO_MANY_REQUESTS", {
    code: "TOO_MANY_REQUESTS",
    message: "Too many failed tries to sign in. Wait a minute and try again.",
  });
}

/** After a sign-in or sign-up that succeeded: the try does not count, and the browser becomes a known device. */
export async function settleSignIn({ db }: Services, ctx: GenericEndpointContext): Promise<void> {
  const signedIn = ctx.context.newSession;
  if (!signedIn || (ctx.path !== "/sign-in/email" && ctx.path !== "/sign-up/email")) return;
  const email = emailOf(ctx);
  if (email !== null) await forgetTry(db, await limitKey(ctx, email));
  await rememberDevice(ctx, signedIn.user.email);
}

const recordedPaths: Readonly<Record<string, AuditKind>> = {
  "/sign-in/email": "sign_in.done",
  "/sign-up/email": "account.made",
  "/passkey/verify-authentication": "sign_in.done",
  "/change-password": "account.password_changed",
  "/revoke-sessions": "account.sessions_ended",
};

/**
 * After an endpoint of the library: adds a sign-in that succeeded or failed, and what a user does to the own account, to the audit
 * log. Of an address without an account nothing is kept but that it was tried.
 */
export async function recordEntry(services: Services, ctx: GenericEndpointContext): Promise<void> {
  await orLog(services, ctx, () => addEntry(services, ctx));
}

/** Adds an act to the audit log after an endpoint; where that fails, the log has the act. */
export async function tryRecord(
  services: Services,
  ctx: GenericEndpointContext,
  act: Parameters<typeof recordAct>[1],
): Promise<void> {
  await orLog(services, ctx, () => services.db.transaction((tx) => recordChange(services, tx, act)), act);
}

async function orLog(
  { log }: Services,
  ctx: GenericEndpointContext,
  add: () => Promise<void>,
  act?: object,
): Promise<void> {
  try {
    await add();
  } catch (err) {
    // The session or the new password stands by now, so the answer must say so.
    log.error({ err, action: ctx.path, act }, "act not added to the audit log");
  }
}

async function addEntry(services: Services, ctx: GenericEndpointContext): Promise<void> {
  const { db } = services;
  const kind = recordedPaths[ctx.path];
  if (kind === undefined) return;
  const returned: unknown = Reflect.get(ctx.context, "returned");
  const failure = returned instanceof APIError ? returned : null;
  if (!failure || isChanged(ctx)) {
    const by = (ctx.context.newSession ?? ctx.context.session)?.user.id;
    if (by !== undefined) await db.transaction((tx) => recordChange(services, tx, { kind, by }));
    return;
  }
  await addFailure(db, ctx, failure);
}

async function addFailure(db: Db, ctx: GenericEndpointContext, failure: APIError): Promise<void> {
  const email = emailOf(ctx);
  if (email === null || !isStorable(email) || !hasPassword(ctx.body)) return;
  const { users } = schema;
  const [user] = await db.select({ id: users.id }).from(users).where(eq(users.email, email.toLowerCase()));
  if (!user && !(await mayRecordUnknown(db, ctx))) return;
  const outcome = String(failure.body?.["code"] ?? failure.status).toLowerCase();
  await recordAct(db, { kind: "sign_in.failed", by: null, to: user?.id ?? null, outcome });
}

const hasPassword = (body: unknown) => typeof Reflect.get(Object(body), "password") === "string";

/** Entries stay for long, so a network adds few of addresses without an account; known accounts have the limit of tries. */
const unknownPerHour = 60;

async function mayRecordUnknown(db: Db, { headers }: GenericEndpointContext): Promise<boolean> {
  for (const { name, times } of networksOf(headers?.get("x-forwarded-for") ?? "")) {
    const limit = { windowMs: hourMs, max: unknownPerHour * times };
    if (!(await countTry(db, `sign-in-unknown|${name}`, limit))) return false;
  }
  return true;
}

function emailOf(ctx: GenericEndpointContext): string | null {
  const body: unknown = ctx.body;
  if (ctx.path !== "/sign-in/email" || typeof body !== "object" || body === null) return null;
  return "email" in body && typeof body.email === "string" ? body.email : null;
}

/** The library checks a ban only at sign-in; a session may be older than the ban. */
async function endBannedSessions(ctx: GenericEndpointContext): Promise<void> {
  const open = await getSessionFromCtx(ctx, { disableRefresh: true });
  if (!open || !isBanned(open.user)) return;
  await ctx.context.internalAdapter.deleteUserSessions(open.user.id);
  ctx.context.session = null;
}

/** By address, not by caller: password guesses can come from many addresses. A known device is counted apart. */
async function limitKey(ctx: GenericEndpointContext, email: string): Promise<string> {
  const device = await knownDevice(ctx, email);
  return device ? `sign-in-device|${device}` : `sign-in|${digestOf(email)}`;
}

const hourMs = 3_600_000;

/** Before a guest or an account is made, which at a provider's answer is known late: the library counts a minute, these an hour and a day. */
export async function limitNewcomers(services: Services, ctx: GenericEndpointContext): Promise<void> {
  const { guestsPerHour, guestsPerDay, signUpsPerHour, signUpsPerDay } = services.config.limits;
  if (ctx.path === "/sign-in/anonymous")
    await limitMade(services, ctx, { what: "guests", hour: guestsPerHour, day: guestsPerDay });
  if (ctx.path === "/sign-up/email" || ctx.path === callbackPath)
    await limitMade(services, ctx, { what: "accounts", hour: signUpsPerHour, day: signUpsPerDay });
}

interface MadeLimit {
  readonly what: "guests" | "accounts";
  readonly hour: number;
  readonly day: number;
}

async function limitMade(
  { db }: Services,
  { headers }: GenericEndpointContext,
  { what, ...limits }: MadeLimit,
): Promise<void> {
  // One address: scripts/web/front-door.ts replaces whatever the client sent.
  for (const { name, times } of networksOf(headers?.get("x-forwarded-for") ?? ""))
    for (const window of ["hour", "day"] as const) {
      const windowMs = window === "hour" ? hourMs : 24 * hourMs;
      const limit = { windowMs, max: limits[window] * times };
      if (await countTry(db, `new-${what}|${window}|${name}`, limit)) continue;
      throw new APIError("TOO_MANY_REQUESTS", {
        code: "TOO_MANY_REQUESTS",
        message: `Too many new ${what} came from your network in this ${window}. Try again later, or sign in.`,
      });
    }
}

/** Uncounts a successful try, so that only failures count. */
const deviceCookie = (ctx: GenericEndpointContext) =>
  ctx.context.createAuthCookie("device", { maxAge: deviceSeconds });

/** The id of a browser that signed in to this address before; null without its signed cookie. */
async function knownDevice(ctx: GenericEndpointContext, email: string): Promise<string | null> {
  const value = await ctx.getSignedCookie(deviceCookie(ctx).name, ctx.context.secret);
  const [id, endsAtSeconds, digest] = value ? value.split(".") : [];
  if (!id || digest !== digestOf(email) || !(Number(endsAtSeconds) > Date.now() / 1_000)) return null;
  return id;
}

export async function rememberDevice(ctx: GenericEndpointContext, email: string): Promise<void> {
  const { name, attributes } = deviceCookie(ctx);
  // A browser keeps its id, else each sign-in would start a new count.
  const id = (await knownDevice(ctx, email)) ?? newId();
  const endsAtSeconds = Math.floor(Date.now() / 1_000) + deviceSeconds;
  const value = `${id}.${endsAtSeconds}.${digestOf(email)}`;
  await ctx.setSignedCookie(name, value, ctx.context.secret, attributes);
}

const digestOf = (email: string) => createHash("sha256").update(email.trim().toLowerCase()).digest("hex");
