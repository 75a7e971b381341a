import { expect, test } from "vitest";
import { isSameRequest } from "./inpaint-actions.tsx";

test("an input is the same request only with the same image, marks, prompt and workflow", () => {
  const image = { id: "one" };
  const marks = [{ mode: "paint", sizePx: 4, points: [{ x: 1, y: 1 }] }] as const;
  const input = { marks, prompt: "a hat", workflow: { name: "inpaint_sdxl", cloud: null } };
  const last = { image, input, maskId: "mask", idempotencyKey: "key" };
  expect(isSameRequest(last, image, { ...input })).toBe(true);
  expect(isSameRequest(null, image, input)).toBe(false);
  expect(isSameRequest(last, { id: "two" }, input)).toBe(false);
  expect(isSameRequest(last, image, { ...input, marks: [...marks] })).toBe(false);
  expect(isSameRequest(last, image, { ...input, prompt: "a cap" })).toBe(false);
  expect(isSameRequest(last, image, { ...input, workflow: { name: "inpaint_flux", cloud: null } })).toBe(
    false,
  );
});
