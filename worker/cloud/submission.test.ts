import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { modelsOf, clientOf, lacksOf, lackOf, type CloudModel } from "@atelier/server/providers";
import { parseConfig } from "@atelier/server/platform";
import { startProvider } from "@atelier/testing/providers";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CloudInputs, submissionFor, toMask, toPicture, valuesOf } from "./submission.ts";
import { otherShapeOf } from "./sizes.ts";

const models = modelsOf(parseConfig({}));
const offers = models.flatMap((model) => model.offers.map((offer) => ({ model, offer })));

/** Every setting that a page, the API or a bot offers, with values of each kind. */
const settings: readonly Readonly<Record<string, unknown>>[] = [
  { category: "auto" },
  { category: "top" },
  { category: "bottom" },
  { category: "dress" },
  { negativePrompt: "no rain" },
  { seed: 7 },
  { seed: 5_000_000_000 },
  { steps: 12 },
  { guidance: 3.5 },
  { strength: 0.42 },
  { scale: 4 },
  { width: 1_024, height: 1_536 },
  { width: 1_536, height: 1_024 },
  { width: 2_048, height: 512 },
  { width: 1_920 },
];

let pixel: Buffer;
beforeAll(async () => {
  pixel = await sharp({ create: { width: 8, height: 8, channels: 3, background: "red" } })
    .png()
    .toBuffer();
});

/** What arrives at the provider for a request with these settings. */
async function arrived({ model, offer }: (typeof offers)[number], params: Readonly<Record<string, unknown>>) {
  const { simulator, access } = await startProvider(offer.provider);
  try {
    const job = { kind: model.kind, params: { prompt: "a red door", ...params } };
    const roles = [...model.inputs.required, ...model.inputs.optional];
    const pictures = roles.map((role) => [role, { bytes: pixel, mime: "image/png" as const }]);
    const inputs: CloudInputs = {
      files: {},
      values: { ...valuesOf(job), ...Object.fromEntries(pictures) },
      shape: null,
    };
    const beforePaid = () => Promise.resolve();
    const submission = submissionFor({ id: "one" }, offer, { job, inputs, webhookUrl: null, beforePaid });
    simulator.runMs = 1;
    await clientOf(offer.provider).submit(access, submission, AbortSignal.timeout(120_000));
    return (simulator.submits[0]?.raw ?? Buffer.alloc(0))
      .toString("latin1")
      .replaceAll(/formdata-[\w-]+|127\.0\.0\.1:\d+/g, "…");
  } finally {
    await simulator.close();
  }
}

/** CatVTON has one value for a dress and for a whole outfit. */
const sameAsUsual: readonly string[] = ["cat-vton dress"];

/** The defaults of requests, which change nothing by themselves. */
const plain = (model: CloudModel) => (model.kind === "upscale" ? { scale: 2 } : {});

type One = (typeof offers)[number];

/** What became of a setting: `vanished` is what must never be. */
async function outcomeOf(one: One, setting: Readonly<Record<string, unknown>>, without: string) {
  const { model, offer } = one;
  if (lacksOf(offer, setting).length > 0) {
    const isOfOther = model.offers.some((other) => lacksOf(other, setting).length === 0);
    const sentence = lackOf(model, setting) ?? "";
    if (isOfOther) return sentence === "" ? "goes to another provider" : "vanished";
    return /^The model ".+" (takes no|needs one of)/.test(sentence) ? "refused with a sentence" : "vanished";
  }
  const seen = await arrived(one, { ...plain(model), ...setting });
  const isUsual =
    setting["category"] === "auto" || sameAsUsual.includes(`${model.id} ${String(setting["category"])}`);
  return (seen === without) === isUsual ? "arrived" : "vanished";
}

describe.each(offers.map((one) => [`${one.model.id} at ${one.offer.provider}`, one] as const))(
  "A request for %s",
  (_, one) => {
    it("takes each setting to the provider, or is not offered with it", async () => {
      const without = await arrived(one, plain(one.model));
      const outcomes = await Promise.all(
        settings.map(async (setting) => [setting, await outcomeOf(one, setting, without)] as const),
      );
      expect(outcomes.filter(([, outcome]) => outcome === "vanished")).toEqual([]);
    });
  },
);

const bodyOf = async (id: string, provider: string, params: Readonly<Record<string, unknown>>) => {
  const one = offers.find(({ model, offer }) => model.id === id && offer.provider === provider);
  if (!one) throw new Error(`no ${id} at ${provider}`);
  return arrived(one, params);
};

