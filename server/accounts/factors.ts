import { createHash } from "node:crypto";
import { passkey } from "@better-auth/passkey";
import type { BetterAuthPlugin, GenericEndpointContext } from "better-auth";
import { APIError, createAuthMiddleware, getSessionFromCtx } from "better-auth/api";
import { twoFactor } from "better-auth/plugins/two-factor";
import { and, eq } from "drizzle-orm";
import type { AuditKind } from "../audit/index.ts";
import { type Db, schema } from "../db/index.ts";
import { normalized } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { endOthers, forgetTrust, passkeyHost } from "./credentials.ts";
import { isFactorUnreadable } from "./factor-secrets.ts";
import { describeLackOfSpace, takeGuestAlong } from "./merge-guest.ts";
import { isChanged, isOvertaken, noteStart, refuseOvertaken } from "./overtaken.ts";
import {
  cookieOfChallenge,
  guardPasskey,
  guardStrength,
  isGuest,
  noteChecked,
  refuseUnverified,
} from "./passkey-guard.ts";
import { countTry } from "./permits.ts";
import { callbackPath, rememberDevice, tryRecord } from "./sign-in-limit.ts";

const { passkeys, sessions } = schema;

/** Wrong codes in a row after which an account takes none for a while, whatever browser they come from. */
const codeTries = 5;
const lockSeconds = 15 * 60;
/** A sign-in with the right password waits this long for its code. */
const halfDoneSeconds = 10 * 60;
const trustSeconds = 30 * 86_400;
/** Longer than the three steps of 30 seconds in which a code is valid. */
const codeMs = 120_000;

/**
 * A second factor after the password: a code of an authenticator app, or a recovery code. The library encrypts both with
 * AUTH_SECRET. A code is valid in its own step of 30 seconds and in the one before and after it.
 */
function secondFactor() {
  return twoFactor({
    trustDeviceMaxAge: trustSeconds,
    twoFactorCookieMaxAge: halfDoneSeconds,
    accountLockout: { enabled: true, maxFailedAttempts: codeTries, durationSeconds: lockSeconds },
  });
}

/** After the password of a guest who signs in: the library ends the session, but until the code is there the guest stays one. */
function keptGuest(): BetterAuthPlugin {
  const handler = createAuthMiddleware(async (ctx) => {
    const guest = ctx.context.session;
    const isFailed = Reflect.get(ctx.context, "returned") instanceof APIError;
    if (ctx.context.newSession || isFailed || !guest || !isGuest(guest)) return;
    const { name, attributes } = ctx.context.authCookies.sessionToken;
    await ctx.setSignedCookie(name, guest.session.token, ctx.context.secret, attributes);
  });
  const matcher = ({ path }: { path?: string | undefined }) => path === "/sign-in/email";
  return { id: "kept-guest", hooks: { after: [{ matcher, handler }] } };
}

/**
 * Sign-in with a passkey of the host in APP_URL. It stands for two factors, so the device must have checked its user by
 * finger, face or PIN. The library refuses a key whose counter went back, as that of a copy would.
 */
function passkeyEntry({ env, db }: Services) {
  return passkey({
    rpID: passkeyHost(env),
    rpName: "Atelier",
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    registration: {
      afterVerification: ({ ctx, verification }) => {
        noteChecked(ctx);
        if (verification.registrationInfo?.userVerified !== true) refuseUnverified();
      },
    },
    authentication: {
      async afterVerification({ verification }) {
        const { userVerified, credentialID } = verification.authenticationInfo;
        if (!userVerified) refuseUnverified();
        await db
          .update(passkeys)
          // The library compares the host: a key that was made before hosts were kept shows its own by its use.
          .set({ lastUsedAt: new Date(), rpId: passkeyHost(env) })
          .where(eq(passkeys.credentialID, credentialID));
      },
    },
  });
}

/** In this order: the guest is kept once the second factor has taken the new session back. */
export const factorPlugins = (services: Services) =>
  [secondFactor(), keptGuest(), passkeyEntry(services)] as const;

/** The endpoints of the factors that are served. */
export const factorPaths: readonly (readonly [string, readonly string[]])[] = [
  ["/two-factor/enable", ["POST"]],
  ["/two-factor/disable", ["POST"]],
  ["/two-factor/verify-totp", ["POST"]],
  ["/two-factor/verify-backup-code", ["POST"]],
  ["/two-factor/generate-backup-codes", ["POST"]],
  ["/passkey/generate-register-options", ["GET"]],
  ["/passkey/verify-registration", ["POST"]],
  ["/passkey/generate-authenticate-options", ["GET"]],
  ["/passkey/verify-authentication", ["POST"]],
];

/** Whether the password was right and a code is still missing: the library takes the new session back after all hooks of ours. */
export async function awaitsCode(ctx: GenericEndpointContext): Promise<boolean> {
  const plugin: unknown = ctx.context.getPlugin("two-factor");
  const asks: unknown = Reflect.get(Object(plugin), "shouldRequireTwoFactor");
  return typeof asks === "function" && Boolean(await Reflect.apply(asks, plugin, [ctx]));
}

