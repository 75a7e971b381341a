import { createHash } from "node:crypto";
import * as oidc from "openid-client";
import { clientSecretOf, type IdentityProvider } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { discover } from "./identity-discovery.ts";

/** A provider that changes its endpoints or its settings is followed after this time. */
const discoveryMs = 600_000;

/** Why a sign-in through a provider failed; the sign-in page has a sentence for each. */
export type ProviderFailure =
  | "PROVIDER_UNREACHABLE"
  | "PROVIDER_REFUSED"
  | "PROVIDER_ANSWER_INVALID"
  | "SIGN_IN_EXPIRED";

/** A failure of the provider, or of how it is set up here; the message has the provider's own words and no secret. */
export class ProviderError extends Error {
  readonly code: ProviderFailure;

  constructor(code: ProviderFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "ProviderError";
    this.code = code;
  }
}

/** What an identity provider says of a person. */
export interface Claims {
  readonly sub: string;
  readonly [claim: string]: unknown;
}

export const ownField = (at: unknown, name: string): unknown =>
  typeof at === "object" && at !== null && Object.hasOwn(at, name) ? Reflect.get(at, name) : undefined;

/** The claim of this name, whose dots lead into objects; undefined where it is not there to its last part. */
export const claimOf = (claims: Claims, name: string): unknown =>
  claims[name] ?? name.split(".").reduce<unknown>(ownField, claims);

/** What is known after the exchange of a code. */
interface Vouched {
  readonly claims: Claims;
  readonly idToken: string;
}

interface Found {
  readonly configuration: oidc.Configuration;
  readonly until: number;
}

/** The provider's side of the sign-in: where to send people, and what a code is worth. */
export interface IdentityClient {
  readonly id: string;
  readonly provider: IdentityProvider;
  /** Where the browser goes. Throws `ProviderError`. */
  authorize(flow: Flow): Promise<URL>;
  /** Exchanges a code once; checks signature, issuer, audience, time and nonce. Throws `ProviderError`. */
  redeem(answer: { readonly code: string } & Omit<Flow, "state">): Promise<Vouched>;
  /** Its own spelling of its name, and whether its answers have it (RFC 9207), so that one without is another's. Throws `ProviderError`. */
  readIssuer(): Promise<{ readonly issuer: string; readonly isInAnswers: boolean }>;
  /** Where the browser goes to sign out at the provider; null where the provider has no such address. */
  leave(idToken: string | null, backTo: string | null): Promise<URL | null>;
}

interface Flow {
  readonly state: string;
  readonly codeVerifier: string;
  readonly redirectUri: string;
}

/** The client of one provider; discovery is asked for on first use, so that a provider that is down stops nothing else. */
export function createIdentityClient(
  { env }: Pick<Services, "env">,
  id: string,
  provider: IdentityProvider,
): IdentityClient {
  const secret = clientSecretOf(env.OIDC_CLIENT_SECRETS, id);
  let found: Promise<Found> | null = null;
  const configurationOf = async (): Promise<oidc.Configuration> => {
    const known = await found;
    if (known && known.until > Date.now()) return known.configuration;
    const asked = discover(provider, secret).then(
      (configuration) => ({ configuration, until: Date.now() + discoveryMs }),
      (error: unknown) => {
        throw failureOf(error, "discovery");
      },
    );
    found = asked;
    asked.catch(() => {
      if (found === asked) found = null;
    });
    return (await asked).configuration;
  };
  return {
    id,
    provider,
    async authorize({ state, codeVerifier, redirectUri }) {
      const configuration = await configurationOf();
      return oidc.buildAuthorizationUrl(configuration, {
        scope: [...new Set(["openid", ...provider.scopes])].join(" "),
        redirect_uri: redirectUri,
        state,
        nonce: nonceOf(codeVerifier),
        code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: "S256",
      });
    },
    async redeem(answer) {
      const configuration = await configurationOf();
      try {
        return await exchange(configuration, provider, answer);
      } catch (error) {
        throw failureOf(error);
      }
    },
    async readIssuer() {
      const { issuer, authorization_response_iss_parameter_supported: isNamed } = (
        await configurationOf()
      ).serverMetadata();
      return { issuer, isInAnswers: isNamed === true };
    },
    async leave(idToken, backTo) {
      const configuration = await configurationOf();
      if (!configuration.serverMetadata().end_session_endpoint) return null;
      return oidc.buildEndSessionUrl(configuration, {
        ...(idToken === null ? {} : { id_token_hint: idToken }),
        ...(backTo === null ? {} : { post_logout_redirect_uri: backTo }),
      });
    },
  };
}

/** Binds the id token to this browser's try: the library keeps the verifier with the state, so the nonce needs no place of its own. */
function nonceOf(codeVerifier: string): string {
  return createHash("sha256").update(`nonce ${codeVerifier}`).digest("base64url");
}

