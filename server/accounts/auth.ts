import { apiKey } from "@better-auth/api-key";
import { betterAuth, type BetterAuthOptions } from "better-auth";
import { drizzleAdapter } from "better-auth/adapters/drizzle";
import { createAuthMiddleware } from "better-auth/api";
import { admin, anonymous } from "better-auth/plugins";
import { schema, type Db } from "../db/index.ts";
import { AppError, newId } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { admitEntry, claimFirstAdmin, spendInvitation } from "./entry.ts";
import { mergeGuest } from "./merge-guest.ts";
import { limitSignIn, settleSignIn } from "./sign-in-limit.ts";
import { trustedOrigins } from "./trusted-origins.ts";
import { checkUserData } from "./user-data.ts";

export const minPasswordLength = 10;
export const maxPasswordLength = 128;
export const maxKeyNameLength = 100;
const sessionSeconds = 30 * 86_400;
const sessionRefreshSeconds = 86_400;

/** Done by the product's own API with its own rules, or by nobody. */
const disabledPaths = [
  "/api-key/create",
  "/api-key/get",
  "/api-key/update",
  "/api-key/delete",
  "/api-key/list",
  "/api-key/verify",
  "/api-key/delete-all-expired-api-keys",
  "/delete-anonymous-user",
  "/admin/impersonate-user",
  "/admin/remove-user",
];

function databaseFor(db: Db) {
  return drizzleAdapter(db, {
    provider: "pg",
    transaction: true,
    schema: {
      user: schema.users,
      session: schema.sessions,
      account: schema.credentials,
      verification: schema.verifications,
      apikey: schema.apiKeys,
      rateLimit: schema.rateLimits,
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

/** Per caller's address; the limit by e-mail address stands in `sign-in-limit.ts`. */
const rateLimit = {
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
  },
} as const satisfies BetterAuthOptions["rateLimit"];

function guardEntry(services: Services) {
  return createAuthMiddleware(async (ctx) => {
    await limitSignIn(services, ctx);
    await admitEntry(services, { path: ctx.path, headers: ctx.headers });
  });
}

function followEntry(services: Services) {
  return createAuthMiddleware(async (ctx) => {
    await settleSignIn(services, ctx);
    const userId = ctx.context.newSession?.user.id;
    if (userId !== undefined)
      await claimFirstAdmin(services, { path: ctx.path, headers: ctx.headers, userId });
  });
}

function guests({ db }: Services) {
  return anonymous({
    generateName: () => "Guest",
    // mergeGuest removes the guest itself, in the transaction that moves what it owns.
    disableDeleteAnonymousUser: true,
    async onLinkAccount({ anonymousUser, newUser }) {
      if (newUser.user.id === anonymousUser.user.id) return;
      await mergeGuest(db, { guestId: anonymousUser.user.id, accountId: newUser.user.id });
    },
  });
}

const keyPrefix = "atelier_";

function keys({ config }: Services) {
  return apiKey({
    defaultPrefix: keyPrefix,
    defaultKeyLength: 48,
    startingCharactersConfig: { charactersLength: keyPrefix.length + 4 },
    maximumNameLength: maxKeyNameLength,
    rateLimit: { enabled: true, timeWindow: 60_000, maxRequests: config.limits.apiKeyPerMinute },
  });
}

/** Accounts, sessions and guests on our tables; its `handler` serves /api/auth/*. Throws when there is no secret. */
export function createAuth(services: Services) {
  const { env, db } = services;
  if (!env.AUTH_SECRET) throw new AppError("internal", "AUTH_SECRET is not set.");
  return betterAuth({
    appName: "Atelier",
    secret: env.AUTH_SECRET,
    baseURL: env.APP_URL ? new URL(env.APP_URL).origin : `http://localhost:${env.PORT}`,
    basePath: "/api/auth",
    trustedOrigins: (request) => (request ? trustedOrigins(env, request) : []),
    database: databaseFor(db),
    logger: logTo(services),
    telemetry: { enabled: false },
    // Whoever calls the handler logs and maps; otherwise the library writes to the console.
    onAPIError: { throw: true },
    disabledPaths,
    rateLimit,
    session: { expiresIn: sessionSeconds, updateAge: sessionRefreshSeconds },
    emailAndPassword: { enabled: true, minPasswordLength, maxPasswordLength, autoSignIn: true },
    advanced: {
      database: { generateId: () => newId() },
      cookiePrefix: "atelier",
      // One address: scripts/web/front-door.ts replaces whatever the client sent.
      ipAddress: { ipAddressHeaders: ["x-forwarded-for"] },
      // Over plain http on a LAN address a Secure cookie would never come back.
      useSecureCookies: env.APP_URL?.startsWith("https://") ?? false,
      disableOriginCheck: false,
      disableCSRFCheck: false,
    },
    hooks: { before: guardEntry(services), after: followEntry(services) },
    databaseHooks: {
      user: {
        create: {
          before: async (user, context) => {
            const checked = checkUserData(user);
            if (context?.path)
              await spendInvitation(services, { path: context.path, headers: context.headers });
            return checked;
          },
        },
        update: { before: async (user) => checkUserData(user) },
      },
    },
    plugins: [guests(services), admin(), keys(services)],
  });
}

export type Auth = ReturnType<typeof createAuth>;

const authByServices = new WeakMap<Services, Auth>();

/** The one auth of these services, made on first use. */
export function authOf(services: Services): Auth {
  const known = authByServices.get(services);
  if (known) return known;
  const auth = createAuth(services);
  authByServices.set(services, auth);
  return auth;
}