it.each([
  ["fashn-tryon", "fashn", { category: "bottom" }, '"category":"bottoms"'],
  ["fashn-tryon", "fal", { category: "dress" }, '"category":"one-pieces"'],
  ["fashn-tryon", "fal", {}, '"category":"auto"'],
  ["leffa-tryon", "fal", { category: "bottom" }, '"garment_type":"lower_body"'],
  ["leffa-tryon", "fal", { category: "dress" }, '"garment_type":"dresses"'],
  ["cat-vton", "fal", { category: "bottom" }, '"cloth_type":"lower"'],
  ["cat-vton", "fal", { category: "top" }, '"cloth_type":"upper"'],
  ["idm-vton", "replicate", { category: "dress" }, '"category":"dresses"'],
  ["nano-banana-tryon", "google", { category: "bottom" }, "in the trousers or skirt of the second"],
  ["nano-banana", "google", { width: 1_024, height: 1_536 }, '"aspectRatio":"2:3"'],
  ["flux-2-pro", "fal", { width: 1_024, height: 1_536 }, '"image_size":{"width":1024,"height":1536}'],
  ["flux-2-pro", "replicate", { width: 2_048, height: 512 }, '"aspect_ratio":"16:9"'],
  ["z-image-turbo", "kie", { width: 1_024, height: 1_536 }, '"aspect_ratio":"3:4"'],
  ["z-image-turbo", "fal", { width: 4_096, height: 4_096 }, '"image_size":{"width":2048,"height":2048}'],
  ["z-image-turbo", "fal", { seed: 5_000_000_000 }, '"seed":705032704'],
  ["gpt-image", "openai", { width: 1_536, height: 1_024 }, '"size":"1536x1024"'],
  ["nano-banana-edit", "kie", {}, '"image_size":"auto"'],
  ["nano-banana-edit", "kie", { width: 1_600, height: 900 }, '"image_size":"16:9"'],
  ["flux-fill", "fal", { strength: 0.42 }, '"strength":0.42'],
  ["real-esrgan", "replicate", { scale: 4 }, '"scale":4'],
])("%s at %s gets %j as %s", async (id, provider, params, text) => {
  expect(await bodyOf(id, provider, params)).toContain(text);
});

it("a setting that no provider of a model takes is named, with what it needs instead", () => {
  const sentence = (id: string, params: object) =>
    lackOf(models.find((model) => model.id === id) ?? ({} as CloudModel), { ...params });
  expect(sentence("kolors-tryon", { category: "bottom" })).toBe(
    'The model "Kolors try-on" takes no category: it finds out by itself. Change that, or choose another model.',
  );
  expect(sentence("leffa-tryon", { category: "auto" })).toBe(
    'The model "Leffa try-on" needs one of the categories top, bottom, dress. Change that, or choose another model.',
  );
  expect(sentence("nano-banana", { seed: 1, steps: 2 })).toContain("takes no seed and takes no steps");
  expect(sentence("z-image-turbo", { seed: 1 })).toBeNull();
});

it.each([
  [{ width: 1_024, height: 1_536 }, [832, 1_248], null],
  [{ width: 1_024, height: 1_536 }, [1_024, 1_024], { asked: "1024 × 1536", made: "1024 × 1024" }],
  [{ width: 513, height: 512 }, [1_024, 1_024], null],
  [{ width: 3_000, height: 1_000 }, [1_536, 658], { asked: "3000 × 1000", made: "1536 × 658" }],
  [{}, [1_024, 512], null],
] as const)("a result of another shape than %j is noticed: %j", (params, [widthPx, heightPx], other) => {
  expect(otherShapeOf({ params }, [{ widthPx, heightPx }])).toEqual(other);
});

describe("A picture with a mask", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "atelier-mask-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it.each([
    [4_800, 1_000],
    [1_000, 4_999],
    [4_097, 4_097],
    [800, 600],
    [4_096, 17],
  ])("of %i × %i pixels is sent in one size with it", async (width, height) => {
    const file = (name: string) => path.join(folder, `${name}-${width}-${height}`);
    const create = { width, height, channels: 3, background: "#8899aa" } as const;
    await writeFile(file("image"), await sharp({ create }).jpeg().toBuffer());
    await writeFile(
      file("mask"),
      await sharp({ create: { ...create, background: "#fff" } })
        .png()
        .toBuffer(),
    );
    const sent = [await toPicture(file("image")), await toMask(file("mask"), { width, height })];
    const sizes = await Promise.all(sent.map(({ bytes }) => sharp(bytes).metadata()));
    const [picture, mask] = sizes.map((size) => [size.width, size.height]);
    expect(mask).toEqual(picture);
    expect(Math.max(...(picture ?? []))).toBe(Math.min(4_096, Math.max(width, height)));
    // What needs no scaling goes as it is.
    const isWhole = Math.max(width, height) <= 4_096;
    expect(Buffer.from(sent[0]?.bytes ?? []).equals(await readFile(file("image")))).toBe(isWhole);
  });
});
