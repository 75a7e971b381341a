import { NextRequest } from "next/server.js";
import { beforeEach, expect, test, vi } from "vitest";
import { proxy } from "../../proxy.ts";

beforeEach(() => {
  vi.stubEnv("SIGN_UP", "invite");
  vi.stubEnv("APP_URL", "https://studio.test");
});

const session = "__Secure-atelier.session_token=any";

/** Where an address leads, and the page that is kept for after the sign-in: undefined where none is kept or ended. */
function ask(path: string, cookie = "", method = "GET") {
  const { headers: answer, cookies } = proxy(
    new NextRequest(`https://studio.test${path}`, { method, headers: { cookie } }),
  );
  return [answer.get("location"), cookies.get("atelier-wanted")?.value];
}

test("who has to sign in first comes to the page that was asked for", () => {
  const wanted = "/jobs/1?tab=log&b=%2F";
  expect(ask(wanted)).toEqual(["https://studio.test/sign-in", wanted]);
  const kept = `atelier-wanted=${encodeURIComponent(wanted)}`;
  expect(ask("/", kept)).toEqual(["https://studio.test/sign-in", undefined]);
  expect(ask("/sign-in?entered=1", `${kept}; ${session}`)).toEqual([null, undefined]);
  expect(ask("/gallery", `${kept}; ${session}`)).toEqual([null, undefined]);
  expect(ask("/", `${kept}; ${session}`)).toEqual([`https://studio.test${wanted}`, ""]);
  expect(ask("/", session)).toEqual([null, undefined]);
});

test("nothing leads to another site, and what is no page is no goal", () => {
  for (const other of [
    "//evil.test/",
    "https://evil.test/",
    "/\\evil.test",
    "/.//evil.test",
    "/..//evil.test/x",
    "/a/..//evil.test",
    "/.\\/evil.test",
    "https://studio.test//evil.test",
    "/%2e//evil.test",
    "/",
    "/?tab=log",
    "/.",
    "",
    "https://studio.test.evil.test/",
    "javascript:alert(1)",
  ])
    expect(ask("/", `atelier-wanted=${encodeURIComponent(other)}; ${session}`)).toEqual([null, undefined]);
  expect(ask("/", "", "HEAD")).toEqual(["https://studio.test/sign-in", undefined]);
  expect(ask("/jobs/1", "", "HEAD")).toEqual(["https://studio.test/sign-in", undefined]);
});

test("what browsers and programs ask for by themselves is no page to sign in", () => {
  for (const path of [
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/change-password",
    "/robots.txt",
    "/favicon.ico",
    "/apple-touch-icon-precomposed.png",
    "/manifest.webmanifest",
  ])
    expect([path, ...ask(path)]).toEqual([path, null, undefined]);
  for (const path of ["/admin", "/users/well-known", "/jobs/1?file=a.txt"])
    expect([path, ask(path)[0]]).toEqual([path, "https://studio.test/sign-in"]);
});

test("what was shared waits for who has to sign in anew", () => {
  vi.stubEnv("SIGN_UP", "");
  const comeFrom = (path: string, referer: string) =>
    proxy(new NextRequest(`https://studio.test${path}`, { headers: { referer } })).cookies.get(
      "atelier-wanted",
    )?.value;
  expect(comeFrom("/sign-in", "https://studio.test/shared")).toBe("/shared");
  expect(comeFrom("/sign-in", "https://studio.test/gallery")).toBeUndefined();
  expect(comeFrom("/gallery", "https://studio.test/shared")).toBeUndefined();
  expect(comeFrom("/sign-in", "")).toBeUndefined();
});

test("an open studio asks nobody to sign in", () => {
  vi.stubEnv("SIGN_UP", "");
  expect(ask("/jobs/1")).toEqual([null, undefined]);
});
