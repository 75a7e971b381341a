import * as oidc from "openid-client";
import { z } from "zod";
import { AppError, type IdentityProvider, isSameIssuer, outsideFetch } from "../platform/index.ts";

/* How a provider is asked for what it is, and what its client sends and takes. */

/** Of each request to a provider; people wait for it. */
const requestSeconds = 8;
/** Far above discovery documents, key sets and tokens. */
const maxBytes = 512 * 1024;
/** Between the clocks of two machines. */
const clockSkewSeconds = 60;

/**
 * Asks for the discovery document and makes a client of it: where it names the provider with another slash at the end than the
 * configuration, by that name. Throws the errors of the library.
 */
export async function discover(
  provider: IdentityProvider,
  secret: string | undefined,
): Promise<oidc.Configuration> {
  const issuer = new URL(provider.issuer);
  return discoverAt(issuer, provider, secret).catch((error: unknown) => {
    const named = namedIn(error);
    if (!named || !isSameIssuer(named, issuer)) throw error;
    return discoverAt(named, provider, secret);
  });
}

/** The name in a document that was refused for it. */
function namedIn(error: unknown): URL | null {
  const cause = error instanceof oidc.ClientError ? error.cause : null;
  const { data } = misnamed.safeParse(cause);
  return data ? URL.parse(data.body.issuer) : null;
}

const misnamed = z.object({ attribute: z.literal("issuer"), body: z.object({ issuer: z.string() }) });

async function discoverAt(
  issuer: URL,
  provider: IdentityProvider,
  secret: string | undefined,
): Promise<oidc.Configuration> {
  const fetchLimited: oidc.CustomFetch = async (url, { body, ...options }) => {
    // The form of a code is the only thing that is sent.
    const form = body instanceof URLSearchParams || typeof body === "string" ? body : null;
    return limited(await outsideFetch(url, { ...options, body: form }));
  };
  return oidc.discovery(
    issuer,
    provider.clientId,
    { [oidc.clockTolerance]: clockSkewSeconds },
    authenticationOf(provider, secret),
    {
      timeout: requestSeconds,
      [oidc.customFetch]: fetchLimited,
      execute: [
        oidc.enableNonRepudiationChecks,
        // The configuration lets only addresses of this machine be without TLS.
        ...(issuer.protocol === "http:" ? [oidc.allowInsecureRequests] : []),
      ],
    },
  );
}

/** The same answer with a body within the limit. Throws `url_too_large`. */
async function limited(response: Response): Promise<Response> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body ?? []) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > maxBytes)
      throw new AppError("url_too_large", `The answer has more than ${maxBytes} bytes.`);
    chunks.push(new Uint8Array(chunk));
  }
  const { status, headers } = response;
  return new Response(chunks.length === 0 ? null : new Blob(chunks), { status, headers });
}

/** A client without a secret is a public one: PKCE alone protects its codes. */
function authenticationOf({ clientAuth }: IdentityProvider, secret: string | undefined): oidc.ClientAuth {
  if (secret === undefined) return oidc.None();
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (server, ...rest) => {
    // The specification's own default is basic.
    const taken = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    const isPost = clientAuth === undefined ? !taken.includes("client_secret_basic") : clientAuth === "post";
    return (isPost ? post : basic)(server, ...rest);
  };
}
