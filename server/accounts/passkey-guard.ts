import { createHash } from "node:crypto";
import type { GenericEndpointContext } from "better-auth";
import { APIError, getSessionFromCtx } from "better-auth/api";
import { z } from "zod";
import type { Db } from "../db/index.ts";
import { lineOfText, parseForeignJson } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { lackOf, lackTexts } from "./admin-factor.ts";
import { isRecent } from "./sessions.ts";
import { refuse } from "./user-data.ts";

const maxPasskeyName = 100;
export const passkeyName = lineOfText.trim().min(1).max(maxPasskeyName);

const registerPaths = new Set(["/passkey/generate-register-options", "/passkey/verify-registration"]);
const answerPaths = new Set(["/passkey/verify-registration", "/passkey/verify-authentication"]);

export const isGuest = ({ user }: { readonly user: object }) => Reflect.get(user, "isAnonymous") === true;

/** What is looked up or stored of a device's answer; the library reads the rest. WebAuthn ids have at most 1,023 bytes. */
const answerSchema = z.looseObject({
  id: lineOfText.min(1).max(1_364),
  response: z.looseObject({ transports: z.array(lineOfText).nullish() }),
});

const optionPaths = new Set(["/passkey/generate-register-options", "/passkey/generate-authenticate-options"]);

/** The library's cookie, which names the challenge that was made last: another page of the browser may wait for an older one. */
const challengeCookie = (ctx: GenericEndpointContext) => ctx.context.createAuthCookie("better-auth-passkey");
const maxChallenges = 8;

/** The name of the cookie that keeps the same for one challenge alone. */
function cookieNameFor(ctx: GenericEndpointContext, challenge: string): string {
  const tag = createHash("sha256").update(challenge).digest("hex").slice(0, 16);
  return `${challengeCookie(ctx).name}.${tag}`;
}

const clientDataSchema = z.object({ challenge: z.string() });

/** The cookie of this answer's own challenge; null when it is not there. */
function ownCookie(ctx: GenericEndpointContext): { readonly name: string; readonly value: string } | null {
  const answer: unknown = Reflect.get(Object(Reflect.get(Object(ctx.body), "response")), "response");
  const data: unknown = Reflect.get(Object(answer), "clientDataJSON");
  if (!answerPaths.has(ctx.path) || typeof data !== "string") return null;
  const client = parseForeignJson(Buffer.from(data, "base64url").toString("utf8"));
  const { data: sent } = clientDataSchema.safeParse(client);
  if (!sent) return null;
  const name = cookieNameFor(ctx, sent.challenge);
  const value = ctx.getCookie(name);
  return value ? { name, value } : null;
}

/** The cookies of an answer with the challenge that it answers, or none, in place of the last one; null for other requests. */
export function cookieOfChallenge(ctx: GenericEndpointContext): string | null {
  if (!answerPaths.has(ctx.path)) return null;
  const own = ownCookie(ctx);
  const { name } = challengeCookie(ctx);
  const pairs = (ctx.headers?.get("cookie") ?? "").split("; ").filter((pair) => !pair.startsWith(`${name}=`));
  return [...pairs, ...(own ? [`${name}=${encodeURIComponent(own.value)}`] : [])].join("; ");
}

/** After a challenge was made, or answered: keeps its cookie under a name of its own, or drops it. */
function followChallenge(ctx: GenericEndpointContext, returned: unknown): void {
  const { name, attributes } = challengeCookie(ctx);
  const own = ownCookie(ctx);
  if (own) ctx.setCookie(own.name, "", { ...attributes, maxAge: 0 });
  const challenge: unknown = Reflect.get(Object(returned), "challenge");
  if (!optionPaths.has(ctx.path) || typeof challenge !== "string") return;
  const headers: unknown = Reflect.get(ctx.context, "responseHeaders");
  const made = headers instanceof Headers ? headers.getSetCookie() : [];
  const [value] = made.flatMap((line) =>
    line.startsWith(`${name}=`) ? [line.slice(name.length + 1).split(";")[0]] : [],
  );
  if (!value) return;
  // Browsers send older cookies first.
  const kept = (ctx.headers?.get("cookie") ?? "").split("; ").filter((pair) => pair.startsWith(`${name}.`));
  for (const pair of kept.slice(0, Math.max(0, kept.length - maxChallenges + 1)))
    ctx.setCookie(pair.split("=")[0] ?? "", "", { ...attributes, maxAge: 0 });
  const maxAge = challengeSeconds;
  ctx.setCookie(cookieNameFor(ctx, challenge), decodeURIComponent(value), { ...attributes, maxAge });
}

