import {
  createTestServices,
  openTestBrowser,
  testPassword,
  type TestBrowser,
  type TestServices,
} from "@atelier/testing/services";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { findSession } from "../../app/server/proxy-env.ts";
import { sessionCookieOf } from "../cookie-names.ts";
import { schema } from "../db/index.ts";
import type { Services } from "../services.ts";
import { authOf } from "./auth.ts";
import { resolveCaller } from "./resolve-caller.ts";

const addresses = {
  usual: "http://localhost",
  other: "http://localhost:4940",
  third: "http://localhost:4941",
};

let studios: Record<keyof typeof addresses, TestServices>;
beforeAll(async () => {
  const open = (APP_URL: string) =>
    createTestServices({ env: { APP_URL, AUTH_SECRET: `the secret of ${APP_URL} `.padEnd(40, "x") } });
  const [usual, other, third] = await Promise.all([
    open(addresses.usual),
    open(addresses.other),
    open(addresses.third),
  ]);
  studios = { usual, other, third };
});
afterAll(async () => {
  await Promise.all(Object.values(studios).map((studio) => studio.close()));
});

type Studio = keyof typeof addresses;

/** One browser that opens several studios at one host: it sends the cookies of all to each. */
function openShared() {
  const at = new Map<Studio, TestBrowser>();
  const browserAt = (studio: Studio) => {
    const browser = at.get(studio) ?? openTestBrowser(studios[studio].services);
    return at.set(studio, browser) && browser;
  };
  for (const studio of ["usual", "other", "third"] as const) browserAt(studio);
  const keep = (response: Response) => {
    for (const browser of at.values()) browser.keepCookies(response);
  };
  /** A POST, and its answer's cookies for all studios. */
  const auth = async (studio: Studio, path: string, body: object = {}) => {
    const kept = browserAt(studio);
    const response = await kept.auth(path, body);
    for (const browser of at.values()) if (browser !== kept) browser.keepCookies(response);
    return response;
  };
  /** As a page asks for its session. */
  const ask = async (studio: Studio) => {
    const { services } = studios[studio];
    const { headers } = browserAt(studio);
    const response = await authOf(services).handler(
      new Request(`${addresses[studio]}/api/auth/get-session`, { headers }),
    );
    keep(response);
    return response.json();
  };
  const caller = async (studio: Studio) =>
    (await resolveCaller(studios[studio].services, browserAt(studio).headers))?.userId ?? null;
  const names = () =>
    (browserAt("usual").headers.get("cookie") ?? "")
      .split("; ")
      .map((pair) => pair.split("=")[0] ?? "")
      .filter((name) => name.endsWith("session_token"));
  return { ask, auth, caller, keep, names, headers: browserAt("usual").headers };
}

const form = (name: string) => ({ email: `${name}@example.test`, password: testPassword, name });

/** A browser that was signed in to the studio before its cookies had the port in their names. */
async function openEarlier(studio: Studio, name: string) {
  const before = openShared();
  await before.auth(studio, "/sign-up/email", form(name));
  const value = /session_token=([^;]+)/.exec(before.headers.get("cookie") ?? "")?.[1] ?? "";
  const shared = openShared();
  shared.keep(setCookie("atelier.session_token", value));
  return { ...shared, userId: await before.caller(studio) };
}
const pick = (headers: Headers, name: string) => {
  const pairs = (headers.get("cookie") ?? "").split("; ");
  return new Headers({ cookie: pairs.find((pair) => pair.startsWith(`${name}=`)) ?? "" });
};
const setCookie = (name: string, value: string) =>
  new Response(null, { headers: { "set-cookie": `${name}=${value}; Path=/` } });

test("S1 studios at two ports of one host, and one at the usual port, do not sign each other out", async () => {
  const browser = openShared();
  for (const studio of ["other", "third", "usual"] as const)
    expect((await browser.auth(studio, "/sign-up/email", form("both"))).status).toBe(200);
  const users = await Promise.all((["other", "third", "usual"] as const).map(browser.caller));
  expect(users).toEqual([expect.any(String), expect.any(String), expect.any(String)]);
  await browser.auth("third", "/sign-out");
  expect(await browser.caller("third")).toBeNull();
  expect([await browser.caller("other"), null, await browser.caller("usual")]).toEqual([
    users[0],
    null,
    users[2],
  ]);
});

test("S1 a session of before the port was in its cookie's name goes on, and gets today's name once", async () => {
  const { ask, caller, names, userId } = await openEarlier("other", "earlier");
  expect(userId).toEqual(expect.any(String));
  expect(await caller("other")).toBe(userId);
  expect(await ask("other")).toMatchObject({ user: { id: userId } });
  const both = ["atelier.session_token", "atelier-4940.session_token"];
  expect(names()).toEqual(both);
  expect(await caller("other")).toBe(userId);
  // The library gives the cookie of an older session anew.
  await studios.other.services.db
    .update(schema.sessions)
    .set({ expiresAt: new Date(Date.now() + 86_400_000) });
  await ask("other");
  expect([names(), await caller("other")]).toEqual([both, userId]);
});

test("S1 a back-out to a version before the port was in the name keeps a guest", async () => {
  const { ask, headers, userId } = await openEarlier("other", "backed-out");
  await ask("other");
  // What such a version reads is what a studio at the usual port does.
  const before: Services = {
    ...studios.other.services,
    env: { ...studios.other.services.env, APP_URL: addresses.usual },
  };
  const old = pick(headers, "atelier.session_token");
  expect((await resolveCaller(before, old))?.userId).toBe(userId);
});

