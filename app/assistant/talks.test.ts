import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Talk } from "./queries.ts";
import { groupTalks } from "./talks.tsx";

beforeAll(() => void vi.stubEnv("TZ", "Europe/Sofia"));
afterAll(() => void vi.unstubAllEnvs());

// In Sofia, two hours ahead of UTC, it is past midnight of 1 December.
const now = Date.parse("2026-11-30T22:30:00Z");
const talk = (id: string, lastAt: string, isPinned = false): Talk => ({ id, title: id, lastAt, isPinned });
const groupsOf = (...talks: Talk[]) =>
  groupTalks(talks, now).map(({ name, talks: ofGroup }) => [
    name instanceof Date ? `${name.getFullYear()}-${name.getMonth() + 1}` : name,
    ofGroup.map(({ id }) => id).join(" "),
  ]);

test("conversations are grouped by the days of the reader, pinned ones and a clock that is ahead too", () => {
  expect(
    groupsOf(
      talk("pinned", "2020-01-01T00:00:00Z", true),
      talk("ahead", "2026-12-02T00:00:00Z"),
      talk("now", "2026-11-30T22:10:00Z"),
      talk("before midnight", "2026-11-30T21:59:59Z"),
      talk("a day ago", "2026-11-29T22:00:00Z"),
      talk("two days", "2026-11-29T21:59:59Z"),
      talk("a week", "2026-11-23T22:00:00Z"),
      talk("more", "2026-11-23T21:59:59Z"),
      talk("in November", "2026-11-01T12:00:00Z"),
      talk("in October", "2026-10-31T12:00:00Z"),
      talk("a year ago", "2025-11-30T12:00:00Z"),
    ),
  ).toEqual([
    ["pinned", "pinned"],
    ["today", "ahead now"],
    ["yesterday", "before midnight a day ago"],
    ["week", "two days a week"],
    ["2026-11", "more in November"],
    ["2026-10", "in October"],
    ["2025-11", "a year ago"],
  ]);
  expect(groupsOf()).toEqual([]);
});
