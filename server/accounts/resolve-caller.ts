import { defaultKeyHasher } from "@better-auth/api-key";
import { eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { AppError, noteSender } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { lackOf } from "./admin-factor.ts";
import { authOf } from "./auth.ts";
import { type Caller, isBanned, type UserFacts } from "./caller.ts";
import { underEachName } from "./earlier-cookies.ts";
import { type KeyRight, keyRights, readRights, rightsOf } from "./key-rights.ts";
import { takePermit } from "./permits.ts";
import { noteUse } from "./sessions.ts";

/**
 * The caller of a request: the owner of `Authorization: Bearer <API key>`, else of the session cookie. Null when there is
 * neither or it is unknown, revoked, expired or banned. A cookie does not replace a wrong key. Throws `rate_limited`
 * when the key's limit is reached.
 */
export async function resolveCaller(services: Services, headers: Headers): Promise<Caller | null> {
  const caller = await findCaller(services, headers);
  if (caller) noteSender({ userId: caller.userId, keyId: caller.keyId ?? null });
  return caller;
}

async function findCaller(services: Services, headers: Headers): Promise<Caller | null> {
  if (headers.has("authorization")) {
    const key = bearerOf(headers);
    return key ? callerOfKey(services, key) : null;
  }
  return headers.has("cookie") ? callerOfSession(services, headers) : null;
}

function bearerOf(headers: Headers): string | null {
  return /^bearer +(\S+)$/i.exec(headers.get("authorization")?.trim() ?? "")?.[1] ?? null;
}

async function callerOfKey(services: Services, key: string): Promise<Caller | null> {
  const [found] = await services.db
    .select({ key: schema.apiKeys, user: schema.users, capUsd: schema.keyCaps.usd })
    .from(schema.apiKeys)
    .leftJoin(schema.keyCaps, eq(schema.keyCaps.keyId, schema.apiKeys.id))
    .innerJoin(schema.users, eq(schema.users.id, schema.apiKeys.referenceId))
    .where(eq(schema.apiKeys.key, await defaultKeyHasher(key)));
  if (!found || found.key.enabled === false || isBanned(found.user)) return null;
  if (found.key.expiresAt && found.key.expiresAt <= new Date()) return null;
  if (!(await takePermit(services, found.key))) throw new AppError("rate_limited");
  const ofUser = await withLack(services, callerFor(found.user, "api_key"));
  const caller: Caller = { ...ofUser, keyId: found.key.id };
  // A key with a cap counts as one with chosen rights: it makes no key without one, and sets no cap.
  const held = readRights(found.key.permissions) ?? (found.capUsd === null ? null : keyRights);
  if (held === null) return caller;
  return withRights(caller, held);
}

function withRights({ adminLack, ...caller }: Caller, held: readonly KeyRight[]): Caller {
  const rights = rightsOf(held, caller.isAdmin);
  // Of a key that never had an admin's rights nothing is missing.
  const isLacking = adminLack !== undefined && rightsOf(held, true).size > rights.size;
  return {
    ...caller,
    rights,
    isAdmin: caller.isAdmin && rights.has("admin"),
    ...(isLacking ? { adminLack } : {}),
  };
}

/** Read from the database each time, so that a session ended elsewhere is over at once. */
async function callerOfSession(services: Services, headers: Headers): Promise<Caller | null> {
  const found = await findSession(services, headers);
  if (!found || isBanned(found.user)) return null;
  noteUse(services, found.session);
  return withLack(services, { ...callerFor(found.user, "session"), sessionId: found.session.id });
}

async function findSession(services: Services, sent: Headers) {
  const query = { disableCookieCache: true, disableRefresh: true } as const;
  for (const headers of underEachName(services, sent)) {
    const found = await authOf(services).api.getSession({ headers, query });
    if (found) return found;
  }
  return null;
}

/** Of an admin what is lacking to be one; asked anew each time, so that a factor that is removed is missed at once. */
async function withLack(services: Services, caller: Caller): Promise<Caller> {
  if (!caller.isAdmin) return caller;
  const { userId, sessionId = null } = caller;
  const adminLack = await lackOf(services, { userId, sessionId });
  return adminLack === null ? caller : { ...caller, isAdmin: false, adminLack };
}

function callerFor(user: UserFacts, via: Caller["via"]): Caller {
  const isGuest = user.isAnonymous === true;
  const isAdmin = !isGuest && (user.role ?? "").split(",").includes("admin");
  return { userId: user.id, isGuest, isSelfMade: !isAdmin && user.selfMade === true, isAdmin, via };
}
