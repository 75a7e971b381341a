import { type APIError, getOAuthState, isAPIError } from "better-auth/api";
import { and, eq, isNotNull, isNull, ne, or } from "drizzle-orm";
import { z } from "zod";
import { recordAct } from "../audit/index.ts";
import { type Db, schema, type Tx } from "../db/index.ts";
import { type IdentityProvider, lineOfText } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { recordChange } from "./account-changes.ts";
import { removeFactors } from "./credentials.ts";
import { noteStart } from "./overtaken.ts";
import { isAdminNow, lockAdmins, requireOtherAdmin, serviceRole } from "./first-admin.ts";
import { claimOf, type Claims, ownField, type ProviderFailure } from "./identity-client.ts";
import { isReservedEmail, mailAddress, maxEmailLength, maxUserNameLength } from "./accounts.ts";

const { apiKeys, clientUsers, credentials, passwordResets, users } = schema;

/** What is known of a sign-in through a provider while one request ends it. */
interface ProviderVisit {
  providerId?: string;
  provider?: IdentityProvider;
  claims?: Claims;
  /** The account is made in this request. */
  isNew?: true;
  failure?: ProviderFailure | "EMAIL_MISSING" | "GROUP_MISSING";
}

const visits = new WeakMap<object, ProviderVisit>();

/** The visit of the current request; null outside of a provider's answer. */
export async function currentVisit(): Promise<ProviderVisit | null> {
  const state = await getOAuthState();
  if (!state) return null;
  const visit = visits.get(state) ?? {};
  visits.set(state, visit);
  return visit;
}

/**
 * Groups by a claim, whose dots lead into objects; a string is one name or a list with commas. Spaces are
 * part of a name: the group "night admins" is not the group "admins". Keycloak's `/staff` is also `staff`, Zitadel names roles as members of an
 * object, Casdoor as objects with a name.
 */
export function groupsOf(claims: Claims, claim: string): ReadonlySet<string> {
  const value = claimOf(claims, claim);
  const names = (Array.isArray(value) ? value.map(nameOfGroup) : namesIn(value)).filter(
    (name) => typeof name === "string",
  );
  return new Set(names.flatMap((name) => (name.startsWith("/") ? [name, name.slice(1)] : [name])));
}

const namesIn = (value: unknown): readonly unknown[] =>
  typeof value === "object" && value !== null
    ? Object.keys(value).filter((name) => Boolean(ownField(value, name)))
    : typeof value === "string"
      ? [value, ...value.split(",").map((name) => name.trim())].filter((name) => name !== "")
      : [];

const nameOfGroup = (group: unknown): unknown =>
  typeof group === "string" ? group : ownField(group, "name");

const holdsOne = (groups: ReadonlySet<string>, wanted: readonly string[]) =>
  wanted.some((name) => groups.has(name));

/** Whether a person may come in, by the groups of the provider. */
export function isLetIn(claims: Claims, provider: IdentityProvider): boolean {
  const { allowedGroups, adminGroups, groupsClaim } = provider;
  if (allowedGroups.length === 0) return true;
  return holdsOne(groupsOf(claims, groupsClaim), [...allowedGroups, ...adminGroups]);
}

/** Whether the provider's groups make a person an admin. */
export const isAdminOf = (claims: Claims, { adminGroups, groupsClaim }: IdentityProvider) =>
  holdsOne(groupsOf(claims, groupsClaim), adminGroups);

interface ProviderPerson {
  readonly email: string;
  readonly emailVerified: boolean;
  readonly name: string;
}

const addressSchema = z.string().transform(mailAddress).pipe(z.email().max(maxEmailLength));
const nameSchema = lineOfText.trim().min(1);

/** Directories write one address as a list of one, and Azure AD B2C has `emails`; of several none is said to be the person's. */
const onlyOf = (value: unknown): unknown => (Array.isArray(value) && value.length === 1 ? value[0] : value);

