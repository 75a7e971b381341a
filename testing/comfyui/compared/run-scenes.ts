import type { JsonObject } from "../options.ts";

type Graph = Record<string, { class_type: string; inputs?: JsonObject }>;

/** Prompts that are posted one after the other, by one client or by nobody. */
export interface RunScene {
  readonly title: string;
  readonly prompts: readonly { graph: unknown; more?: JsonObject }[];
}

const node = (class_type: string, inputs: JsonObject) => ({ class_type, inputs });
const empty = (color: number, batch = 1) =>
  node("EmptyImage", { width: 32, height: 24, batch_size: batch, color });
const blur = (from: string, sigma = 1) => node("ImageBlur", { image: [from, 0], blur_radius: 1, sigma });
const preview = (from: string) => node("PreviewImage", { images: [from, 0] });
const load = (image: unknown) => node("LoadImage", { image });

const sender = (color: number): Graph => ({
  "1": empty(color, 2),
  s: node("SaveImageWebsocket", { images: ["1", 0] }),
});
const texts = (color: number): Graph => ({
  "1": empty(color),
  "2": node("GetImageSize", { image: ["1", 0] }),
  "3": node("PreviewAny", { source: ["2", 1] }),
});

/** Nodes in an unhandy order, so that it shows which of those that are ready comes first. */
const branches: Graph = {
  "9": preview("8"),
  "8": node("ImageBatch", { image1: ["5", 0], image2: ["7", 0] }),
  "7": blur("6"),
  "6": blur("1", 2),
  "5": blur("4", 3),
  "4": blur("3", 4),
  "3": blur("2", 5),
  "2": empty(501),
  "1": empty(502),
};

const inpaint: Graph = {
  "1": empty(601),
  "2": node("SolidMask", { value: 1, width: 32, height: 24 }),
  "3": blur("1"),
  "4": node("ImageInvert", { image: ["3", 0] }),
  "5": node("ImageCompositeMasked", {
    destination: ["1", 0],
    source: ["4", 0],
    mask: ["7", 0],
    x: 0,
    y: 0,
    resize_source: false,
  }),
  "6": preview("5"),
  "7": node("GrowMask", { mask: ["2", 0], expand: 1, tapered_corners: true }),
};

const badSave = (prefix: string): Graph => ({
  "1": empty(7),
  "2": node("SaveImage", { images: ["1", 0], filename_prefix: prefix }),
});

const masks: Graph = {
  "1": node("SolidMask", { value: 0.5, width: 32, height: 24 }),
  "2": node("MaskPreview", { mask: ["1", 0] }),
};

const shallow: Graph = { ...branches, "10": node("ImageInvert", { image: ["2", 0] }) };

/** Runs that end the same way whenever they are repeated on a fresh server. */
export const runScenes: readonly RunScene[] = [
  { title: "branches", prompts: [{ graph: branches }] },
  { title: "inpaint", prompts: [{ graph: inpaint }] },
  { title: "a node that leads nowhere", prompts: [{ graph: shallow }] },
  { title: "texts", prompts: [{ graph: texts(801) }] },
  { title: "mask preview", prompts: [{ graph: masks }] },
  { title: "sent twice", prompts: [{ graph: sender(901) }, { graph: sender(901) }] },
  { title: "for nobody", prompts: [{ graph: { ...sender(902), ...texts(902) }, more: { client_id: null } }] },
  {
    title: "for somebody else",
    prompts: [{ graph: { ...sender(903), ...texts(903) }, more: { client_id: "else" } }],
  },
  {
    title: "a part of the outputs",
    prompts: [
      { graph: { "1": empty(1001), "2": blur("1"), "3": preview("2") } },
      {
        graph: { "1": empty(1001), "2": blur("1"), "3": blur("2"), "4": preview("3"), "5": preview("1") },
        more: { partial_execution_targets: ["5"] },
      },
    ],
  },
  { title: "outside of the outputs", prompts: [{ graph: badSave("../../x/out") }] },
  { title: "no prefix", prompts: [{ graph: badSave("") }] },
  { title: "a folder as picture", prompts: [{ graph: { "1": load(""), "2": preview("1") } }] },
  { title: "no id", prompts: [{ graph: texts(1101), more: { prompt_id: null } }] },
];

/** Graphs that are refused, or taken in part. */
export const refusedGraphs: readonly (readonly [title: string, graph: unknown])[] = [
  ["no inputs", { "1": { class_type: "EmptyImage" }, "2": preview("1") }],
  [
    "number as text",
    {
      "1": empty(1),
      "2": node("ImageBlur", { image: ["1", 0], blur_radius: "99", sigma: 1 }),
      "3": preview("2"),
    },
  ],
  [
    "number with a fraction",
    {
      "1": empty(1),
      "2": node("ImageBlur", { image: ["1", 0], blur_radius: 99.7, sigma: 1 }),
      "3": preview("2"),
    },
  ],
  ["number beyond", { "1": empty(1), "2": blur("1", 101), "3": preview("2") }],
  [
    "null",
    {
      "1": empty(1),
      "2": node("ImageBlur", { image: ["1", 0], blur_radius: null, sigma: 1 }),
      "3": preview("2"),
    },
  ],
  [
    "object",
    {
      "1": empty(1),
      "2": node("ImageBlur", { image: ["1", 0], blur_radius: { a: 1 }, sigma: 1 }),
      "3": preview("2"),
    },
  ],
  [
    "choice that is null",
    {
      "1": empty(1),
      "2": node("ImageScaleBy", { image: ["1", 0], upscale_method: null, scale_by: 2 }),
      "3": preview("2"),
    },
  ],
  ["link to a number", { "1": empty(1), "2": preview("1"), "3": node("PreviewImage", { images: [1, 0] }) }],
  [
    "link slot as text",
    { "1": empty(1), "2": node("ImageInvert", { image: ["1", "0"] }), "3": preview("2") },
  ],
  ["link slot too high", { "1": empty(1), "2": node("ImageInvert", { image: ["1", 7] }), "3": preview("2") }],
  ["picture that is a number", { "1": load(5), "2": preview("1") }],
  ["picture that is null", { "1": load(null), "2": preview("1") }],
  ["picture that is a list", { "1": load(["a", "b", "c"]), "2": preview("1") }],
  ["output without prefix", { "1": empty(1), "2": node("SaveImage", { images: ["1", 0] }) }],
  ["output of a mask", { "1": load("a.png"), "2": node("PreviewImage", { images: ["1", 1] }) }],
];
