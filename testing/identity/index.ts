import { createSign, generateKeyPairSync } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";

/** What the provider says of a person, beside `sub`; the key is what the person types into its login page. */
export type People = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export interface TestProvider {
  readonly issuer: string;
  /** May be changed while it runs. */
  readonly people: Record<string, Readonly<Record<string, unknown>>>;
  close(): Promise<void>;
}

export const testClientId = "atelier";
export const testClientSecret = "a-client-secret-of-the-tests-0123456789";

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

async function listen(handle: () => Handle, port = 0) {
  const server = createServer((request, response) => handle()(request, response));
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${taken}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface ProviderOptions {
  /** Full addresses that it leads back to. */
  readonly redirectUris: readonly string[];
  readonly afterSignOut?: readonly string[];
  readonly people: People;
  readonly port?: number;
}

/** A real OpenID Connect provider (`oidc-provider`) with its own login pages, on this machine. Any password is right. */
export async function startIdentityProvider(options: ProviderOptions): Promise<TestProvider> {
  const people = { ...options.people };
  let handle: Handle = () => undefined;
  const server = await listen(() => handle, options.port);
  const provider = new Provider(server.url, {
    clients: [
      {
        client_id: testClientId,
        client_secret: testClientSecret,
        redirect_uris: [...options.redirectUris],
        post_logout_redirect_uris: [...(options.afterSignOut ?? [])],
      },
    ],
    cookies: { keys: ["of the tests"] },
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    pkce: { required: () => true },
    claims: {
      openid: ["sub"],
      email: ["email", "email_verified"],
      profile: ["name", "preferred_username", "groups", "realm_access"],
    },
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
  });
  const answer = provider.callback();
  handle = (request, response) => void answer(request, response);
  return { issuer: server.url, people, close: server.close };
}

interface Step {
  readonly next: URL;
  readonly form: URLSearchParams | null;
}

/** What a person does on a page of the provider: types a login, confirms, or cancels. */
function answerPage(page: string, at: URL, login: string | null): Step {
  const found = (pattern: RegExp) => pattern.exec(page)?.[1];
  const action = found(/<form[^>]*action="([^"]+)"/);
  if (action === undefined) throw new Error(`the provider shows no form: ${page.slice(0, 400)}`);
  if (login === null) return { next: new URL(found(/href="([^"]*abort)"/) ?? "", at), form: null };
  const prompt = found(/name="prompt" value="([^"]+)"/) ?? "";
  return { next: new URL(action, at), form: new URLSearchParams({ prompt, login, password: "any" }) };
}

/** Goes through the login pages as a browser does, or cancels (null); returns the address of the studio that the provider leads back to. */
export async function passLoginPages(start: string, login: string | null): Promise<URL> {
  const cookies = new Map<string, string>();
  let step: Step = { next: new URL(start), form: null };
  for (let count = 0; count < 20; count += 1) {
    const { next, form } = step;
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const method = form ? "POST" : "GET";
    const response = await fetch(next, { redirect: "manual", headers: { cookie }, method, body: form });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    const page = await response.text();
    step = location === null ? answerPage(page, next, login) : { next: new URL(location, next), form: null };
    if (step.next.origin !== new URL(start).origin) return step.next;
  }
  throw new Error("the provider leads in a circle");
}

/** Changes an answer of the provider that is made up below. */
export interface Forgery {
  discovery?: (document: Record<string, unknown>) => unknown;
  claims?: (claims: Record<string, unknown>) => Record<string, unknown>;
  /** Instead of the token endpoint's answer. */
  token?: Handle;
  info?: Record<string, unknown>;
  /** With this status userinfo refuses the access token, by a challenge or without. */
  refusedInfo?: { readonly status: number; readonly headers?: Readonly<Record<string, string>> };
}

export interface ForgingProvider {
  readonly issuer: string;
  readonly forgery: Forgery;
  /** The nonce that the id tokens hold from now on. */
  nonce: string;
  readonly tokenRequests: () => number;
  close(): Promise<void>;
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** The discovery document lies below each path: of a realm, or of an application. */
const withoutRealm = (pathname: string) => pathname.replace(/^.+(?=\/\.well-known\/)/, "");

/** A provider that answers as it is told to: a TEST TOOL for what a real one never does. */
export async function startForgingProvider(): Promise<ForgingProvider> {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const forgery: Forgery = {};
  let tokenRequests = 0;
  const tokenFor = (issuer: string) => {
    const now = Math.floor(Date.now() / 1000);
    const usual = {
      iss: issuer,
      aud: testClientId,
      sub: "p-1",
      iat: now,
      exp: now + 300,
      nonce: forging.nonce,
    };
    const person = { email: "forged@example.com", email_verified: true, name: "Forged" };
    const claims = { ...usual, ...person };
    const head = `${encode({ alg: "RS256", kid: "1" })}.${encode(forgery.claims?.(claims) ?? claims)}`;
    return `${head}.${createSign("RSA-SHA256").update(head).sign(privateKey, "base64url")}`;
  };
  const answers: Readonly<Record<string, (issuer: string) => unknown>> = {
    "/jwks": () => ({
      keys: [{ ...publicKey.export({ format: "jwk" }), kid: "1", alg: "RS256", use: "sig" }],
    }),
    "/info": () => ({ sub: "p-1", ...forgery.info }),
    "/token": (issuer) => ({ access_token: "a", token_type: "Bearer", id_token: tokenFor(issuer) }),
    "/.well-known/openid-configuration": (issuer) => {
      const document = {
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        userinfo_endpoint: `${issuer}/info`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
      };
      return forgery.discovery?.(document) ?? document;
    },
  };
  const server = await listen(() => (request, response) => {
    const { pathname } = new URL(request.url ?? "/", server.url);
    if (pathname === "/token") {
      tokenRequests += 1;
      if (forgery.token) return forgery.token(request, response);
    }
    if (pathname === "/info" && forgery.refusedInfo) {
      const { status, headers } = forgery.refusedInfo;
      response.writeHead(status, { "content-type": "application/json", ...headers });
      return response.end(JSON.stringify({ error: { code: "InvalidAuthenticationToken" } }));
    }
    const answer = answers[withoutRealm(pathname)]?.(server.url);
    const isText = typeof answer === "string";
    response.writeHead(answer === undefined ? 404 : 200, {
      "content-type": isText ? "text/html" : "application/json",
    });
    response.end(isText ? answer : JSON.stringify(answer ?? {}));
  });
  const forging: ForgingProvider = {
    issuer: server.url,
    forgery,
    nonce: "",
    tokenRequests: () => tokenRequests,
    close: server.close,
  };
  return forging;
}