/** As the library keeps a challenge. */
const challengeSeconds = 300;

/** Before an endpoint of passkeys. Throws APIError. */
export async function guardPasskey(db: Db, ctx: GenericEndpointContext): Promise<void> {
  if (registerPaths.has(ctx.path) && !(await guardRegistration(db, ctx))) return;
  if (!answerPaths.has(ctx.path)) return;
  // The library would store the key before it is known whether the session that adds it still stands.
  if (Reflect.get(Object(ctx.body), "createSession"))
    refuse("INVALID_PASSKEY", "A passkey that is added begins no session.");
  const answer = answerSchema.safeParse(Reflect.get(Object(ctx.body), "response"));
  if (!answer.success) refuse("INVALID_PASSKEY", "The answer of the device cannot be read.");
}

/** False without a session, of which the endpoint itself speaks. */
async function guardRegistration(db: Db, ctx: GenericEndpointContext): Promise<boolean> {
  const open = await getSessionFromCtx(ctx, { disableRefresh: true });
  if (!open) return false;
  if (isGuest(open))
    throw new APIError("FORBIDDEN", { code: "FORBIDDEN", message: "Make an account first." });
  if (!(await isRecent(db, open.session.id)))
    throw new APIError("FORBIDDEN", {
      code: "SESSION_NOT_FRESH",
      message: "Type your password again, or sign in again, and repeat this within ten minutes.",
    });
  const name: unknown = Reflect.get(Object(ctx.body ?? ctx.query), "name");
  // Without a name it is a passkey without one.
  if (typeof name === "string" && name.trim() !== "" && !passkeyName.safeParse(name).success)
    refuse("INVALID_NAME", `A name is one line of at most ${maxPasskeyName} characters.`);
  return true;
}

const strengthPaths = new Set([
  ...registerPaths,
  "/two-factor/enable",
  "/two-factor/disable",
  "/two-factor/verify-totp",
  "/two-factor/generate-backup-codes",
]);

/**
 * Before a factor changes: where admins need one, somebody with the password of an admin alone must not add another. Throws APIError.
 */
export async function guardStrength(services: Services, ctx: GenericEndpointContext): Promise<void> {
  if (!strengthPaths.has(ctx.path)) return;
  const open = await getSessionFromCtx(ctx, { disableRefresh: true });
  if (!open || !String(Reflect.get(open.user, "role")).split(",").includes("admin")) return;
  const own = { userId: open.user.id, sessionId: open.session.id };
  if ((await lackOf(services, own)) !== "sign_in") return;
  const message = lackTexts.sign_in;
  throw new APIError("FORBIDDEN", { code: "SECOND_FACTOR_FIRST", message });
}

/** Requests whose new key was checked: what fails after that is no fault of the device. */
const checked = new WeakSet<object>();

/** Notes that the answer of a device was checked. */
export function noteChecked(ctx: GenericEndpointContext): void {
  checked.add(ctx.context);
}

/** After an endpoint of passkeys. What it returns is answered instead. */
export function followPasskey(ctx: GenericEndpointContext): Response | undefined {
  const returned: unknown = Reflect.get(ctx.context, "returned");
  const isFailure = returned instanceof APIError;
  followChallenge(ctx, returned);
  // The library asks for "preferred", with which a device may skip what its answer is then refused for.
  if (ctx.path === "/passkey/generate-authenticate-options" && !isFailure)
    Reflect.set(Object(returned), "userVerification", "required");
  if (ctx.path !== "/passkey/verify-registration" || !isFailure || checked.has(ctx.context)) return undefined;
  if (returned.statusCode !== 500) return undefined;
  // The library answers 500 to whatever it cannot read, and keeps the status of an error that a hook replaces.
  const message = "The answer of the device is not valid.";
  return Response.json({ code: "FAILED_TO_VERIFY_REGISTRATION", message }, { status: 400 });
}

/** A passkey stands for two factors. Throws APIError. */
export function refuseUnverified(): never {
  throw new APIError("UNAUTHORIZED", {
    code: "PASSKEY_UNVERIFIED",
    message:
      "The device did not ask for a finger, a face or a PIN. Set one up on it, or use another passkey.",
  });
}
