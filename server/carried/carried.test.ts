import { deflateSync } from "node:zlib";
import {
  carriedExamples,
  exifWith,
  growthOf,
  jpegWithExif,
  pngWithLongText,
  pngWithPacked,
  pngWithTexts,
  webpWithExif,
} from "@atelier/testing/carried";
import { pngChunk, pngFile, pngHeader } from "@atelier/testing/pictures";
import { describe, expect, test } from "vitest";
import { findSettings } from "./settings.ts";
import { carriedLimits } from "./text-list.ts";
import { readCarriedTexts } from "./texts.ts";

const read = (bytes: Buffer) => readCarriedTexts(new Blob([new Uint8Array(bytes)]));
const settingsOf = async (bytes: Buffer) => findSettings(await read(bytes));

const fox = {
  prompt: "a red fox in snow",
  negativePrompt: "blurry, text",
  seed: 123_456,
  steps: 28,
  guidance: 6.5,
  widthPx: 832,
  heightPx: 1_216,
  loras: [{ name: "fur_detail", weight: 0.8 }],
};
const ofA1111 = {
  ...fox,
  source: "a1111",
  prompt: "a red fox, in snow,\nsoft light",
  model: "sd_xl_base_1.0",
  sampler: "dpmpp_2m",
  scheduler: "karras",
  others: ["Clip skip"],
};

