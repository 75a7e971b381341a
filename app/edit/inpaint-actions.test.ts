import { expect, test } from "vitest";
import { isSame } from "./inpaint-actions.tsx";

test("a wish is the same request only with the same image, marks, prompt and workflow", () => {
  const image = { id: "one" };
  const strokes = [{ mode: "paint", sizePx: 4, points: [{ x: 1, y: 1 }] }] as const;
  const wish = { strokes, prompt: "a hat", workflow: "inpaint_sdxl" };
  const last = { image, wish, mask: "mask", idempotencyKey: "key" };
  expect(isSame(last, image, { ...wish })).toBe(true);
  expect(isSame(null, image, wish)).toBe(false);
  expect(isSame(last, { id: "two" }, wish)).toBe(false);
  expect(isSame(last, image, { ...wish, strokes: [...strokes] })).toBe(false);
  expect(isSame(last, image, { ...wish, prompt: "a cap" })).toBe(false);
  expect(isSame(last, image, { ...wish, workflow: "inpaint_flux" })).toBe(false);
});
