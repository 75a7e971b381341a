import { AsyncLocalStorage } from "node:async_hooks";
import { apiKey } from "@better-auth/api-key";
import { betterAuth, type BetterAuthOptions, type GenericEndpointContext } from "better-auth";
import { drizzleAdapter } from "better-auth/adapters/drizzle";
import { APIError, createAuthMiddleware, getSessionFromCtx } from "better-auth/api";
import { admin, anonymous } from "better-auth/plugins";
import { type Db, schema, type Tx } from "../db/index.ts";
import {
  AppError,
  type Env,
  isLoopback,
  namesLoopback,
  newId,
  originOf,
  ruleOf,
  keptBy,
} from "../platform/index.ts";
import type { Services } from "../services.ts";
import { isStrong, noteTrusted } from "./admin-factor.ts";
import { isClientUser } from "./client-users.ts";
import { hashAhead, maxPasswordLength, minPasswordLength } from "./credentials.ts";
import { ownPrefix, readEarlier } from "./earlier-cookies.ts";
import { admitEntry, claimFirstAdmin, spendInvitation } from "./entry.ts";
import { awaitsCode, factorPaths, factorPlugins, followFactors, guardFactors } from "./factors.ts";
import {
  accountLinking,
  attemptOf,
  checkLink,
  followProvider,
  guardProviders,
  identityProviders,
  isEntryOpened,
  isStrongAtProvider,
  requestsOf,
} from "./identity-providers.ts";
import { noteBrowserLocale } from "./language.ts";
import { describeLackOfSpace, takeGuestAlong } from "./merge-guest.ts";
import { followPasskey } from "./passkey-guard.ts";
import { keepFactor, keepPassword, keepSession, keepTrust, noteRequest } from "./overtaken.ts";
import { applyGroups } from "./provider-entry.ts";
import {
  addressLimits,
  callbackPath,
  limitNewcomers,
  limitSignIn,
  recordEntry,
  settleSignIn,
} from "./sign-in-limit.ts";
import { checkUserData, refuse } from "./user-data.ts";

export const maxKeyNameLength = 100;
const sessionSeconds = 30 * 86_400;
const sessionRefreshSeconds = 86_400;

export type Auth = ReturnType<typeof createAuth>;

/** The one auth of these services, made on first use. */
export const authOf = keptBy((services: Services): Auth => readEarlier(services, createAuth(services)));

