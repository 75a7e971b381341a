import {
  clientSecretOf,
  type Config,
  type Env,
  explain,
  type IdentityProvider,
  isSameIssuer,
  originOf,
} from "../platform/index.ts";
import { type CheckResult, failed, passed, warned } from "./checks.ts";
import { type Answer, ask, isPage, member, type SeenClock } from "./other-side.ts";
import { saidNo } from "./outside.ts";

type SignIn = Pick<Config, "signIn">["signIn"];

/** One line for each identity provider of the configuration: its discovery document and its keys, as a sign-in reads them. */
export async function checkIdentityProviders(
  env: Env,
  { providers }: SignIn,
  clocks: SeenClock[],
): Promise<CheckResult[]> {
  const found = await Promise.all(
    Object.entries(providers).map(([id, provider]) => checkProvider(env, { id, provider }, clocks)),
  );
  return [...found, ...checkSecretNames(env, providers)];
}

interface Configured {
  readonly id: string;
  readonly provider: IdentityProvider;
}

async function checkProvider(
  env: Env,
  { id, provider }: Configured,
  clocks: SeenClock[],
): Promise<CheckResult> {
  const name = `Sign-in provider ${id}`;
  const { issuer } = provider;
  const document = await read(name, documentAt(issuer), clocks);
  if ("isOk" in document) return document;
  const misnamed = nameFaultOf(document.json, issuer);
  if (misnamed !== null) return failed(name, misnamed);
  const fault = faultOf(document.json);
  if (fault !== null) return failed(name, fault);
  const keys = await read(name, String(member(document.json, "jwks_uri")), clocks);
  if ("isOk" in keys) return keys;
  const listed = member(keys.json, "keys");
  if (!Array.isArray(listed) || listed.length === 0)
    return failed(
      name,
      "lists no keys at its jwks_uri, so no sign-in can be checked; give it a key that signs",
    );
  return judgeProvider(env, { id, provider }, listed.length);
}

/** Both as a sign-in does it: an address of the document itself is asked as it is, and then no name is expected. */
const isDocument = (issuer: string) => issuer.includes("/.well-known/");
const documentAt = (issuer: string) =>
  isDocument(issuer) ? issuer : `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;

/** What is wrong with the name in a discovery document; null when it is that of the configuration. */
function nameFaultOf(document: unknown, issuer: string): string | null {
  const said = member(document, "issuer");
  const url = typeof said === "string" ? URL.parse(said) : null;
  // A name with a gap is one of many tenants: no token has it.
  const isTemplate = typeof said === "string" && said.includes("{");
  if (url && !isTemplate && (isDocument(issuer) || isSameIssuer(url, new URL(issuer)))) return null;
  const spelled = typeof said === "string" ? `calls itself ${said}` : "does not say its issuer";
  return `${spelled}; the configuration has ${issuer}: set issuer as the provider spells it`;
}

/** An answer with JSON in it, or the finding that there is none. */
async function read(name: string, url: string, clocks: SeenClock[]): Promise<Answer | CheckResult> {
  const advice = "correct issuer, or let this machine reach it";
  try {
    const answer = await ask(url, { headers: { accept: "application/json" } }, clocks);
    if (answer.isCut) return failed(name, `${url} answers with more than 256 KB; ${advice}`);
    const isJson = typeof answer.json === "object" && answer.json !== null;
    if (answer.status === 200 && isJson && !isPage(answer)) return answer;
    const where = "issuer must be the address below which /.well-known/openid-configuration is";
    return saidNo(`${name}, ${new URL(url).pathname}`, answer, where);
  } catch (error) {
    return { ...failed(name, `${url} gives no answer; ${advice}`), noAnswer: explain(error) };
  }
}

const needed = ["authorization_endpoint", "token_endpoint", "jwks_uri"] as const;

/** What a discovery document lacks for a sign-in; null when it has all. */
function faultOf(document: unknown): string | null {
  const missing = needed.filter((field) => URL.parse(String(member(document, field))) === null);
  if (missing.length > 0) return `its discovery document has no ${missing.join(", ")}; look at its settings`;
  const types = member(document, "response_types_supported");
  const hasCode = !Array.isArray(types) || types.includes("code");
  return hasCode ? null : "does not offer the code flow (response_types_supported); turn it on there";
}

function judgeProvider(env: Env, { id, provider }: Configured, keys: number): CheckResult {
  const name = `Sign-in provider ${id}`;
  const redirect = `${originOf(env)}/api/auth/callback/${id}`;
  const { name: title } = provider;
  const what =
    keys === 1
      ? `${title} answers as its issuer, with 1 key`
      : `${title} answers as its issuer, with ${keys} keys`;
  if (env.APP_URL === undefined)
    return warned(name, `${what}; set APP_URL, since it leads people back to ${redirect} without it`);
  const hasSecret = clientSecretOf(env.OIDC_CLIENT_SECRETS, id) !== undefined;
  const client = hasSecret
    ? "the secret is tried by the first sign-in"
    : "without a secret in OIDC_CLIENT_SECRETS, which is right for a public client alone";
  return passed(name, `${what}; its client ${provider.clientId} must allow ${redirect}; ${client}`);
}

/** Secrets of ids that no provider has, as after a typing error. */
function checkSecretNames({ OIDC_CLIENT_SECRETS: text }: Env, providers: SignIn["providers"]): CheckResult[] {
  const given: unknown = text === undefined ? {} : JSON.parse(text);
  const unknown = Object.keys(Object(given)).filter((id) => !Object.hasOwn(providers, id));
  if (unknown.length === 0) return [];
  const named = unknown.slice(0, 5).join(", ");
  return [
    warned(
      "OIDC_CLIENT_SECRETS",
      `has a secret for ${named}, which signIn.providers does not have; correct the id`,
    ),
  ];
}