/** Who sends a code: somebody half signed in, or a user who sets the app up. */
interface Step {
  readonly userId: string;
  readonly isSignIn: boolean;
  /** The guest of this browser, whose things go to the account. */
  readonly guestId: string | null;
}

const steps = new WeakMap<object, Step>();
const codePaths = new Set(["/two-factor/verify-totp", "/two-factor/verify-backup-code"]);
const passwordPaths = new Set([
  "/change-password",
  "/two-factor/enable",
  "/two-factor/disable",
  "/two-factor/generate-backup-codes",
]);
const entryPaths = new Set(["/passkey/verify-authentication", callbackPath]);
const isEntry = (path: string) => path.startsWith("/sign-in/") || entryPaths.has(path);

/** Before an endpoint of the factors. What it returns replaces headers of the request. Throws APIError. */
export async function guardFactors(services: Services, ctx: GenericEndpointContext) {
  const { db } = services;
  if (passwordPaths.has(ctx.path)) await limitPassword(db, ctx);
  await guardPasskey(db, ctx);
  await guardStrength(services, ctx);
  if (codePaths.has(ctx.path)) return guardCode(services, ctx);
  const cookie = cookieOfChallenge(ctx);
  // The cookie of a session that ended elsewhere: on meeting it, the library would drop the cookie of the new session.
  if (isEntry(ctx.path) && ctx.headers?.has("cookie") && !ctx.context.session)
    return { context: { headers: withoutSession(ctx, cookie) } };
  return cookie === null ? undefined : { context: { headers: new Headers({ cookie }) } };
}

async function limitPassword(db: Db, ctx: GenericEndpointContext): Promise<void> {
  const open = await getSessionFromCtx(ctx, { disableRefresh: true });
  if (open && !(await countTry(db, `password|${open.user.id}`))) throw tooMany();
}

const tooMany = () =>
  new APIError("TOO_MANY_REQUESTS", {
    code: "TOO_MANY_REQUESTS",
    message: "Too many tries. Wait a minute and try again.",
  });

async function guardCode(services: Services, ctx: GenericEndpointContext) {
  const step = await readStep(ctx);
  if (!step) return undefined;
  // The library reads afterwards whether the user still waits for a code.
  if (step.isSignIn) await noteStart(services.db, ctx.context, eq(schema.users.id, step.userId));
  await requireSpace(services, step);
  steps.set(ctx.context, step);
  if (await isFactorUnreadable(services, step.userId)) await refuseUnreadable(services, ctx, step);
  const headers = step.guestId === null ? {} : { headers: withoutSession(ctx) };
  if (ctx.path !== "/two-factor/verify-totp") return { context: headers };
  const code = digitsOf(String(Reflect.get(Object(ctx.body), "code")));
  await refuseReplay(services, ctx, { ...step, code });
  return { context: { ...headers, body: { code } } };
}

async function refuseUnreadable(services: Services, ctx: GenericEndpointContext, step: Step): Promise<never> {
  const { userId, isSignIn } = step;
  services.log.error({ userId }, "the second factor of a user was encrypted with another AUTH_SECRET");
  const act = { kind: "sign_in.failed", by: null, to: userId, outcome: "factor_unreadable" } as const;
  if (isSignIn) await tryRecord(services, ctx, act);
  throw new APIError("CONFLICT", {
    code: "FACTOR_UNREADABLE",
    message:
      "The second factor was set up under another AUTH_SECRET of this studio, so no code is right. Its operator can reset the factor.",
  });
}

const arabicDigits = /[\u0660-\u0669\u06f0-\u06f9]/g;

/** A code as it is typed or pasted: with blanks, and in the digits of another script or of a wide font. */
function digitsOf(code: string): string {
  const digits = normalized(code, "NFKC").replace(arabicDigits, (digit) => String(digit.charCodeAt(0) & 15));
  return digits.replace(/\D/g, "");
}

/** The password step checked it, and the guest may have added pictures since. Before the code, which is not spent then. */
async function requireSpace({ db, config }: Services, { userId, guestId }: Step): Promise<void> {
  if (guestId === null) return;
  const { bytesPerUser } = config.limits;
  const message = await describeLackOfSpace(db, { guestId, accountId: userId, bytesPerUser });
  if (message !== null) throw new APIError("FORBIDDEN", { code: "FORBIDDEN", message });
}

async function readStep(ctx: GenericEndpointContext): Promise<Step | null> {
  const open = await getSessionFromCtx(ctx, { disableRefresh: true });
  if (open && !isGuest(open)) return { userId: open.user.id, isSignIn: false, guestId: null };
  const { name } = ctx.context.createAuthCookie("two_factor");
  const id = await ctx.getSignedCookie(name, ctx.context.secret);
  const waiting = id ? await ctx.context.internalAdapter.findVerificationValue(id) : null;
  return waiting ? { userId: waiting.value, isSignIn: true, guestId: open?.user.id ?? null } : null;
}