/** The person of the claims; null without an address that can be used. */
export function personOf(claims: Claims, { trustsEmail }: IdentityProvider): ProviderPerson | null {
  const email = claims["email"] ?? undefined;
  const address = addressSchema.safeParse(onlyOf(email ?? claims["emails"]));
  if (!address.success || isReservedEmail(address.data)) return null;
  // Said of `email` alone.
  const said = email === undefined ? undefined : claims["email_verified"];
  const names = [claims["name"], claims["preferred_username"], address.data.split("@")[0]];
  const name = names.map((value) => nameSchema.safeParse(value)).find(({ success }) => success)?.data ?? "";
  return {
    email: address.data,
    emailVerified: said === undefined ? trustsEmail : said === true || said === "true",
    name: Array.from(name).slice(0, maxUserNameLength).join(""),
  };
}

/**
 * Before a first sign-in is linked to the account that has its address; returns whether it may be: only where the operator allows it, and
 * not to an account that anybody could have made under this address. While nobody proved the address, every other way into the account
 * ends, since somebody else may have it.
 */
export async function linkByEmail(services: Services, userId: string): Promise<boolean> {
  const visit = await currentVisit();
  if (visit?.provider?.linksByEmail !== true) return false;
  const isSafe = and(eq(users.id, userId), eq(users.selfMade, false), isNull(users.deletedAt));
  const isPerson = or(isNull(users.role), ne(users.role, serviceRole));
  return services.db.transaction(async (tx) => {
    const [user] = await tx.select().from(users).where(and(isSafe, isPerson)).for("update");
    if (!user) return false;
    if (!user.emailVerified) await endOtherWays(tx, userId);
    // From here on: the ends before are this sign-in's own.
    await noteStart(tx, visit, eq(users.id, userId));
    const details = { provider: visit.providerId, byEmail: true, endedOtherWays: !user.emailVerified };
    await recordChange(services, tx, { kind: "account.provider_linked", by: userId, details });
    return true;
  });
}

/** Also what is sent to places that somebody else may have named: the bot's chat acts as the user, webhooks and messages carry results. */
async function endOtherWays(tx: Tx, userId: string): Promise<void> {
  const { telegramLinks, telegramCodes, telegramRequests, notificationSettings, webhookEndpoints } = schema;
  await removeFactors(tx, userId);
  for (const table of [telegramLinks, telegramCodes, telegramRequests])
    await tx.delete(table).where(eq(table.userId, userId));
  await tx.delete(notificationSettings).where(eq(notificationSettings.ownerId, userId));
  const isNamed = and(eq(webhookEndpoints.ownerId, userId), isNotNull(webhookEndpoints.url));
  await tx.update(webhookEndpoints).set({ isEnabled: false }).where(isNamed);
  await tx.delete(credentials).where(eq(credentials.userId, userId));
  const keys = await tx.delete(apiKeys).where(eq(apiKeys.referenceId, userId)).returning({ id: apiKeys.id });
  // What their batches would still begin goes by these entries.
  for (const { id } of keys) await recordAct(tx, { kind: "key.revoked", by: userId, object: id });
  await tx.delete(passwordResets).where(eq(passwordResets.userId, userId));
  await tx.update(users).set({ emailVerified: true }).where(eq(users.id, userId));
}

/**
 * Before a session begins: makes the user an admin, or an admin an ordinary user, as the groups of the provider say. The only admin who
 * can sign in stays admin, since nobody could undo it; that is logged and audited.
 */
export async function applyGroups(services: Services, userId: string): Promise<void> {
  const visit = await currentVisit();
  if (!visit?.provider || !visit.claims || visit.provider.adminGroups.length === 0) return;
  const isAdmin = isAdminOf(visit.claims, visit.provider);
  const details = { role: isAdmin ? "admin" : "user", provider: visit.providerId };
  await services.db.transaction(async (tx) => {
    await lockAdmins(tx);
    if ((await isAdminNow(tx, userId)) === isAdmin) return;
    const [user] = await tx.select().from(users).where(eq(users.id, userId));
    if (!user || user.banned === true || user.role === serviceRole) return;
    if ((await tx.$count(clientUsers, eq(clientUsers.userId, userId))) > 0) return;
    const isLast =
      !isAdmin &&
      (await requireOtherAdmin(tx, userId).then(
        () => false,
        () => true,
      ));
    if (isLast)
      services.log.warn({ userId, ...details }, "the only admin lost the admin group and stays admin");
    else await tx.update(users).set({ role: details.role }).where(eq(users.id, userId));
    await recordAct(tx, {
      kind: "user.role_set",
      by: userId,
      outcome: isLast ? "conflict" : "ok",
      details: { before: user.role, ...details },
    });
  });
}

