import { z } from "zod";
import type { ConfigProblem } from "./config-problems.ts";
import { isOwnNetwork } from "./public-addresses.ts";

/** A sign that ends a part of an address cannot stand as itself in a name or a password. */
const encodingAdvice =
  "has a user name or password with a sign that must be percent-encoded in an address: # is %23, / is %2F, ? is %3F, @ is %40, % is %25";

function canDecode(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** In paths and queries of the web an @ is usual, unless a host follows it. */
const hostAfterAt = /^[/?\\][^=@]*[^=@/]@(?:\[|[\w-]+[.:])/;

/** Whether the rest of an address was meant for the name and password before the host. */
function isCutOff(authority: string, rest: string, isWeb: boolean): boolean {
  if (!rest.includes("@")) return false;
  const [, port] = /:([^:\]]*)$/.exec(authority) ?? [];
  if (rest.startsWith("#") || (port !== undefined && !/^\d*$/.test(port))) return true;
  if (isWeb) return port !== undefined && hostAfterAt.test(rest);
  return /^\/[^?#]*@|^\?[^=]*@/.test(rest);
}

/** The part that should hold name, password and host, and all after it; `http` stands for a missing scheme. */
function splitAddress(address: string) {
  const [, scheme = "http", after = ""] = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(.*)$/is.exec(address.trim()) ?? [];
  const isWeb = /^https?$/i.test(scheme);
  const [authority = ""] = (isWeb ? /^[^/?#\\]*/ : /^[^/?#]*/).exec(after) ?? [];
  return { authority, rest: after.slice(authority.length), isWeb };
}

/**
 * Why the name and password of an address cannot be read as they were meant; null when they can. The sentence holds
 * nothing of the address. Another reading often remains: `u:12/34@db` is the port 12 of a host u.
 */
export function credentialsProblem(address: string): string | null {
  const { authority, rest, isWeb } = splitAddress(address);
  const end = authority.lastIndexOf("@");
  const isLost = end < 0 ? isCutOff(authority, rest, isWeb) : /^#.*@/s.test(rest);
  // Only web addresses may have a fragment, which is dropped.
  const hasFragment = !isWeb && rest.includes("#");
  return isLost || hasFragment || !canDecode(authority.slice(0, Math.max(end, 0))) ? encodingAdvice : null;
}

interface Rule {
  readonly protocol: RegExp;
  readonly example: string;
  /** Why an address that can be read is not taken all the same; null when it is. */
  readonly refuse?: (url: URL) => string | null;
}

/** Tells one fault of an address, the one that explains the others. */
function addressOf({ protocol, example, refuse = () => null }: Rule) {
  const shapeProblem = (url: URL | null) =>
    url !== null && protocol.test(url.protocol) ? refuse(url) : `must be an address like ${example}`;
  return z
    .string()
    .trim()
    .superRefine((value, ctx) => {
      const message = credentialsProblem(value) ?? severalProblem(value) ?? shapeProblem(URL.parse(value));
      if (message !== null) ctx.addIssue({ code: "custom", message });
    });
}

/** Clients of Redis Cluster and Sentinel take a list of hosts, and so does PostgreSQL's own. */
function severalProblem(value: string): string | null {
  const { authority } = splitAddress(value);
  const [kind = ""] = /^(?:redis|postgres)/i.exec(value) ?? [];
  // A password may hold a comma.
  if (kind === "" || !authority.slice(authority.lastIndexOf("@") + 1).includes(",")) return null;
  return kind.toLowerCase() === "redis"
    ? "names several servers; Redis Cluster and Sentinel are not supported: name the one primary"
    : "names several servers: name one, or a proxy or a name in DNS that leads to the primary";
}

export const databaseUrl = addressOf({
  protocol: /^postgres(ql)?:$/,
  example: "postgres://user:password@host:5432/atelier",
});
export const redisUrl = addressOf({
  protocol: /^rediss?:$/,
  example: "redis://host:6379",
  refuse: ({ pathname }) =>
    /^\/*\d*\/*$/.test(pathname)
      ? null
      : "has a path that is no number: Redis knows its databases by number, as in redis://host:6379/1; leave it out for the first one",
});
export const smtpUrl = addressOf({
  protocol: /^smtps?:$/,
  example: "smtps://user:password@mail.example.org:465",
});

/** `fetch` takes no addresses with names and passwords. */
const credentialsRefusal = ({ username, password }: URL) =>
  username === "" && password === ""
    ? null
    : "must hold no user name and password: a key has its own setting";

/** The studio answers at the root of a host. */
const pathRefusal = ({ pathname, search, hash }: URL) =>
  /^\/*$/.test(pathname) && search === "" && hash === ""
    ? null
    : "must be an address without a path, query or fragment, like https://atelier.example.org: the studio needs a host name of its own";

const web = { protocol: /^https?:$/, example: "https://atelier.example.org" };

export const webUrl = addressOf({ ...web, refuse: credentialsRefusal });

/** What is added to such an address would stand behind its query. */
const queryRefusal = ({ search, hash }: URL) =>
  search === "" && hash === ""
    ? null
    : "must be an address without a query or fragment: paths are added to it";

/** The base of an API, without a slash at its end. */
export const baseUrl = addressOf({
  ...web,
  refuse: (url) => credentialsRefusal(url) ?? queryRefusal(url),
}).transform((url) => url.replace(/\/+$/, ""));

/** Of traces; the whole address is usual too, although `/v1/traces` is added to what is given. */
export const collectorUrl = baseUrl.transform((url) => url.replace(/(?:\/v1\/traces)?$/, ""));

const openaiCall = /(?:\/+(?:images\/(?:generations|edits)|chat\/completions|embeddings|models))?\/*$/;

/**
 * The base of an API like that of OpenAI, whose query goes with each call: Azure names its version there. The whole address
 * of one call is usual too.
 */
export const openaiUrl = webUrl.transform((value) => {
  const url = URL.parse(value);
  return url ? url.origin + url.pathname.replace(openaiCall, "") + url.search : value;
});

/** The address of a path below a base, with the query of the base. */
export function addressBelow(base: string, path: string): string {
  const { origin, pathname, search } = new URL(base);
  return origin + pathname.replace(/\/+$/, "") + path + search;
}

/** Where an API like that of OpenAI lists its models: Azure lists none below a deployment. */
export function modelsAddress(base: string): string {
  return addressBelow(base.replace(/\/deployments\/[^/?]+(?=\?|$)/, ""), "/models");
}

const directoryToken = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/;

/** How a key is sent to an API like that of OpenAI: Azure, known by `api-version`, has a header for all but tokens of its directory. */
export function keyHeaders(base: string, key: string | undefined): Readonly<Record<string, string>> {
  if (key === undefined || key === "") return {};
  const isAzure = new URL(base).searchParams.has("api-version") && !directoryToken.test(key);
  return isAzure ? { "api-key": key } : { authorization: `Bearer ${key}` };
}

/** Becomes the origin that browsers name, however it is spelled. */
export const originUrl = addressOf({
  ...web,
  refuse: (url) => credentialsRefusal(url) ?? pathRefusal(url),
}).transform((value) => URL.parse(value)?.origin ?? value);

/** A proxy for calls to the outside; kinds that are not used are left to the doctor to name. */
export const proxyText = z
  .string()
  .trim()
  .min(1)
  .refine((value) => credentialsProblem(value) === null, encodingAdvice);

/** Proxies have names in small letters too, which other programs prefer. */
export const proxyNames = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"] as const;

export function withProxies(
  source: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const small = proxyNames.flatMap((name) => {
    const value = source[name.toLowerCase()];
    return value ? [[name, value] as const] : [];
  });
  return { ...source, ...Object.fromEntries(small) };
}

export const mailbox = z
  .string()
  .trim()
  .max(254)
  .regex(/^[^\r\n]*[^\s@<>]+@[^\s@<>]+>?$/, "must be an address like Atelier <atelier@example.org>");

interface MailEnv {
  readonly SMTP_URL?: string | undefined;
  readonly SMTP_FROM?: string | undefined;
}

/** Whether the studio can send e-mail. */
export const offersEmail = ({ SMTP_URL, SMTP_FROM }: MailEnv): boolean =>
  SMTP_URL !== undefined && SMTP_FROM !== undefined;

interface VisionNames {
  readonly LLM_VISION_MODEL?: string | undefined;
  readonly LLM_BASE_URL?: string | undefined;
  readonly ALLOWED_PRIVATE_HOSTS: readonly string[];
}

/** Pictures are described without a click, so nothing may be paid for it and none may leave the own network. */
export function findDearVision(env: VisionNames): ConfigProblem[] {
  const { LLM_VISION_MODEL: model, LLM_BASE_URL: url, ALLOWED_PRIVATE_HOSTS: hosts } = env;
  if (model === undefined) return [];
  const name = "LLM_VISION_MODEL";
  if (paidModel.test(model))
    return [{ name, message: "must be local/<model>: what describes pictures may cost nothing" }];
  if (url === undefined)
    return [{ name: "LLM_BASE_URL", message: "is missing although LLM_VISION_MODEL is set" }];
  if (isOwnNetwork(url, hosts)) return [];
  const message =
    "needs LLM_BASE_URL on the own network: anywhere else a call may cost money, and pictures would leave the network";
  return [{ name, message }];
}

const paidModel = /^(?:anthropic|google|openai|onboard)\//;