/** Accounts, sessions and guests in the product's tables; its `handler` serves /api/auth/*. Throws when there is no secret. */
function createAuth(services: Services) {
  const { env, db } = services;
  const keep = (_: unknown, context: GenericEndpointContext | null) =>
    keepPassword(joinTransaction(services), context);
  if (!env.AUTH_SECRET) throw new AppError("internal", "AUTH_SECRET is not set.");
  return betterAuth({
    appName: "Atelier",
    secret: env.AUTH_SECRET,
    baseURL: originOf(env),
    basePath: "/api/auth",
    trustedOrigins: (request) => (request ? trustedOrigins(env, request) : []),
    database: databaseFor(db),
    logger: logTo(services),
    telemetry: { enabled: false },
    // The caller of the handler logs and maps errors; without this the library writes to the console.
    onAPIError: { throw: true, errorURL: "/sign-in" },
    rateLimit: addressLimits,
    session: {
      expiresIn: sessionSeconds,
      updateAge: sessionRefreshSeconds,
      // The age counts that `factors.ts` checks, in which a password that was typed again counts, too.
      freshAge: 0,
      additionalFields: { isStrong: { type: "boolean", input: false, required: false } },
    },
    user: { additionalFields: { selfMade: { type: "boolean", input: false, required: false } } },
    account: { accountLinking },
    emailAndPassword: { enabled: true, minPasswordLength, maxPasswordLength, autoSignIn: true },
    advanced: {
      database: { generateId: () => newId() },
      cookiePrefix: ownPrefix(env),
      // One address: scripts/web/front-door.ts replaces whatever the client sent.
      ipAddress: { ipAddressHeaders: ["x-forwarded-for"] },
      // Over plain http on a LAN address a Secure cookie would never come back.
      useSecureCookies: env.APP_URL?.startsWith("https://") ?? false,
      disableOriginCheck: false,
      disableCSRFCheck: false,
    },
    hooks: { before: guardEntry(services) },
    databaseHooks: {
      user: {
        create: {
          before: async (user, context) => {
            const { data } = checkUserData(user);
            // Without a path the account is made by an admin or the command line.
            if (!context?.path) return { data };
            const inside = joinTransaction(services);
            if (context.path === callbackPath) await limitNewcomers(inside, context);
            if (await isEntryOpened()) return { data };
            const attempt = { ...(await attemptOf(services, context)), email: user.email };
            return { data: { ...data, selfMade: !(await spendInvitation(inside, attempt)) } };
          },
        },
        update: {
          before: async (user, context) => {
            await keepFactor(joinTransaction(services), context);
            return checkUserData(user);
          },
        },
      },
      account: {
        create: {
          before: ({ userId }, context) =>
            checkLink(joinTransaction(services), { userId, path: context?.path }),
        },
        update: { before: keep },
      },
      verification: { create: { after: async (row, to) => keepTrust(db, await requestsOf(to), row) } },
      session: {
        delete: { before: keep },
        create: {
          // Whatever password somebody gives it.
          before: async ({ userId }, context) => {
            const inside = joinTransaction(services);
            if (await isClientUser(inside, userId)) refuse("FORBIDDEN", "This user cannot sign in.");
            await applyGroups(inside, userId);
            const guest = context && (await getSessionFromCtx(context));
            const isFactored = isStrong(context?.path, { userId, before: guest ?? null });
            const begun = { data: { isStrong: isFactored || (await isStrongAtProvider()) } };
            if (!guest || !("isAnonymous" in guest.user) || guest.user["isAnonymous"] !== true) return begun;
            // Before there is a session of the account: the guest stays signed in, with all pictures.
            const { bytesPerUser } = services.config.limits;
            const ids = { guestId: guest.user.id, accountId: userId, bytesPerUser };
            const text = await describeLackOfSpace(inside.db, ids);
            if (text !== null) refuse("FORBIDDEN", text);
            return begun;
          },
          after: async ({ id, userId }, context) => {
            await keepSession(db, context, { id, userId, requests: await requestsOf(context) });
            if (context?.headers) await noteBrowserLocale(services, { userId, headers: context.headers });
          },
        },
      },
    },
    plugins: [
      guests(services),
      // A hook of the options would run before it is known whether the guest fits.
      { id: "entry", hooks: { after: [{ matcher: () => true, handler: followEntry(services) }] } },
      ...factorPlugins(services),
      admin({ bannedUserMessage: "An admin of this studio has suspended this account. Ask them about it." }),
      keys(services),
      identityProviders(services),
    ],
  });
}

/**
 * The endpoints of the library that are served, with their methods; all others answer 404, also those that a newer version of the library adds.
 * What an admin does to users is in `server/users`: there it is audited, keeps the last admin, and ends jobs and streams.
 */
export const servedAuthPaths: ReadonlyMap<string, readonly string[]> = new Map([
  ["/get-session", ["GET", "POST"]],
  ["/sign-in/anonymous", ["POST"]],
  ["/sign-in/email", ["POST"]],
  ["/sign-up/email", ["POST"]],
  ["/sign-in/social", ["POST"]],
  [callbackPath, ["GET", "POST"]],
  ["/sign-out", ["POST"]],
  ["/revoke-sessions", ["POST"]],
  ["/change-password", ["POST"]],
  ["/update-user", ["POST"]],
  ...factorPaths,
]);

/** By the path of the endpoint that was found, so that no spelling of an address reaches another. */
function requireServed({ path, request }: Pick<GenericEndpointContext, "path" | "request">): void {
  // Without a request the call is this product's own.
  if (request === undefined || servedAuthPaths.has(path)) return;
  throw new APIError("NOT_FOUND", { code: "NOT_FOUND", message: ruleOf("not_found").message });
}

/** The transaction of the library in which a hook runs. */
const around = new AsyncLocalStorage<Tx>();

/**
 * For a hook before something is stored: the services on the connection of the library's transaction. With a second connection, as many
 * sign-ups at once as the pool has connections would each hold one and wait for another.
 */