/**
 * After a provider's answer: the entries of the audit log, for a new account, a sign-in, and a refusal of somebody whom the provider
 * vouched for.
 */
export async function recordVisit(
  services: Services,
  outcome: { readonly userId: string | null; readonly problem: string | null },
): Promise<void> {
  try {
    await addVisit(services.db, outcome);
  } catch (err) {
    // The session stands by now, so the answer must say so.
    services.log.error({ err, part: "accounts" }, "act not added to the audit log");
  }
}

async function addVisit(
  db: Db,
  { userId, problem }: { readonly userId: string | null; readonly problem: string | null },
): Promise<void> {
  const visit = await currentVisit();
  if (!visit?.claims) return;
  const details = { provider: visit.providerId };
  if (problem !== null) {
    const outcome = problem.toLowerCase();
    return recordAct(db, { kind: "sign_in.failed", by: null, to: userId, outcome, details });
  }
  if (userId === null) return;
  if (visit.isNew) await recordAct(db, { kind: "account.made", by: userId, details });
  await recordAct(db, { kind: "sign_in.done", by: userId, details });
}

/** Codes of the library, and of the provider in the address that it leads back to, as those of the sign-in page. */
const problems: ReadonlyMap<string, string> = new Map([
  ["access_denied", "PROVIDER_CANCELLED"],
  // Keycloak, of a page that stayed open longer than its sign-in.
  ["authentication_expired", "SIGN_IN_EXPIRED"],
  ["temporarily_unavailable", "PROVIDER_UNREACHABLE"],
  ["state_mismatch", "SIGN_IN_EXPIRED"],
  ["state_not_found", "SIGN_IN_EXPIRED"],
  ["state_invalid", "SIGN_IN_EXPIRED"],
  ["no_code", "SIGN_IN_EXPIRED"],
  ["invalid_code", "PROVIDER_ANSWER_INVALID"],
  ["issuer_mismatch", "PROVIDER_ANSWER_INVALID"],
  ["unable_to_get_user_info", "PROVIDER_ANSWER_INVALID"],
  ["email_not_found", "EMAIL_MISSING"],
  // The library's hook before a session names no better one.
  ["FORBIDDEN", "GUEST_TOO_LARGE"],
  ["account_not_linked", "ACCOUNT_NOT_LINKED"],
  ["account_already_linked_to_different_user", "ACCOUNT_LINKED_ELSEWHERE"],
]);

const ownProblems = new Set([
  "ACCOUNT_NOT_LINKED",
  "BANNED_USER",
  "GROUP_MISSING",
  "INVITATION_INVALID",
  "SIGN_UP_CLOSED",
  "LINK_IN_USE",
  "SIGN_IN_OVERTAKEN",
  "TOO_MANY_REQUESTS",
]);

/** Why a provider's answer led to no session, as a code of the sign-in page; null when it led to one. */
export async function problemOf(returned: unknown): Promise<string | null> {
  if (!isAPIError(returned)) return null;
  const codes = codesOf(returned);
  if (codes.length === 0) return null;
  const visit = await currentVisit();
  const known = codes.map((code) => problems.get(code) ?? (ownProblems.has(code) ? code : null));
  return visit?.failure ?? known.find((code) => code !== null) ?? "PROVIDER_REFUSED";
}

/** The description of an error, which names Keycloak's, and its code; empty where the answer leads into the studio. */
function codesOf({ headers, body }: APIError): string[] {
  const location = new Headers(headers ?? {}).get("location");
  if (location === null) return [String(body?.["code"])];
  const { searchParams: said } = new URL(location, "http://localhost");
  const code = said.get("error");
  return code === null ? [] : [said.get("error_description") ?? "", code];
}