describe("settings of the programs of this field", () => {
  test("A1111, in the texts of a PNG, compressed or not, and in the camera data of JPEG and WebP", async () => {
    const text = carriedExamples.a1111;
    const files = [
      pngWithTexts({ parameters: text }),
      pngWithLongText("parameters", text, false),
      pngWithLongText("parameters", text, true),
      pngWithPacked("parameters", deflateSync(text)),
      jpegWithExif(exifWith(text)),
      jpegWithExif(exifWith(text, { order: "little" })),
      webpWithExif(exifWith(text)),
    ];
    for (const file of files) expect(await settingsOf(await file)).toMatchObject(ofA1111);
  });

  test("A1111 in any script, with a quote that holds commas, without a negative prompt", async () => {
    const text =
      '赤い狐\nSteps: 20, Sampler: Euler, CFG scale: 1, Distilled CFG Scale: 3.5, Seed: 7, Size: 64x64, Model: "a, b", ADetailer prompt: "one, \\"two\\": 3", Hires upscale: 2';
    for (const file of [
      pngWithTexts({ parameters: text }),
      jpegWithExif(exifWith(text, { order: "little" })),
    ])
      expect(await settingsOf(await file)).toMatchObject({
        prompt: "赤い狐",
        negativePrompt: "",
        guidance: 3.5,
        model: "a, b",
        sampler: "euler",
        scheduler: null,
        others: ["ADetailer prompt", "Hires upscale"],
      });
  });

  test("InvokeAI", async () => {
    const found = await settingsOf(await pngWithTexts({ invokeai_metadata: carriedExamples.invokeai }));
    const model = "stable-diffusion-xl-base-1-0";
    expect(found).toMatchObject({ ...fox, source: "invokeai", model, sampler: "dpmpp_2m", others: [] });
  });

  test("InvokeAI 2: its record, and the line of its command", async () => {
    const image = {
      prompt: [{ prompt: "a red fox in snow [blurry, text]", weight: 1 }],
      steps: 28,
      cfg_scale: 6.5,
      seed: 123_456,
      width: 832,
      height: 1_216,
      sampler: "k_lms",
      variations: [],
    };
    const record = JSON.stringify({
      model_weights: "stable-diffusion-1.5",
      app_id: "invoke-ai/InvokeAI",
      image,
    });
    const command = '"a red fox in snow [blurry, text]" -s 28 -S 123456 -W 832 -H 1216 -C 6.5 -A k_lms';
    const { loras: _none, ...plain } = fox;
    const wanted = { ...plain, source: "invokeai", sampler: "lms", others: [], loras: [] };
    const whole = await settingsOf(await pngWithTexts({ Dream: command, "sd-metadata": record }));
    expect(whole).toMatchObject({ ...wanted, model: "stable-diffusion-1.5" });
    const text = JSON.stringify({ image: { ...image, prompt: "a red fox in snow [blurry, text]" } });
    expect(await settingsOf(await pngWithTexts({ "sd-metadata": text }))).toMatchObject({
      ...wanted,
      model: null,
    });
    expect(await settingsOf(await pngWithTexts({ Dream: command }))).toMatchObject({
      ...wanted,
      model: null,
    });
    for (const broken of [
      "",
      '"a fox"',
      '"a fox" -',
      "a fox -s 5",
      `"${" ".repeat(90_000)}[" -s 5`,
      `"${"[".repeat(9_000)}" -s 5`,
    ])
      expect((await settingsOf(await pngWithTexts({ Dream: broken })))?.negativePrompt ?? "").toBe("");
  });

  test("Fooocus by its own scheme, as a PNG and in camera data; by A1111's it is read as that", async () => {
    const record = {
      prompt: "a red fox in snow",
      negative_prompt: "blurry, text",
      styles: "['Fooocus V2', 'Fooocus Sharp']",
      performance: "Speed",
      steps: 28,
      resolution: "(832, 1216)",
      guidance_scale: 6.5,
      sharpness: 2,
      base_model: "juggernautXL_v8Rundiffusion",
      sampler: "dpmpp_2m_sde_gpu",
      scheduler: "karras",
      seed: "123456",
      loras: [
        ["fur_detail", 0.8, "a1b2c3"],
        ["None", 1, ""],
      ],
      metadata_scheme: "fooocus",
      version: "Fooocus v2.5.5",
    };
    const userComment = 0x92_86;
    const wanted = {
      ...fox,
      source: "fooocus",
      model: "juggernautXL_v8Rundiffusion",
      sampler: "dpmpp_2m_sde_gpu",
      scheduler: "karras",
      others: ["performance", "sharpness", "styles"],
    };
    const text = JSON.stringify(record);
    for (const file of [
      pngWithTexts({ parameters: text, fooocus_scheme: "fooocus" }),
      jpegWithExif(exifWith(text)),
      webpWithExif(exifWith(null, { texts: { [userComment]: text, [0x92_7c]: "fooocus" } })),
    ])
      expect(await settingsOf(await file)).toMatchObject(wanted);

    const { loras: _later, metadata_scheme: _scheme, ...early } = record;
    const older = JSON.stringify({
      ...early,
      lora_combined_1: "fur_detail : 0.8",
      lora_combined_2: "None : 1.0",
    });
    expect(await settingsOf(await pngWithTexts({ parameters: older }))).toMatchObject(wanted);
    const asA1111 = pngWithTexts({ parameters: carriedExamples.a1111, fooocus_scheme: "a1111" });
    expect(await settingsOf(await asA1111)).toMatchObject(ofA1111);
  });

  test("SwarmUI, also as a JPEG", async () => {
    const text = carriedExamples.swarmui;
    for (const file of [pngWithTexts({ parameters: text }), jpegWithExif(exifWith(text))])
      expect(await settingsOf(await file)).toMatchObject({
        ...fox,
        source: "swarmui",
        model: "OfficialStableDiffusion/sd_xl_base_1.0",
        sampler: "dpmpp_2m",
        scheduler: null,
        others: [],
      });
  });

  test("ComfyUI: the graph that ran, through links, also as a WebP", async () => {
    const text = carriedExamples.comfyui;
    const workflow = JSON.stringify({ nodes: [], links: [] });
    const make = 0x01_0f;
    const files = [
      pngWithTexts({ prompt: text.replace('"denoise":1', '"denoise":NaN'), workflow }),
      pngWithTexts({ prompt: text.replace('"denoise":1', '"is_changed":["NaN",-Infinity]'), workflow }),
      webpWithExif(
        exifWith(null, { texts: { [make]: `workflow:${workflow}`, [make + 1]: `prompt:${text}` } }),
      ),
    ];
    for (const file of files)
      expect(await settingsOf(await file)).toMatchObject({
        ...fox,
        source: "comfyui",
        model: "SDXL\\sd_xl_base_1.0.safetensors",
        sampler: "dpmpp_2m",
        scheduler: "karras",
        others: [],
      });
  });

  test("ComfyUI: a graph with a guider, whose guidance goes with the text, and an enlarging sampler after it", async () => {
    const prompt = JSON.stringify({
      1: { class_type: "RandomNoise", inputs: { noise_seed: 5 } },
      2: { class_type: "BasicGuider", inputs: { model: ["8", 0], conditioning: ["3", 0] } },
      3: { class_type: "FluxGuidance", inputs: { guidance: 3.5, conditioning: ["4", 0] } },
      4: { class_type: "CLIPTextEncode", inputs: { text: "a boat", clip: ["9", 0] } },
      5: {
        class_type: "BasicScheduler",
        inputs: { scheduler: "simple", steps: 20, denoise: 1, model: ["8", 0] },
      },
      6: { class_type: "EmptySD3LatentImage", inputs: { width: 768, height: 512, batch_size: 1 } },
      7: {
        class_type: "SamplerCustomAdvanced",
        inputs: {
          noise: ["1", 0],
          guider: ["2", 0],
          sampler: ["10", 0],
          sigmas: ["5", 0],
          latent_image: ["6", 0],
        },
      },
      8: { class_type: "UNETLoader", inputs: { unet_name: "flux1-dev.safetensors" } },
      9: { class_type: "DualCLIPLoader", inputs: { clip_name1: "a", type: "flux" } },
      10: { class_type: "KSamplerSelect", inputs: { sampler_name: "euler" } },
      11: { class_type: "LatentUpscaleBy", inputs: { samples: ["7", 0], scale_by: 2 } },
      12: {
        class_type: "KSampler",
        inputs: {
          seed: 99,
          steps: 8,
          cfg: 1,
          positive: ["4", 0],
          negative: ["13", 0],
          latent_image: ["11", 0],
          model: ["8", 0],
        },
      },
      13: { class_type: "ConditioningZeroOut", inputs: { conditioning: ["4", 0] } },
      14: { class_type: "SaveImage", inputs: { images: ["12", 0] } },
    });
    expect(await settingsOf(await pngWithTexts({ prompt }))).toMatchObject({
      prompt: "a boat",
      negativePrompt: "",
      seed: 5,
      steps: 20,
      guidance: 3.5,
      widthPx: 768,
      heightPx: 512,
      model: "flux1-dev.safetensors",
    });
  });

  test("ComfyUI: the drawing alone", async () => {
    const node = (
      id: number,
      type: string,
      widgets_values: unknown[],
      links: Record<string, number> = {},
    ) => ({
      id,
      type,
      widgets_values,
      inputs: Object.entries(links).map(([name, link]) => ({ name, link })),
    });
    const workflow = JSON.stringify({
      nodes: [
        node(1, "KSampler", [4, "randomize", 12, 5, "euler", "normal", 1], {
          positive: 1,
          negative: 2,
          latent_image: 3,
          model: 4,
        }),
        node(2, "CLIPTextEncode", ["a hill"]),
        node(3, "CLIPTextEncode", ["people"]),
        node(4, "EmptyLatentImage", [640, 480, 1]),
        node(5, "CheckpointLoaderSimple", ["v1-5.ckpt"]),
        node(6, "SaveImage", ["x"], { images: 5 }),
      ],
      links: [
        [1, 2, 0, 1, 0],
        [2, 3, 0, 1, 1],
        [3, 4, 0, 1, 2],
        [4, 5, 0, 1, 3],
        [5, 1, 0, 6, 0],
      ],
    });
    expect(await settingsOf(await pngWithTexts({ workflow }))).toMatchObject({
      prompt: "a hill",
      negativePrompt: "people",
      seed: 4,
      steps: 12,
      guidance: 5,
      widthPx: 640,
      model: "v1-5.ckpt",
    });
  });

  test("a picture without settings has none", async () => {
    expect(await settingsOf(await pngWithTexts({ Software: "GIMP", Comment: "Steps: many" }))).toBeNull();
    expect(await settingsOf(await jpegWithExif(exifWith("on the beach")))).toBeNull();
    expect(await settingsOf(Buffer.from("GIF89a"))).toBeNull();
    expect(await settingsOf(Buffer.alloc(0))).toBeNull();
  });
});