/** The library takes a code as often as it is sent. Counted before it is checked: of two at once one is refused. */
async function refuseReplay(
  services: Services,
  ctx: GenericEndpointContext,
  { userId, isSignIn, code }: Step & { readonly code: string },
): Promise<void> {
  const digest = createHash("sha256").update(`${userId}|${code}`).digest("hex");
  if (await countTry(services.db, `code|${digest}`, { windowMs: codeMs, max: 1 })) return;
  const act = { kind: "sign_in.failed", by: null, to: userId, outcome: "code_used" } as const;
  if (isSignIn) await tryRecord(services, ctx, act);
  throw new APIError("UNAUTHORIZED", {
    code: "CODE_USED",
    message: "This code was sent before. Wait for the next one.",
  });
}

/** With the guest's session the library would look for a second factor of the guest. */
function withoutSession(ctx: GenericEndpointContext, cookie: string | null = null): Headers {
  ctx.context.session = null;
  const { name } = ctx.context.authCookies.sessionToken;
  const pairs = (cookie ?? ctx.headers?.get("cookie") ?? "").split("; ");
  return new Headers({ cookie: pairs.filter((pair) => !pair.startsWith(`${name}=`)).join("; ") });
}

/** After an endpoint of the factors: the audit, the end of other sessions, and the things of a guest. */
export async function followFactors(services: Services, ctx: GenericEndpointContext): Promise<void> {
  const returned: unknown = Reflect.get(ctx.context, "returned");
  const step = steps.get(ctx.context);
  if (returned instanceof APIError && !isChanged(ctx)) {
    const outcome = String(returned.body?.["code"] ?? returned.status).toLowerCase();
    if (step?.isSignIn)
      await tryRecord(services, ctx, { kind: "sign_in.failed", by: null, to: step.userId, outcome });
    return;
  }
  if (step?.isSignIn) await finishSignIn(services, ctx, step);
  else await followChange(services, ctx);
}

async function finishSignIn(services: Services, ctx: GenericEndpointContext, step: Step): Promise<void> {
  const { userId, guestId } = step;
  if (!ctx.context.newSession) return;
  const { session, user } = ctx.context.newSession;
  if (guestId !== null) await takeGuestAlong(services, ctx, { guestId, session });
  await rememberDevice(ctx, user.email);
  const factor = ctx.path === "/two-factor/verify-totp" ? "app" : "recovery_code";
  await tryRecord(services, ctx, { kind: "sign_in.done", by: userId, details: { factor } });
}

/** Keeps the host of a new passkey; one that a session added which was ended meanwhile is removed. Throws APIError. */
async function settlePasskey(services: Services, ctx: GenericEndpointContext, userId: string): Promise<void> {
  if (ctx.path !== "/passkey/verify-registration") return;
  const { db, env } = services;
  const id: unknown = Reflect.get(Object(Reflect.get(ctx.context, "returned")), "id");
  const isMade = and(eq(passkeys.id, String(id)), eq(passkeys.userId, userId));
  await db
    .update(passkeys)
    .set({ rpId: passkeyHost(env) })
    .where(isMade);
  if (!(await isOvertaken(db, [ctx.context], userId))) return;
  await db.delete(passkeys).where(isMade);
  refuseOvertaken();
}

const changes: Readonly<Record<string, AuditKind>> = {
  "/two-factor/verify-totp": "account.factor_added",
  "/two-factor/disable": "account.factor_removed",
  "/two-factor/generate-backup-codes": "account.recovery_codes_made",
  "/passkey/verify-registration": "account.passkey_added",
};

async function followChange(services: Services, ctx: GenericEndpointContext): Promise<void> {
  const kind = changes[ctx.path];
  const now = ctx.context.newSession ?? ctx.context.session;
  if (ctx.path === "/change-password" && now)
    await services.db.transaction((tx) => forgetTrust(tx, now.user.id));
  // A further code of somebody who has set the app up changes nothing.
  if (kind === undefined || !now || (codePaths.has(ctx.path) && !ctx.context.newSession)) return;
  const userId = now.user.id;
  await settlePasskey(services, ctx, userId);
  // The change stands by now: other sessions end, and the answer says so, also where its entry cannot be written.
  await services.db.transaction(async (tx) => {
    if (kind !== "account.recovery_codes_made") await endOthers(tx, { userId, sessionId: now.session.id });
    // A recent sign-in or password, and the finger, face or PIN that the new key has just asked for.
    if (kind === "account.passkey_added")
      await tx.update(sessions).set({ isStrong: true }).where(eq(sessions.token, now.session.token));
  });
  await tryRecord(services, ctx, { kind, by: userId });
}
