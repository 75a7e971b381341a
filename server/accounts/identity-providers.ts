import type { BetterAuthPlugin, GenericEndpointContext } from "better-auth";
import { addOAuthServerContext, APIError, getOAuthState } from "better-auth/api";
import type { OAuthProvider } from "better-auth/oauth2";
import { and, eq, gt, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { keptBy, openSealed, seal } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { entryTokenHeader } from "./entry.ts";
import {
  createIdentityClient,
  type IdentityClient,
  ProviderError,
  type ProviderFailure,
} from "./identity-client.ts";
import { mailAddress } from "./accounts.ts";
import {
  applyGroups,
  currentVisit,
  isAdminOf,
  isLetIn,
  linkByEmail,
  personOf,
  problemOf,
  recordVisit,
} from "./provider-entry.ts";
import { noteStart } from "./overtaken.ts";
import { callbackPath } from "./sign-in-limit.ts";

/** The client of each provider of the configuration, in its order. */
const clientsOf: (services: Services) => readonly IdentityClient[] = keptBy((services: Services) =>
  Object.entries(services.config.signIn.providers).map(([id, provider]) =>
    createIdentityClient(services, id, provider),
  ),
);

/**
 * The providers as those of the library, which keeps the state of a sign-in, finds or makes the account and its session. Its own
 * plugin for them has no limits of time and size, and tells all failures alike.
 */
export function identityProviders(services: Services): BetterAuthPlugin {
  const own = clientsOf(services).map((client) => providerFor(services, client));
  return {
    id: "identity-providers",
    init: ({ socialProviders }) => ({ context: { socialProviders: [...own, ...socialProviders] } }),
  };
}

/** Logs the provider's own words. Throws what is no failure of a provider. */
function noteFailure({ log }: Services, id: string, error: unknown): ProviderError {
  if (!(error instanceof ProviderError)) throw error;
  log.error({ err: error, provider: id, part: "accounts" }, `sign-in provider: ${error.message}`);
  return error;
}

function providerFor(services: Services, client: IdentityClient): OAuthProvider {
  const { id, provider } = client;
  const note = (error: unknown) => noteFailure(services, id, error);
  return {
    id,
    name: provider.name,
    async createAuthorizationURL({ state, codeVerifier, redirectURI: redirectUri }) {
      try {
        return await client.authorize({ state, codeVerifier, redirectUri });
      } catch (error) {
        const { code } = note(error);
        throw new APIError("BAD_GATEWAY", {
          code,
          message: `${provider.name} does not answer as it should.`,
        });
      }
    },
    async validateAuthorizationCode({ code, codeVerifier = "", redirectURI: redirectUri }) {
      const visit = await currentVisit();
      if (!visit) return null;
      Object.assign(visit, { providerId: id, provider });
      try {
        const { claims, idToken } = await client.redeem({ code, codeVerifier, redirectUri });
        visit.claims = claims;
        // Nothing is asked of the provider later, so its tokens are not kept; the id token names the session that a sign-out ends.
        return provider.signsOut ? { idToken } : {};
      } catch (error) {
        visit.failure = note(error).code;
        return null;
      }
    },
    async getUserInfo() {
      const visit = await currentVisit();
      if (!visit?.claims) return null;
      const person = personOf(visit.claims, provider);
      if (!person) visit.failure = "EMAIL_MISSING";
      if (!isLetIn(visit.claims, provider)) visit.failure = "GROUP_MISSING";
      // Somebody who lost the admin's group is no admin here any more, also where the answer lets nobody in.
      const known = await userAt(services, id, visit.claims.sub);
      if (known !== null) await noteStart(services.db, visit, eq(schema.users.id, known));
      if (known !== null && visit.failure !== undefined && !isAdminOf(visit.claims, provider))
        await applyGroups(services, known);
      return person && visit.failure === undefined ? { user: person, data: visit.claims } : null;
    },
    accountSubject: ({ profile }) => String(Reflect.get(profile, "sub") ?? ""),
    ...(provider.signsOut
      ? {
          createEndSessionURL: ({ idToken, postLogoutRedirectURI }) =>
            client.leave(idToken ?? null, postLogoutRedirectURI ?? null),
        }
      : {}),
  };
}

/** The user whose account at a provider this is; null for a person who was never here. */
async function userAt({ db }: Services, providerId: string, sub: string): Promise<string | null> {
  const { credentials } = schema;
  const [found] = await db
    .select({ userId: credentials.userId })
    .from(credentials)
    .where(and(eq(credentials.providerId, providerId), eq(credentials.accountId, sub)));
  return found?.userId ?? null;
}

const tokenPurpose = "entry token";
const tokenContext = "identity provider";

/** Before the browser goes to a provider: the token of an invitation or of the first admin travels along in the server's state. */
async function keepEntryToken({ env }: Services, ctx: GenericEndpointContext): Promise<void> {
  const token = ctx.path === "/sign-in/social" ? ctx.headers?.get(entryTokenHeader) : null;
  if (!token) return;
  const sealed = seal(env, { purpose: tokenPurpose, context: tokenContext }, token.slice(0, 200));
  await addOAuthServerContext({ entryToken: sealed });
}

/** What an endpoint that makes a session was asked for: its path, and the headers with the token of the entry. */
export async function attemptOf(
  { env }: Services,
  { path, headers }: { readonly path: string; readonly headers?: Headers | undefined },
): Promise<{ readonly path: string; readonly headers: Headers | undefined }> {
  if (path !== callbackPath) return { path, headers };
  const sealed = (await getOAuthState())?.serverContext?.["entryToken"];
  const where = { purpose: tokenPurpose, context: tokenContext };
  const token = typeof sealed === "string" ? openSealed(env, where, sealed) : null;
  return { path, headers: new Headers(token === null ? {} : { [entryTokenHeader]: token }) };
}

/** Before an account is stored: whether the provider of this request gives one to whoever may come in. */
export async function isEntryOpened(): Promise<boolean> {
  const visit = await currentVisit();
  if (visit) visit.isNew = true;
  return visit?.provider?.opensEntry === true;
}

/** Before a session begins: whether it is of a provider that asks for a second factor itself. */
export async function isStrongAtProvider(): Promise<boolean> {
  return (await currentVisit())?.provider?.asksSecondFactor === true;
}

/** What the start of a request is noted by. */
export const requestsOf = async (context: GenericEndpointContext | null) => [
  context?.context,
  await currentVisit(),
];

/** Of the library's own rules about linking only the first is right here: the provider must call the address verified. */
export const accountLinking = {
  enabled: true,
  requireLocalEmailVerified: false,
  allowDifferentEmails: true,
} as const;

/** Before an account at a provider is stored for a user: refuses a link by address that is not allowed. Throws APIError. */
export async function checkLink(
  services: Services,
  { userId, path }: { readonly userId: string; readonly path: string | undefined },
): Promise<void> {
  if (path !== callbackPath) return;
  const [visit, state] = [await currentVisit(), await getOAuthState()];
  if (visit?.isNew || state?.link !== undefined) return;
  if (!(await linkByEmail(services, userId)))
    throw new APIError("FORBIDDEN", { code: "ACCOUNT_NOT_LINKED", message: "There is an account already." });
}

/** After a provider's answer: adds it to the audit log, and leads to the sign-in page with the reason when it failed. */
export async function followProvider(services: Services, ctx: GenericEndpointContext): Promise<void> {
  if (ctx.path !== callbackPath) return;
  const problem = await problemOf(Reflect.get(ctx.context, "returned"));
  await recordVisit(services, { userId: ctx.context.newSession?.user.id ?? null, problem });
  if (problem === null) return endHalfDone(ctx);
  const id: unknown = Reflect.get(Object(ctx.params), "id");
  services.log.info({ provider: id, problem, part: "accounts" }, "sign-in through a provider failed");
  throw ctx.redirect(problemPage(problem, id));
}

/** The sign-in page with what went wrong, at which provider. */
const problemPage = (problem: string, provider: unknown) =>
  `/sign-in?${new URLSearchParams({ problem, provider: String(provider) })}`;

/** A provider answers for its own second factor: a sign-in with a password that still waits in this browser for its code is over. */
async function endHalfDone(ctx: GenericEndpointContext): Promise<void> {
  const cookie = ctx.context.createAuthCookie("two_factor");
  const id = await ctx.getSignedCookie(cookie.name, ctx.context.secret);
  if (!id) return;
  for (const kept of [id, `2fa-attempts-${id}`])
    await ctx.context.internalAdapter.deleteVerificationByIdentifier(kept);
  ctx.setCookie(cookie.name, "", { ...cookie.attributes, maxAge: 0 });
}

/** Before each endpoint of the library: refuses passwords where there are none, and keeps what a sign-in through a provider needs later. */
export async function guardProviders(services: Services, ctx: GenericEndpointContext): Promise<void> {
  await guardPasswords(services, ctx);
  await keepEntryToken(services, ctx);
  await requireIssuer(services, ctx);
}

/**
 * An answer must name its provider as the provider spells itself, which may be otherwise than the configuration does; one without a name only
 * where the provider names itself in none: it may be led here from another provider.
 */
async function requireIssuer(services: Services, ctx: GenericEndpointContext): Promise<void> {
  const { code, state, iss } = Object(ctx.query);
  if (ctx.path !== callbackPath || !code || !state) return;
  const client = clientsOf(services).find((one) => one.id === Reflect.get(Object(ctx.params), "id"));
  if (!client) return;
  const leave = (problem: ProviderFailure) => ctx.redirect(problemPage(problem, client.id));
  const known = await client.readIssuer().catch((error: unknown) => {
    throw leave(noteFailure(services, client.id, error).code);
  });
  if (iss ? iss === known.issuer : !known.isInAnswers) return;
  services.log.error(
    { provider: client.id, part: "accounts", issuer: known.issuer, iss: String(iss ?? "").slice(0, 500) },
    "sign-in provider: the answer names another issuer, or none",
  );
  throw leave("PROVIDER_ANSWER_INVALID");
}

/** After `atelier reset-password` or `create-user` an admin may sign in with the new password for this long, whatever is configured. */
const emergencyMs = 3_600_000;

const passwordPaths = new Set(["/sign-up/email", "/change-password", "/two-factor/enable"]);

/**
 * With passwords off: refuses whatever takes one, except that an admin whose password the operator has just set signs in.
 * Throws APIError.
 */
async function guardPasswords(services: Services, ctx: GenericEndpointContext): Promise<void> {
  if (services.config.signIn.passwords || ctx.request === undefined) return;
  const isSignIn = ctx.path === "/sign-in/email";
  if (!isSignIn && !passwordPaths.has(ctx.path)) return;
  if (isSignIn && (await isEmergency(services, ctx.body))) return;
  const message = "This studio has no passwords. Sign in with one of its providers.";
  throw new APIError("FORBIDDEN", { code: "PASSWORDS_OFF", message });
}

async function isEmergency({ db }: Services, body: unknown): Promise<boolean> {
  const email: unknown = Object(body).email;
  if (typeof email !== "string") return false;
  const { users, credentials } = schema;
  const isRecent = gt(credentials.updatedAt, new Date(Date.now() - emergencyMs));
  const found = await db
    .select({ id: users.id })
    .from(users)
    .innerJoin(credentials, and(eq(credentials.userId, users.id), eq(credentials.providerId, "credential")))
    .where(
      and(
        eq(users.email, mailAddress(email)),
        sql`'admin' = any (string_to_array(${users.role}, ','))`,
        isRecent,
      ),
    );
  return found.length > 0;
}
