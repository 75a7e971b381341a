import { expect, test } from "vitest";
import type { WardrobeItem } from "@atelier/server/wardrobe";
import { isNotWorn, itemMatches, studioCategory } from "./wardrobe.ts";

const shirt: WardrobeItem = {
  id: "one",
  imageId: "picture",
  thumbhash: "",
  what: "garment",
  category: "top",
  name: "Chemise d'été",
  tags: ["Linen"],
  colour: "blue",
  hasConsent: false,
  isBeingCutOut: false,
  cutOutFailure: null,
  createdAt: "2026-01-01T00:00:00.000Z",
};

const matches = (query: string) => itemMatches(shirt, new URLSearchParams(query));

test("C1 an item is found by all words of its name and tags, without case and accents, and by what it is", () => {
  expect(["", "q=ete", "q=linen+CHEMISE", "what=garment&category=top&colour=blue"].map(matches)).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(["q=wool", "q=linen+wool", "what=person", "category=dress", "colour=red"].map(matches)).toEqual([
    false,
    false,
    false,
    false,
    false,
  ]);
});

test("C1 shoes and accessories are kept and not worn, and what is worn has a category of the studio", () => {
  const notWorn = (["shoes", "accessory"] as const).map((category) => isNotWorn({ category }));
  expect(notWorn).toEqual([true, true]);
  const worn = (["top", "outerwear", "bottom", "dress", null] as const).map((category) => ({ category }));
  expect(worn.map(isNotWorn)).toEqual([false, false, false, false, false]);
  expect(worn.map(studioCategory)).toEqual(["top", "top", "bottom", "dress", "auto"]);
});