async function exchange(
  configuration: oidc.Configuration,
  provider: IdentityProvider,
  { code, codeVerifier, redirectUri }: { readonly code: string } & Omit<Flow, "state">,
): Promise<Vouched> {
  const { issuer } = configuration.serverMetadata();
  const url = new URL(redirectUri);
  // The state and the issuer of the answer were compared before.
  url.search = new URLSearchParams({ code, iss: issuer }).toString();
  const tokens = await oidc.authorizationCodeGrant(configuration, url, {
    pkceCodeVerifier: codeVerifier,
    expectedNonce: nonceOf(codeVerifier),
    expectedState: oidc.skipStateCheck,
    idTokenExpected: true,
  });
  const claims = tokens.claims();
  if (!claims || tokens.id_token === undefined)
    throw new ProviderError("PROVIDER_ANSWER_INVALID", "The provider sent no id token.");
  const {
    email,
    email_verified: isVerified,
    ...info
  } = await infoOf(configuration, tokens, claims.sub).catch((error: unknown) => {
    if (isRefused(error) && isWhole(claims, provider)) return noInfo;
    throw error;
  });
  // That an address is verified counts for the address that it was said of.
  const address = claims["email"] === undefined || claims["email"] === email;
  const ofAddress = address ? { email, email_verified: isVerified } : {};
  return { claims: { ...info, ...ofAddress, ...claims }, idToken: tokens.id_token };
}

/** What is said beside the id token, which often leaves groups and address out; empty where the provider has no such address. */
async function infoOf(
  configuration: oidc.Configuration,
  { access_token: accessToken }: oidc.TokenEndpointResponse,
  sub: string,
): Promise<Info> {
  if (!configuration.serverMetadata().userinfo_endpoint) return noInfo;
  return oidc.fetchUserInfo(configuration, accessToken, sub);
}

type Info = Readonly<Record<string, unknown>>;
const noInfo: Info = {};

/** Whether userinfo refuses the access token itself, as ADFS and Entra do where it is for another resource. */
function isRefused(error: unknown): boolean {
  if (error instanceof oidc.WWWAuthenticateChallengeError)
    return error.status === 401 || error.status === 403;
  const { cause } = error instanceof oidc.ClientError ? error : {};
  return cause instanceof Response && (cause.status === 401 || cause.status === 403);
}

/** Whether an id token has all that the studio decides by. */
function isWhole(claims: Claims, { allowedGroups, adminGroups, groupsClaim }: IdentityProvider): boolean {
  const isNamed = claimOf(claims, groupsClaim) !== undefined;
  return claims["email"] !== undefined && (isNamed || allowedGroups.length + adminGroups.length === 0);
}

/** Codes of the library for an answer that is none of such an endpoint: an error page, HTML, a silence. */
const unanswered = [
  "OAUTH_TIMEOUT",
  "OAUTH_ABORT",
  "OAUTH_RESPONSE_IS_NOT_JSON",
  "OAUTH_RESPONSE_IS_NOT_CONFORM",
  "OAUTH_PARSE_ERROR",
];

/** The failure that the sign-in page can explain. */
function failureOf(error: unknown, step: "discovery" | "exchange" = "exchange"): ProviderError {
  if (error instanceof ProviderError) return error;
  return new ProviderError(kindOf(error, step), wordsOf(error), error);
}

function kindOf(error: unknown, step: "discovery" | "exchange"): ProviderFailure {
  // A code that was used before or is too old; everything else is a fault of what is set up on either side.
  if (error instanceof oidc.ResponseBodyError)
    return error.error === "invalid_grant" ? "SIGN_IN_EXPIRED" : "PROVIDER_REFUSED";
  if (error instanceof oidc.WWWAuthenticateChallengeError) return "PROVIDER_REFUSED";
  const isInvalid = error instanceof oidc.ClientError && !unanswered.includes(error.code ?? "");
  return isInvalid && step === "exchange" ? "PROVIDER_ANSWER_INVALID" : "PROVIDER_UNREACHABLE";
}

function wordsOf(error: unknown): string {
  if (error instanceof oidc.ResponseBodyError)
    return [error.error, error.error_description].filter(Boolean).join(": ").slice(0, 500);
  if (error instanceof oidc.WWWAuthenticateChallengeError) {
    const said = error.cause.map(({ parameters: { error: code, error_description: words } }) => [
      code,
      words,
    ]);
    return said.flat().filter(Boolean).join(": ").slice(0, 500) || error.message;
  }
  if (!(error instanceof Error)) return String(error).slice(0, 500);
  const { cause } = error;
  const deeper = cause instanceof Error && cause.message !== error.message ? ` (${cause.message})` : "";
  return `${error.message}${deeper}`.slice(0, 500);
}
