import { expect, test } from "vitest";
import { type Holder, places, type PlaceKind, sharesOf, takePlace } from "./places.ts";

const kinds = Object.keys(places) as PlaceKind[];

/** Lets ever new users take places until one of them gets none; returns how many were given. */
function fill(studio: object, kind: PlaceKind, holder: Omit<Holder, "userId">, name: string): number {
  for (let user = 0; ; user += 1)
    for (let own = 0; own < places[kind].perUser; own += 1)
      try {
        takePlace(studio, kind, { ...holder, userId: `${name} ${user}` });
      } catch {
        return user * places[kind].perUser + own;
      }
}

test.each(kinds)("%s: when guests hold all that they can, an account that nobody invited gets in", (kind) => {
  const studio = {};
  expect(fill(studio, kind, { isGuest: true }, "guest")).toBe(sharesOf(kind).guests);
  takePlace(studio, kind, { userId: "somebody", isSelfMade: true })();
  expect(fill(studio, kind, { isSelfMade: true }, "self-made")).toBe(
    sharesOf(kind).uninvited - sharesOf(kind).guests,
  );
});

test.each(kinds)(
  "%s: when all that nobody invited hold what they can, an invited account gets in",
  (kind) => {
    const studio = {};
    fill(studio, kind, { isGuest: true }, "guest");
    fill(studio, kind, { isSelfMade: true }, "self-made");
    const { all } = places[kind];
    expect(fill(studio, kind, {}, "invited")).toBe(all - sharesOf(kind).uninvited);
    expect(sharesOf(kind).guests).toBeLessThanOrEqual(all / 2);
    expect(sharesOf(kind).uninvited).toBeLessThan(all);
  },
);

test.each(kinds)("%s: accounts alone may hold all of it, each of them its own few", (kind) => {
  const { all, perUser } = places[kind];
  expect(fill({}, kind, {}, "invited")).toBe(all);
  const studio = {};
  for (let own = 0; own < perUser; own += 1) takePlace(studio, kind, { userId: "one" });
  expect(() => takePlace(studio, kind, { userId: "one" })).toThrow(places[kind].message);
  takePlace(studio, kind, { userId: "another" });
});

test("a refused place counts nowhere, one that is given back twice counts once", () => {
  const studio = {};
  const guest = { userId: "guest", isGuest: true };
  const first = takePlace(studio, "export", guest);
  for (let round = 0; round < 10; round += 1)
    expect(() => takePlace(studio, "export", guest)).toThrow("exports");
  first();
  first();
  const second = takePlace(studio, "export", guest);
  takePlace(studio, "export", { userId: "other guest", isGuest: true });
  expect(() => takePlace(studio, "export", { userId: "third guest", isGuest: true })).toThrow("exports");
  second();
  takePlace(studio, "export", { userId: "third guest", isGuest: true });
});

test("another studio in the process has places of its own", () => {
  const studio = {};
  fill(studio, "fetch", {}, "user");
  expect(() => takePlace(studio, "fetch", { userId: "late" })).toThrow("fetched");
  takePlace({}, "fetch", { userId: "late" });
});