test("S1 a studio at another port, or with an address that is set later, keeps its guests, and a sign-out ends all names", async () => {
  const { APP_URL: _, ...env } = studios.other.services.env;
  const at = (own: Partial<Services["env"]>): Services => ({
    ...studios.other.services,
    env: { ...env, ...own },
  });
  const browser = openTestBrowser(at({ PORT: 4940 }));
  await browser.auth("/sign-in/anonymous");
  const trust = setCookie("atelier-4940.trust_device", "unsigned");
  browser.keepCookies(trust);
  const userId = (await resolveCaller(at({ PORT: 4940 }), browser.headers))?.userId;
  expect(userId).toEqual(expect.any(String));
  const places = [
    at({ PORT: 4942 }),
    at({ APP_URL: "http://localhost:4943" }),
    at({ APP_URL: "http://localhost" }),
  ];
  for (const moved of places) {
    expect((await resolveCaller(moved, browser.headers))?.userId).toBe(userId);
    const { headers } = browser;
    const url = "http://localhost:4942/api/auth/get-session";
    const response = await authOf(moved).handler(new Request(url, { headers }));
    browser.keepCookies(response);
    expect(await response.json()).toMatchObject({ user: { id: userId } });
  }
  const sessions = (headers: Headers) => (headers.get("cookie") ?? "").match(/[^ ;]+session_token/g) ?? [];
  expect(sessions(browser.headers)).toEqual(
    ["atelier-4940", "atelier-4942", "atelier-4943", "atelier"].map((prefix) => `${prefix}.session_token`),
  );
  const held = new Headers(browser.headers);
  const last = openTestBrowser(at({ PORT: 4942 }));
  for (const pair of (held.get("cookie") ?? "").split("; ")) {
    const [name = "", value = ""] = pair.split(/=(.*)/s);
    last.keepCookies(setCookie(name, value));
  }
  await last.auth("/sign-out");
  expect(sessions(last.headers)).toEqual([]);
  for (const place of [at({ PORT: 4940 }), ...places])
    expect(await resolveCaller(place, last.headers)).toBeNull();
});

test("S1 a studio with the same secret and another database is left alone", async () => {
  const { services: own } = studios.third;
  const { AUTH_SECRET } = studios.other.services.env;
  const twin: Services = { ...own, env: { ...own.env, AUTH_SECRET } };
  const first = openTestBrowser(studios.other.services);
  await first.auth("/sign-in/anonymous");
  const visitor = openTestBrowser(twin);
  const [name = "", value = ""] = (first.headers.get("cookie") ?? "").split(/=(.*)/s);
  visitor.keepCookies(setCookie(name, value));
  expect(await resolveCaller(twin, visitor.headers)).toBeNull();
  await visitor.auth("/sign-in/anonymous");
  await visitor.auth("/sign-out");
  expect(visitor.headers.get("cookie")).toBe(first.headers.get("cookie"));
});

test("S1 after a sign-out, or a sign-in as somebody else, the cookie of the earlier name signs nobody in", async () => {
  const out = await openEarlier("other", "out");
  await out.auth("other", "/sign-out");
  expect([out.names(), await out.caller("other")]).toEqual([[], null]);
  const changed = await openEarlier("other", "first");
  await changed.auth("other", "/sign-up/email", form("second"));
  expect(await changed.caller("other")).not.toBe(changed.userId);
  await changed.auth("other", "/sign-out");
  expect(await changed.caller("other")).toBeNull();
});

test("S1 a studio leaves the session of another one, which has the earlier name, alone", async () => {
  const browser = openShared();
  await browser.auth("usual", "/sign-up/email", form("left-alone"));
  const userId = await browser.caller("usual");
  expect(await browser.caller("other")).toBeNull();
  expect(await browser.ask("other")).toBeNull();
  await browser.auth("other", "/sign-in/anonymous");
  await browser.auth("other", "/sign-out");
  expect([browser.names(), await browser.caller("usual")]).toEqual([["atelier.session_token"], userId]);
});

test("names have the port where it is not the usual one of the scheme", () => {
  expect(
    [
      "https://a.test",
      "https://a.test:443",
      "https://a.test:8443",
      "http://a.test:80",
      "http://a.test:3000",
    ].map(sessionCookieOf),
  ).toEqual([
    "__Secure-atelier.session_token",
    "__Secure-atelier.session_token",
    "__Secure-atelier-8443.session_token",
    "atelier.session_token",
    "atelier-3000.session_token",
  ]);
});

test("pages know this studio's session cookie by the environment, also under an earlier name", async () => {
  const { advanced } = authOf(studios.other.services).options;
  expect(advanced.cookiePrefix).toBe("atelier-4940");
  vi.stubEnv("APP_URL", "https://a.test:8443");
  const found = (name: string) => findSession([{ name: "atelier-theme" }, { name }]);
  expect(found("__Secure-atelier-8443.session_token")).toEqual({ isEarlier: false });
  expect(found("__Secure-atelier.session_token")).toEqual({ isEarlier: true });
  expect(found("__Secure-atelier-8444.session_token")).toEqual({ isEarlier: true });
  expect(["atelier.session_token", "__Secure-atelier-8444.trust_device"].map(found)).toEqual([null, null]);
  vi.stubEnv("APP_URL", "");
  vi.stubEnv("PORT", "4000");
  expect(found("atelier-4000.session_token")).toEqual({ isEarlier: false });
  vi.unstubAllEnvs();
});
