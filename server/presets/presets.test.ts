import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import {
  composePrompts,
  listPresets,
  previewPrompts,
  previewSchema,
  purgePresets,
  removePreset,
  restorePreset,
  savePreset,
  savePresetSchema,
} from "./index.ts";

let opened: TestServices;
let userId: string;
let adminId: string;

beforeAll(async () => {
  opened = await createTestServices({ config: { retention: { undoDeleteMs: 60_000 } } });
});
beforeEach(async () => {
  await opened.services.db.delete(schema.presets);
  userId = await addUser(opened.services);
  adminId = await addUser(opened.services);
});
afterAll(() => opened.close());

const save = (input: object, reader: { userId: string; isAdmin?: boolean } = { userId }) =>
  savePreset(opened.services, { ...savePresetSchema.parse(input), reader });
const admin = () => ({ userId: adminId, isAdmin: true });
const list = (name: string, ...lines: string[]) => ({ type: "list", name, content: { lines } });
const style = (name: string, prompt: string, negativePrompt = "") => ({
  type: "style",
  name,
  content: { prompt, negativePrompt },
});
const compose = (prompt: string, styles: string[] = [], negativePrompt?: string) =>
  composePrompts(opened.services, { userId, prompt, negativePrompt, template: { styles, seed: 3 } });
const own = async (reader: { userId: string } = { userId }) =>
  (await listPresets(opened.services, reader)).filter(({ from }) => from !== "shipped");

test("lists are one's own, else the studio's, else those that every studio has", async () => {
  expect((await compose("__season__")).prompt).toMatch(/^in /);
  await save({ ...list("season", "in the rainy season"), isStudio: true }, admin());
  expect((await compose("__season__")).prompt).toBe("in the rainy season");
  await save(list("Season", "in my season"));
  expect((await compose("__season__")).prompt).toBe("in my season");
  expect((await own()).map(({ name, from }) => [name, from])).toEqual([
    ["Season", "own"],
    ["season", "studio"],
  ]);
  expect((await own({ userId: adminId })).map(({ name }) => name)).toEqual(["season"]);
});

test("S2 all texts of one prompt are drawn within the same number of steps", async () => {
  // 7,500 parts without a letter: a text may have them, a prompt with three such styles not.
  const name = (at: number) => `p${at}`;
  for (const [at, count] of [25, 300].entries())
    await save(list(name(at), (at === 1 ? "{}" : `__${name(1)}__`).repeat(count)));
  for (const one of ["one", "two", "three"]) await save(style(one, `${one} {prompt} __${name(0)}__`));
  expect((await compose("a fox", ["one"])).prompt).toBe("one a fox");
  await expect(compose("a fox", ["one", "two", "three"])).rejects.toMatchObject({
    code: "template_invalid",
    message: expect.stringContaining("too long"),
  });
});

test("styles are put around the prompts, several from the inside outwards, and are kept as they were", async () => {
  await save(style("Ink", "ink drawing of {prompt}, {fine|fine} lines", "colour"));
  await save(style("Night", "at night"));
  const made = await compose("{a|a} fox", ["Ink", "night"], "dog");
  expect(made.prompt).toBe("ink drawing of a fox, fine lines, at night");
  expect(made.negativePrompt).toBe("dog, colour");
  expect(made.template).toEqual({
    prompt: "{a|a} fox",
    negativePrompt: "dog",
    drawn: { prompt: "a fox", negativePrompt: "dog" },
    seed: 3,
    styles: [
      { name: "Ink", prompt: "ink drawing of {prompt}, {fine|fine} lines", negativePrompt: "colour" },
      { name: "Night", prompt: "at night", negativePrompt: "" },
    ],
  });
  await expect(compose("a fox", ["Nothing"])).rejects.toMatchObject({ code: "template_invalid" });
  const plain = await compose("a fox");
  expect(plain).toMatchObject({ prompt: "a fox", template: { seed: null, styles: [] } });
});

test("what cannot be used is refused when it is saved", async () => {
  await expect(save(list("hats", "{cap|beret"))).rejects.toMatchObject({ code: "template_invalid" });
  await expect(save(list("my.hats!", "cap"))).rejects.toMatchObject({ code: "bad_request" });
  await expect(save(style("Two", "{prompt} and {prompt}"))).rejects.toMatchObject({
    code: "template_invalid",
  });
  await expect(save(style("Inside", "{a|{prompt}}"))).rejects.toMatchObject({ code: "template_invalid" });
  await expect(save({ ...list("hats", "cap"), isStudio: true })).rejects.toMatchObject({ code: "forbidden" });
  expect(savePresetSchema.safeParse(list("hats", " ")).success).toBe(false);
  expect(await own()).toEqual([]);
});

test("a name is given once, also by two saves at the same moment, and can be changed", async () => {
  const answers = await Promise.allSettled([1, 2, 3].map(() => save(style("Ink", "ink"))));
  expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  const [{ id } = { id: null }] = await own();
  await save({ ...style("Pen", "pen"), id });
  expect(await own()).toMatchObject([{ name: "Pen", content: { prompt: "pen", negativePrompt: "" } }]);
  await expect(save({ ...style("Stolen", "pen"), id }, { userId: adminId })).rejects.toMatchObject({
    code: "not_found",
  });
});

test("a removed preset comes back within its time, unless its name was given away", async () => {
  const { services } = opened;
  const reader = { userId };
  const { id } = await save({ type: "favourite", name: "Large", content: { prompt: "x", count: 4 } });
  const one = { reader, id: id ?? "" };
  await removePreset(services, one);
  expect(await own()).toEqual([]);
  await restorePreset(services, one);
  expect(await own()).toMatchObject([{ name: "Large", content: { prompt: "x", count: 4 } }]);
  await removePreset(services, one);
  await save({ type: "favourite", name: "large", content: {} });
  await expect(restorePreset(services, one)).rejects.toMatchObject({ code: "conflict" });
  await services.db
    .update(schema.presets)
    .set({ removedAt: sql`now() - interval '61 seconds'` })
    .where(eq(schema.presets.id, one.id));
  await expect(restorePreset(services, one)).rejects.toMatchObject({ code: "not_found" });
  expect(await purgePresets(services)).toBe(1);
});

test("a preview says what may be drawn, how much of it there is, and what is wrong", async () => {
  const preview = (input: object) =>
    previewPrompts(opened.services, { ...previewSchema.parse(input), userId });
  const { examples, texts, problem } = await preview({
    prompt: "{a|b} fox",
    template: { styles: ["Cinematic"] },
  });
  expect([texts, problem, examples.length]).toEqual([2, null, 2]);
  for (const { prompt } of examples) expect(prompt).toMatch(/^cinematic still of [ab] fox, dramatic/);
  expect(await preview({ prompt: "a {b" })).toMatchObject({ texts: 0, problem: { from: "{b" } });
  expect(await preview({ prompt: "a long prompt", negativePrompt: "no {b" })).toMatchObject({
    problem: { from: "{b" },
  });
  expect(await preview({ prompt: "__hat__" })).toMatchObject({
    problem: { message: expect.stringContaining("__hat__"), from: null },
  });
});
