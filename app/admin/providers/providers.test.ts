import { expect, test } from "vitest";
import { stateOf } from "./providers.tsx";

const provider: Parameters<typeof stateOf>[0] = {
  provider: "fal",
  isEnabled: true,
  hasKey: true,
  limits: { maxConcurrent: 2, rpm: 10 },
  keys: 2,
  keyReports: [],
  active: 3,
  inLastMinute: 19,
  cooldownLeftMs: 0,
  streak: 0,
  lastErrorClass: null,
  dayUsd: 0,
  monthUsd: 0,
};

test("E9 the state of a provider names the first reason why it takes no job", () => {
  expect(stateOf(provider)).toBe("ready");
  expect(stateOf({ ...provider, active: 4 })).toBe("full");
  const resting = {
    keyId: "a",
    active: 0,
    inLastMinute: 0,
    cooldownLeftMs: 9_000,
    streak: 1,
    lastErrorClass: "auth",
  };
  expect(stateOf({ ...provider, keyReports: [resting], active: 1, inLastMinute: 9 })).toBe("ready");
  expect(stateOf({ ...provider, keyReports: [resting], active: 2 })).toBe("full");
  expect(stateOf({ ...provider, inLastMinute: 20 })).toBe("full");
  expect(stateOf({ ...provider, active: 4, cooldownLeftMs: 1 })).toBe("cooling");
  expect(stateOf({ ...provider, cooldownLeftMs: 1, hasKey: false })).toBe("noKey");
  expect(stateOf({ ...provider, hasKey: false, isEnabled: false })).toBe("off");
});
