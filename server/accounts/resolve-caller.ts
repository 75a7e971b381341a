import { defaultKeyHasher } from "@better-auth/api-key";
import { eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { authOf } from "./auth.ts";
import { isBanned, type Caller, type UserFacts } from "./caller.ts";
import { takePermit } from "./take-permit.ts";

function callerFor(user: UserFacts, via: Caller["via"]): Caller {
  const isGuest = user.isAnonymous === true;
  const isAdmin = !isGuest && (user.role ?? "").split(",").includes("admin");
  return { userId: user.id, isGuest, isAdmin, via };
}

function bearerOf(headers: Headers): string | null {
  return /^bearer +(\S+)$/i.exec(headers.get("authorization")?.trim() ?? "")?.[1] ?? null;
}

async function callerOfKey(services: Services, key: string): Promise<Caller | null> {
  const [found] = await services.db
    .select({ key: schema.apiKeys, user: schema.users })
    .from(schema.apiKeys)
    .innerJoin(schema.users, eq(schema.users.id, schema.apiKeys.referenceId))
    .where(eq(schema.apiKeys.key, await defaultKeyHasher(key)));
  if (!found || found.key.enabled === false || isBanned(found.user)) return null;
  if (found.key.expiresAt && found.key.expiresAt <= new Date()) return null;
  if (!(await takePermit(services, found.key.id))) throw new AppError("rate_limited");
  return callerFor(found.user, "api_key");
}

/** Read from the database each time, so that a session ended elsewhere is over at once. */
async function callerOfSession(services: Services, headers: Headers): Promise<Caller | null> {
  const found = await authOf(services).api.getSession({
    headers,
    query: { disableCookieCache: true, disableRefresh: true },
  });
  return found && !isBanned(found.user) ? callerFor(found.user, "session") : null;
}

/**
 * Who sends a request: the owner of `Authorization: Bearer <API key>`, else of the session cookie. Null when there is
 * neither or it is unknown, revoked, expired or banned. A wrong key is not mended by a cookie. Throws `rate_limited`
 * when the key's limit is reached.
 */
export async function resolveCaller(services: Services, headers: Headers): Promise<Caller | null> {
  if (headers.has("authorization")) {
    const key = bearerOf(headers);
    return key ? callerOfKey(services, key) : null;
  }
  return headers.has("cookie") ? callerOfSession(services, headers) : null;
}
