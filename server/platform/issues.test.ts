import { expect, test } from "vitest";
import { z } from "zod";
import { issuesOf, lineOfIssues } from "./issues.ts";

const asked = z.object({
  prompt: z.string(),
  steps: z.int().max(50),
  scale: z.union([z.literal(2), z.literal(4)]),
  image: z.uuid(),
  size: z.union([z.string(), z.number()]),
  consent: z.literal(true, { error: "must be true: say that the person agrees" }),
  of: z.object({ seed: z.number() }),
});

const wrong = (value: unknown) => {
  const { error } = asked.safeParse(value);
  return error === undefined ? [] : issuesOf(error);
};

test("each wrong field is told as what to do, and a schema's own words stay", () => {
  const found = wrong({
    steps: "many",
    scale: 3,
    image: "x",
    size: null,
    consent: false,
    of: { seed: Number.NaN },
  });
  expect(Object.fromEntries(found.map(({ path, message }) => [path, message]))).toEqual({
    prompt: "is missing: expected string",
    steps: "must be number, not string",
    scale: "must be one of 2, 4",
    image: expect.stringMatching(/^must be an id: a UUID/),
    size: "Invalid input",
    consent: "must be true: say that the person agrees",
    "of.seed": "must be number, not NaN",
  });
});

test("a text of the caller is no reason to change the words, and all fields fit one line", () => {
  expect(
    wrong({
      prompt: "Invalid UUID",
      steps: 51,
      scale: 2,
      image: "01a22f47-600a-707a-a2d0-fb2807c8d56d",
      size: 1,
      consent: true,
      of: { seed: 1 },
    }),
  ).toEqual([{ path: "steps", message: "Too big: expected number to be <=50" }]);
  expect(
    lineOfIssues([
      { path: "", message: "is no object" },
      { path: "a.b", message: "is missing" },
    ]),
  ).toBe("is no object; a.b: is missing");
});
