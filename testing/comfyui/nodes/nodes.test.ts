import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isObject, objectOf } from "../options.ts";
import { historyOf, postGraph, upload } from "../recorded/client.ts";
import { plainPng } from "../recorded/recording.ts";
import { startComfySimulator, type ComfySimulator } from "../start-comfy-simulator.ts";

let simulator: ComfySimulator;

beforeAll(async () => {
  simulator = await startComfySimulator();
  await upload(simulator.url, { name: "red.png", bytes: await plainPng("#ff0000") });
  const half = sharp({ create: { width: 64, height: 48, channels: 4, background: "#00ff0080" } });
  await upload(simulator.url, { name: "half.png", bytes: await half.png().toBuffer() });
});

afterAll(() => simulator.close());

const red = ["red", 0];
const alpha = ["half", 1];
const size = { width: 32, height: 20 };
const lanczos = { upscale_method: "lanczos" };

/** Class, inputs, and what comes out: size and the colour of the first pixel. */
const cases: readonly (readonly [
  string,
  Record<string, unknown>,
  readonly [number, number],
  readonly number[],
])[] = [
  ["EmptyImage", { ...size, batch_size: 1, color: 0x102030 }, [32, 20], [16, 32, 48]],
  ["ImageScale", { image: red, ...lanczos, width: 32, height: 0, crop: "disabled" }, [32, 24], [255, 0, 0]],
  ["ImageScale", { image: red, ...lanczos, width: 20, height: 20, crop: "center" }, [20, 20], [255, 0, 0]],
  ["ImageScaleBy", { image: red, ...lanczos, scale_by: 2 }, [128, 96], [255, 0, 0]],
  [
    "ImageScaleToTotalPixels",
    { image: red, ...lanczos, megapixels: 0.01, resolution_steps: 8 },
    [120, 88],
    [255, 0, 0],
  ],
  ["FluxKontextImageScale", { image: red }, [1184, 880], [255, 0, 0]],
  ["ImageInvert", { image: red }, [64, 48], [0, 255, 255]],
  ["ImageBlur", { image: red, blur_radius: 5, sigma: 2 }, [64, 48], [255, 0, 0]],
  [
    "ImageBlend",
    { image1: red, image2: ["half", 0], blend_factor: 0.5, blend_mode: "normal" },
    [64, 48],
    [128, 128, 0],
  ],
  [
    "ImageStitch",
    {
      image1: red,
      image2: ["half", 0],
      direction: "down",
      match_image_size: true,
      spacing_width: 3,
      spacing_color: "blue",
    },
    [64, 100],
    [255, 0, 0],
  ],
  ["ImageCrop", { image: red, width: 10, height: 10, x: 60, y: 0 }, [4, 10], [255, 0, 0]],
  ["ImageRotate", { image: red, rotation: "90 degrees" }, [48, 64], [255, 0, 0]],
  [
    "ImagePadForOutpaint",
    { image: red, left: 8, top: 0, right: 0, bottom: 16, feathering: 4 },
    [72, 64],
    [127, 127, 127],
  ],
  [
    "ImageCompositeMasked",
    { destination: red, source: ["half", 0], x: 0, y: 0, resize_source: false },
    [64, 48],
    [0, 255, 0],
  ],
  [
    "ImageCompositeMasked",
    { destination: red, source: ["half", 0], x: 0, y: 0, resize_source: false, mask: alpha },
    [64, 48],
    [128, 127, 0],
  ],
  ["MaskToImage", { mask: alpha }, [64, 48], [127, 127, 127]],
  [
    "ResizeAndPadImage",
    { image: red, target_width: 64, target_height: 64, padding_color: "white", interpolation: "area" },
    [64, 64],
    [255, 255, 255],
  ],
  ["JoinImageWithAlpha", { image: red, alpha }, [64, 48], [255, 0, 0]],
  ["RepeatImageBatch", { image: red, amount: 2 }, [64, 48], [255, 0, 0]],
  ["ImageBatch", { image1: red, image2: ["half", 0] }, [64, 48], [255, 0, 0]],
];

const maskCases: readonly (readonly [string, Record<string, unknown>, number])[] = [
  ["SolidMask", { value: 0.5, ...size }, 128],
  ["InvertMask", { mask: alpha }, 128],
  ["ThresholdMask", { mask: alpha, value: 0.4 }, 255],
  ["GrowMask", { mask: alpha, expand: 3, tapered_corners: true }, 127],
  ["FeatherMask", { mask: alpha, left: 2, top: 0, right: 0, bottom: 0 }, 64],
  ["FeatherMask", { mask: alpha, left: 0, top: 0, right: 2, bottom: 0 }, 64],
  ["CropMask", { mask: alpha, x: 0, y: 0, width: 8, height: 8 }, 127],
  ["MaskComposite", { destination: alpha, source: alpha, x: 0, y: 0, operation: "add" }, 254],
  ["ImageToMask", { image: red, channel: "red" }, 255],
  ["ImageColorToMask", { image: red, color: 0xff0000 }, 255],
  ["LoadImageMask", { image: "half.png", channel: "green" }, 255],
  ["LoadImageMask", { image: "half.png", channel: "alpha" }, 127],
];

const loaders = {
  red: { class_type: "LoadImage", inputs: { image: "red.png" } },
  half: { class_type: "LoadImage", inputs: { image: "half.png" } },
};

/** Runs nodes and answers the first picture that they show. */
async function run(nodes: Record<string, unknown>) {
  const { promptId, heard } = await postGraph(simulator.url, { ...loaders, ...nodes });
  expect(heard).toMatchObject([200, { node_errors: {} }]);
  const { outputs, status } = await historyOf(simulator.url, promptId);
  const { images } = objectOf(objectOf(outputs).out);
  const [file] = Array.isArray(images) ? images.filter(isObject) : [];
  expect(status).toMatchObject({ status_str: "success" });
  const query = `filename=${String(file?.filename)}&type=temp`;
  const response = await fetch(`${simulator.url}/view?${query}`);
  const { data, info } = await sharp(await response.arrayBuffer())
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { size: [info.width, info.height], pixel: [...data.subarray(0, 3)] };
}

describe("nodes without models", () => {
  it.each(cases)("%s %j", async (name, inputs, ...wanted) => {
    const found = await run({
      node: { class_type: name, inputs },
      out: { class_type: "PreviewImage", inputs: { images: ["node", 0] } },
    });
    expect([found.size, found.pixel]).toEqual(wanted);
  });

  it.each(maskCases)("%s %j", async (name, inputs, value) => {
    const found = await run({
      node: { class_type: name, inputs },
      out: { class_type: "MaskPreview", inputs: { mask: ["node", 0] } },
    });
    expect(found.pixel).toEqual([value, value, value]);
  });

  it("a class that is not simulated says so instead of handing on nothing", async () => {
    const { promptId } = await postGraph(simulator.url, {
      ...loaders,
      node: { class_type: "ImageQuantize", inputs: { image: red, colors: 4, dither: "none" } },
      out: { class_type: "PreviewImage", inputs: { images: ["node", 0] } },
    });
    const { status } = await historyOf(simulator.url, promptId);
    expect(JSON.stringify(status)).toContain("ImageQuantize is not simulated");
  });
});