describe("files that are made to harm", () => {
  test("a large file of another format, or one that is too large, is not read into memory", async () => {
    const png = new Uint8Array(await pngWithTexts({ parameters: carriedExamples.a1111 }));
    const others = [
      new Blob([new Uint8Array(80 * 1_024 ** 2)]),
      new Blob([png, new Uint8Array(carriedLimits.fileBytes)]),
    ];
    for (const file of others) {
      file.arrayBuffer = () => Promise.reject(new Error("the whole file was read"));
      expect(await readCarriedTexts(file)).toEqual([]);
    }
  });

  test("a text that inflates without end is left out, and costs little", async () => {
    const bomb = deflateSync(Buffer.alloc(100 * 1_024 ** 2));
    const before = process.memoryUsage().arrayBuffers;
    expect(await read(await pngWithPacked("parameters", bomb))).toEqual([]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1_024 ** 2);
    expect(await read(await pngWithPacked("parameters", Buffer.from("no deflate")))).toEqual([]);
  });

  test("too large a text, too many texts and too many bytes are left out", async () => {
    const large = "x".repeat(carriedLimits.textBytes + 1);
    expect(await read(await pngWithTexts({ large, small: "y" }))).toEqual([{ name: "small", text: "y" }]);
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`n${at}`, "z"]));
    expect(await read(await pngWithTexts(many))).toHaveLength(carriedLimits.texts);
    const heavy = Object.fromEntries(
      Array.from({ length: 9 }, (_, at) => [`n${at}`, "z".repeat(1_024 ** 2)]),
    );
    expect(await read(await pngWithTexts(heavy))).toHaveLength(8);
  });

  test("a file that is cut or changed at any place gives texts or none, and never fails", async () => {
    const text = carriedExamples.a1111;
    const files = [
      await pngWithTexts({ parameters: text }),
      await jpegWithExif(exifWith(text)),
      await webpWithExif(exifWith(text, { texts: { 270: "words" } })),
    ];
    for (const file of files)
      for (let at = 0; at < Math.min(file.length - 4, 1_500); at += 7) {
        const texts = await read(file.subarray(0, at));
        expect(texts.length).toBeLessThanOrEqual(2);
        findSettings(texts);
        const changed = Buffer.from(file);
        changed.fill(0xff, at, at + 4);
        findSettings(await read(changed));
      }
  });

  test("JSON that is deep, goes round or takes names of the language gives settings or none", async () => {
    const texts = [
      `{"a":`.repeat(100_000),
      `${"[".repeat(200_000)}${"]".repeat(200_000)}`,
      JSON.stringify({
        a: { class_type: "KSampler", inputs: { latent_image: ["a", 0], positive: ["a", 0], seed: ["a", 0] } },
      }),
      '{"__proto__":{"class_type":"KSampler","inputs":{"latent_image":["constructor",0],"positive":["__proto__",0]}}}',
      '{"nodes":[{"type":"constructor"},{"type":"__proto__","id":null}],"links":[null,[],[{}]]}',
      '{"sui_image_params":{"prompt":7,"loras":{"a":1},"seed":-1,"steps":"many"}}',
      '{"positive_prompt":{},"model":[],"loras":[null,{},"x"],"seed":1e400}',
    ];
    for (const text of texts)
      for (const name of ["prompt", "workflow", "parameters", "invokeai_metadata", "atelier"])
        expect(findSettings([{ name, text }])?.prompt ?? "").toBe("");
    expect(Object.prototype).not.toHaveProperty("class_type");
  });

  test("entries that point at the same words of a press photo cost what one does", async () => {
    const keyword = Buffer.from([0x1c, 2, 25, 0, 1, 0x61]);
    const words = Buffer.concat(Array.from({ length: 10_000 }, () => keyword));
    expect(await growthOf(128, (count) => tiffOfEntries(count, words), read)).toBeLessThan(2);
    const [found] = await read(tiffOfEntries(2, words));
    expect(found).toEqual({ name: "iptc 25", text: "a\n".repeat(10_000) });
  });

  test("thousands of compressed texts without words are not all inflated", async () => {
    const text = (packed: Buffer) => pngChunk("zTXt", Buffer.concat([Buffer.from("a\0\0"), packed]));
    const after = text(deflateSync("words"));
    for (const packed of [deflateSync(""), Buffer.from("x")]) {
      const vain = Array.from({ length: carriedLimits.texts }, () => text(packed));
      expect(await read(pngFile(pngHeader(1, 1), ...vain.slice(1), after))).toHaveLength(1);
      expect(await read(pngFile(pngHeader(1, 1), ...vain, after))).toEqual([]);
    }
  });

  test("a file has one block of camera data", async () => {
    const exif = (text: string) => pngChunk("eXIf", exifWith(text));
    const png = pngFile(pngHeader(1, 1), exif("first"), exif("second"));
    expect(await read(png)).toEqual([{ name: "comment", text: "first" }]);
  });

  test.each([
    ["a: ", '"'],
    ['a: "', ""],
    ["a", ': "'],
    ['a: "\\"', '"'],
    ["a b-", ""],
  ])("a settings line of %j over and over is read once", async (part, end) => {
    const make = (count: number) => `Steps: 1, Seed: ${part.repeat(count / part.length)}${end}`;
    const work = (text: string) => {
      for (let run = 0; run < 10; run += 1) findSettings([{ name: "parameters", text }]);
    };
    expect(await growthOf(1_900, make, work)).toBeLessThan(8);
  });

  test("texts that make patterns slow take less than a second each", () => {
    const size = 1_024 ** 2;
    const slow = [
      `Steps: 1, Seed: ${'a: "'.repeat(size / 4)}`,
      `Steps: 1, Seed: ${"a: ".repeat(size / 3)}"`,
      "<lora:".repeat(size / 6),
      `<lora:${"a".repeat(size)}`,
      "Negative prompt:\n".repeat(size / 17),
      JSON.stringify({ sui_image_params: { prompt: `<lora:${"a:1".repeat(size / 3)}` } }),
      graphOf(5_000),
    ];
    for (const text of slow) {
      // Of processor time: what else the machine does is no fault of a pattern.
      const start = process.cpuUsage();
      findSettings([{ name: "prompt", text }]);
      const { user, system } = process.cpuUsage(start);
      expect((user + system) / 1_000).toBeLessThan(1_000);
    }
  });
});

/** Every node is a sampler that takes all from the next ones. */
function graphOf(count: number): string {
  const next = (at: number, by: number) => [String((at + by) % count), 0];
  return JSON.stringify(
    Object.fromEntries(
      Array.from({ length: count }, (_, at) => [
        at,
        {
          class_type: at % 2 ? "SaveImage" : "KSampler",
          inputs: {
            latent_image: next(at, 1),
            seed: next(at, 2),
            width: next(at, 3),
            height: next(at, 5),
            positive: next(at, 7),
          },
        },
      ]),
    ),
  );
}

/** A TIFF whose entries of a press photo all point at the same words. */
function tiffOfEntries(count: number, words: Buffer): Buffer {
  const head = Buffer.alloc(10 + 12 * count);
  head.write("MM\0*", "latin1");
  head.writeUInt32BE(8, 4);
  head.writeUInt16BE(count, 8);
  for (let at = 10; at < head.length; at += 12) {
    head.writeUInt16BE(0x83_bb, at);
    head.writeUInt16BE(7, at + 2);
    head.writeUInt32BE(words.length, at + 4);
    head.writeUInt32BE(head.length, at + 8);
  }
  return Buffer.concat([head, words]);
}
