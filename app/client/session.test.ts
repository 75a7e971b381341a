import { expect, test, vi } from "vitest";
import { enterAccount, ensureGuest, settleSession } from "./session.ts";

const calls: string[] = [];
const entry = Promise.withResolvers<typeof somebody>();
vi.mock("./auth-client.ts", () => ({
  authClient: {
    getSession: () => Promise.resolve(nobody),
    signIn: {
      anonymous: () => {
        calls.push("guest");
        return entry.promise;
      },
    },
  },
}));

const refused = { data: null, error: { status: 503 } };
const nobody = { data: null, error: null };
const somebody = { data: { user: {} }, error: null };

function ways(session: typeof refused | typeof nobody | typeof somebody, entered: object = somebody) {
  return {
    getSession: () => Promise.resolve(session),
    enterAsGuest: vi.fn<() => Promise<typeof somebody>>(() => Promise.resolve(entered as typeof somebody)),
    goToSignIn: vi.fn<() => void>(),
    keepsCookies: () => true,
  };
}

test("whoever has no session and no account becomes a guest", async () => {
  const taken = ways(nobody);
  await settleSession(false, taken);
  expect(taken.enterAsGuest).toHaveBeenCalledOnce();
  expect(taken.goToSignIn).not.toHaveBeenCalled();
});

test("a lost account is led to signing in and never turns into a guest", async () => {
  const taken = ways(nobody);
  await expect(settleSession(true, taken)).rejects.toMatchObject({ code: "unauthorized" });
  expect(taken.goToSignIn).toHaveBeenCalledOnce();
  expect(taken.enterAsGuest).not.toHaveBeenCalled();
});

test("a browser that keeps no cookies makes no guest at each call, and is told", async () => {
  for (const hadAccount of [true, false]) {
    const taken = { ...ways(nobody), keepsCookies: () => false };
    await expect(settleSession(hadAccount, taken)).rejects.toMatchObject({ code: "cookies_blocked" });
    expect([taken.enterAsGuest.mock.calls, taken.goToSignIn.mock.calls]).toEqual([[], []]);
  }
  const standing = { ...ways(somebody), keepsCookies: () => false };
  await settleSession(false, standing);
});

test("a session that stands is left alone", async () => {
  const taken = ways(somebody);
  await settleSession(true, taken);
  expect([taken.enterAsGuest.mock.calls, taken.goToSignIn.mock.calls]).toEqual([[], []]);
});

test("a failed question is not the answer nobody, and a refused guest is told", async () => {
  for (const hadAccount of [true, false]) {
    const taken = ways(refused);
    await expect(settleSession(hadAccount, taken)).rejects.toEqual(refused.error);
    expect([taken.enterAsGuest.mock.calls, taken.goToSignIn.mock.calls]).toEqual([[], []]);
  }
  await expect(settleSession(false, ways(nobody, refused))).rejects.toEqual(refused.error);
});

test("where guests are not let in a visitor is led to signing in", async () => {
  const taken = ways(nobody, { data: null, error: { status: 403, code: "GUESTS_CLOSED" } });
  await expect(settleSession(false, taken)).rejects.toMatchObject({ code: "unauthorized" });
  expect(taken.goToSignIn).toHaveBeenCalledOnce();
});

test("who signs in while this browser becomes a guest does so after it, whose late answer would be the session", async () => {
  const ready = ensureGuest();
  const entered = enterAccount(() => {
    calls.push("account");
    return Promise.resolve("in");
  });
  await vi.waitFor(() => expect(calls).toEqual(["guest"]));
  entry.resolve(somebody);
  await ready;
  calls.push("guest entered");
  expect(await entered).toBe("in");
  expect(calls).toEqual(["guest", "guest entered", "account"]);
});
