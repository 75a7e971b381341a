import { expect, test } from "vitest";
import { type InputRole, inputRoles } from "../engines.ts";
import { parseConfig } from "../platform/index.ts";
import { fillTemplate, placeholdersOf } from "./mapping.ts";
import { modelsFor, modelsOf } from "./models.ts";

const models = modelsOf(parseConfig({}));
const offers = models.flatMap((model) =>
  model.offers.map((offer) => [`${model.id} at ${offer.provider}`, model, offer] as const),
);

test.each(offers)(
  "%s sends every picture that the model says it takes, and no other; beside a prompt alone, all or none",
  (_title, { kind, inputs }, { input }) => {
    const sent = placeholdersOf(input).filter((name) => inputRoles.some((role) => role === name));
    if (kind === "text_to_image" && sent.length === 0) return;
    expect(new Set(sent)).toEqual(new Set([...inputs.required, ...inputs.optional]));
  },
);

test("pictures beside a prompt go to the offers that send them, and to no other", () => {
  const idsFor = (roles: readonly InputRole[]) =>
    modelsFor(models, { kind: "text_to_image", roles: new Set(roles) });
  const [first, ...others] = idsFor(["reference", "reference2"]);
  expect([first?.id, ...others.map(({ id }) => id)]).toEqual(["nano-banana", "flux-2-pro"]);
  expect(first?.offers.map(({ provider }) => provider)).toEqual(["google", "replicate"]);
  expect(idsFor(["style"])).toEqual([]);
  expect(idsFor([])[0]?.offers).toHaveLength(3);
});

test.each([
  ["nano-banana-edit", ["image", "reference", "reference2", "reference3"]],
  ["qwen-image-edit", ["image", "reference", "reference2"]],
  ["nano-banana-tryon", ["person", "garment", "garment2"]],
] as const)("%s gets several pictures in the order of their roles", (id, roles) => {
  const [offer] = models.find((model) => model.id === id)?.offers ?? [];
  const picture = (role: InputRole) =>
    ({ bytes: new TextEncoder().encode(role), mime: "image/png" }) as const;
  const values = Object.fromEntries(roles.map((role) => [role, picture(role)]));
  const filled = Object.values(fillTemplate(offer?.input ?? {}, { ...values, prompt: "Warmer." }));
  const list = filled.find((value) => Array.isArray(value)) ?? [];
  expect(list.filter((item) => typeof item === "object")).toEqual(roles.map(picture));
});

test("a model takes as many pictures as it says, with the offers alone that send them all", () => {
  const idsFor = (kind: "edit" | "outfit_change", roles: readonly InputRole[]) =>
    modelsFor(models, { kind, roles: new Set(roles) }).map(({ id }) => id);
  expect(idsFor("outfit_change", ["person", "garment", "garment2"])).toEqual(["nano-banana-tryon"]);
  expect(idsFor("edit", ["image", "reference", "reference2"])).toContain("qwen-image-edit");
  expect(idsFor("edit", ["image", "reference", "reference2", "reference3"])).not.toContain("qwen-image-edit");
  const [edit] = models.filter(({ id }) => id === "nano-banana-edit");
  if (!edit) throw new Error("the model is gone");
  const narrow = {
    ...edit,
    offers: edit.offers.map((offer, at) => (at === 0 ? { ...offer, input: { parts: ["$image"] } } : offer)),
  };
  const [fitting] = modelsFor([narrow], { kind: "edit", roles: new Set<InputRole>(["image", "reference"]) });
  expect(fitting?.offers.map(({ provider }) => provider)).toEqual(
    edit.offers.slice(1).map(({ provider }) => provider),
  );
});