function joinTransaction(services: Services): Services {
  const tx = around.getStore();
  return tx ? { ...services, db: tx } : services;
}

function databaseFor(db: Db) {
  const transaction: Db["transaction"] = (work, options) =>
    db.transaction((tx) => around.run(tx, () => work(tx)), options);
  const joined = new Proxy(db, {
    get: (object, name) => (name === "transaction" ? transaction : Reflect.get(object, name, object)),
  });
  return drizzleAdapter(joined, {
    provider: "pg",
    transaction: true,
    schema: {
      user: schema.users,
      session: schema.sessions,
      account: schema.credentials,
      verification: schema.verifications,
      apikey: schema.apiKeys,
      rateLimit: schema.rateLimits,
      twoFactor: schema.twoFactors,
      passkey: schema.passkeys,
    },
  });
}

function logTo(services: Services): BetterAuthOptions["logger"] {
  return {
    level: "warn",
    log: (level, message, ...details) => {
      const err = details.find((detail) => detail instanceof Error);
      services.log[level]({ err, part: "accounts" }, message);
    },
  };
}

function guardEntry(services: Services) {
  return createAuthMiddleware(async (ctx) => {
    requireServed(ctx);
    await guardProviders(services, ctx);
    await limitSignIn(services, ctx);
    await admitEntry(services, { path: ctx.path, headers: ctx.headers });
    if (ctx.path !== callbackPath) await limitNewcomers(services, ctx);
    await noteRequest(services, ctx);
    await hashAhead(ctx);
    return guardFactors(services, ctx);
  });
}

function followEntry(services: Services) {
  return createAuthMiddleware(async (ctx) => {
    if (await awaitsCode(ctx)) return undefined;
    await noteTrusted(services, ctx);
    await settleSignIn(services, ctx);
    await recordEntry(services, ctx);
    await followFactors(services, ctx);
    const userId = ctx.context.newSession?.user.id;
    if (userId !== undefined)
      await claimFirstAdmin(services, { ...(await attemptOf(services, ctx)), userId });
    await followProvider(services, ctx);
    return followPasskey(ctx);
  });
}

function guests(services: Services) {
  return anonymous({
    generateName: () => "Guest",
    // mergeGuest removes the guest itself, in the transaction that moves what it owns.
    disableDeleteAnonymousUser: true,
    async onLinkAccount({ anonymousUser, newUser: { user, session }, ctx }) {
      const guestId = anonymousUser.user.id;
      if (user.id !== guestId) await takeGuestAlong(services, ctx, { guestId, session });
    },
  });
}

const keyPrefix = "atelier_";

function keys({ config }: Services) {
  return apiKey({
    defaultPrefix: keyPrefix,
    defaultKeyLength: 48,
    startingCharactersConfig: { charactersLength: keyPrefix.length + 4 },
    maximumNameLength: 2 * maxKeyNameLength, // In UTF-16, where a character may have two.
    rateLimit: { enabled: true, timeWindow: 60_000, maxRequests: config.limits.apiKeyPerMinute },
  });
}

/**
 * The origins of a request, as browsers write them: APP_URL, and the host of the request under either scheme, since a proxy
 * may end TLS. Bound to loopback only the names of this machine count; elsewhere the host counts only without APP_URL.
 * X-Forwarded-Host comes from a trusted proxy: scripts/web/front-door.ts removes others.
 */
export function trustedOrigins(env: Pick<Env, "APP_URL" | "HOST">, request: Request): string[] {
  const direct = request.headers.get("host") ?? new URL(request.url).host;
  const host = request.headers.get("x-forwarded-host") ?? direct;
  const isFree = env.APP_URL === undefined && (!isLoopback(env.HOST) || host !== direct);
  const isLocal = isLoopback(env.HOST) && namesLoopback(host);
  const originOf = (scheme: string) => URL.parse(`${scheme}://${host}`)?.origin ?? [];
  const own = isFree || isLocal ? ["http", "https"].flatMap(originOf) : [];
  return env.APP_URL ? [new URL(env.APP_URL).origin, ...own] : own;
}
