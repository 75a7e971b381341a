import { expect, test } from "vitest";
import { normalized } from "./normalized.ts";

const forms = ["NFC", "NFD", "NFKC", "NFKD"] as const;

test.each([
  "Nguyễn Đào, café, Ünlü",
  "हिन्दी की किताब",
  "한국 사진 ｶﾞｷﾞ",
  `z${"\u0316\u0301".repeat(15)} and a`,
  "👩‍🎨️ \ud800",
])("A12 %j has its normal forms", (text) => {
  for (const form of forms) expect(normalized(text, form)).toBe(text.normalize(form));
});

/** Milliseconds of this process alone. */
function costOf(act: () => unknown): number {
  const before = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

// A bare normalize() takes several seconds for each.
test.each([
  ["of two marks in one", "\u0344".repeat(60_000) + "\u0316".repeat(60_000)],
  ["out of order", `a${"\u0301".repeat(60_000)}${"\u0316".repeat(60_000)}`],
  ["of half width", `ｶ${"\u0301".repeat(60_000)}${"ﾞ".repeat(60_000)}`],
])("A12 a long run of marks %s costs little", (_what, text) => {
  expect(costOf(() => normalized(text, "NFKD"))).toBeLessThan(1_000);
});
