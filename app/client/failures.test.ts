import { expect, test } from "vitest";
import { hasOwnAdvice } from "../data/has-own-advice.ts";

const message = "The garment is cut off by the edge of its photo. Use a photo that shows all of it.";

test("a refused picture is advised on in the engine's own words", () => {
  expect(hasOwnAdvice({ code: "garment_unsuitable", message })).toBe(true);
  expect(hasOwnAdvice({ code: "person_unsuitable", message })).toBe(true);
});

test("other failures, and those without words, are advised on by their code", () => {
  expect(hasOwnAdvice({ code: "engine_crashed", message: "exit code 137" })).toBe(false);
  expect(hasOwnAdvice({ code: "person_unsuitable", message: "" })).toBe(false);
});
