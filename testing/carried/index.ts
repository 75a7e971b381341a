import { deflateSync } from "node:zlib";
import sharp from "sharp";
import { pngChunk, withJpegSegment } from "../pictures/index.ts";

const picture = () =>
  sharp({ create: { width: 16, height: 24, channels: 3, background: { r: 120, g: 90, b: 40 } } });

/** After the signature and the header. */
const pngTextsAt = 33;

async function withPngChunks(chunks: readonly Buffer[]): Promise<Buffer> {
  const png = await picture().png().toBuffer();
  return Buffer.concat([png.subarray(0, pngTextsAt), ...chunks, png.subarray(pngTextsAt)]);
}

/** A PNG with these texts, as most programs write them. */
export function pngWithTexts(texts: Readonly<Record<string, string>>): Promise<Buffer> {
  const chunks = Object.entries(texts).map(([name, text]) =>
    pngChunk("tEXt", Buffer.concat([Buffer.from(`${name}\0`, "latin1"), Buffer.from(text)])),
  );
  return withPngChunks(chunks);
}

/** A PNG with one text as `iTXt`, compressed or not. */
export function pngWithLongText(name: string, text: string, isCompressed: boolean): Promise<Buffer> {
  const head = Buffer.from(`${name}\0${isCompressed ? "\u0001" : "\0"}\0en\0\0`, "latin1");
  const bytes = Buffer.from(text);
  return withPngChunks([pngChunk("iTXt", Buffer.concat([head, isCompressed ? deflateSync(bytes) : bytes]))]);
}

/** A PNG with a `zTXt` of any bytes as its compressed part. */
export function pngWithPacked(name: string, packed: Buffer): Promise<Buffer> {
  return withPngChunks([pngChunk("zTXt", Buffer.concat([Buffer.from(`${name}\0\0`, "latin1"), packed]))]);
}

/**
 * How many times the processor time grows with four times the input, by the least of some runs each, taken in turns: about 4
 * where it is linear, 16 where it is quadratic. What costs less than a millisecond is no growth.
 */
export async function growthOf<Input>(
  size: number,
  make: (size: number) => Promise<Input> | Input,
  work: (input: Input) => unknown,
): Promise<number> {
  const costOf = async (input: Input) => {
    const before = process.cpuUsage();
    await work(input);
    // The sum is exact; how it is split into the two is an estimate, which jumps in short spans.
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  const [small, large] = [await make(size), await make(4 * size)];
  let [ofSmall, ofLarge] = [Infinity, Infinity];
  for (let run = 0; run < 8; run += 1) {
    ofSmall = Math.min(ofSmall, await costOf(small));
    ofLarge = Math.min(ofLarge, await costOf(large));
  }
  return ofLarge / Math.max(1_000, ofSmall);
}

type Order = "big" | "little";

type Texts = Readonly<Record<number, string>>;

/** Camera data with a comment in UTF-16, and texts of the first directory and of that below it by their tags. */
export function exifWith(
  comment: string | null,
  { texts = {}, inner = {}, order = "big" }: { texts?: Texts; inner?: Texts; order?: Order } = {},
): Buffer {
  const utf16 = Buffer.from(comment ?? "", "utf16le");
  const words = order === "big" ? utf16.swap16() : utf16;
  const valuesOf = (each: Texts) =>
    Object.entries(each).map(([tag, text]) => ({
      tag: Number(tag),
      type: 2,
      bytes: Buffer.from(`${text}\0`),
    }));
  const main = valuesOf(texts);
  const comments = { tag: 0x92_86, type: 7, bytes: Buffer.concat([Buffer.from("UNICODE\0"), words]) };
  const second = [...valuesOf(inner), comments];
  const values = [...main, ...second];
  // Header, first directory with one more entry for the second one, second directory, values.
  const below = 8 + 2 + 12 * (main.length + 1) + 4;
  let at = below + 2 + 12 * second.length + 4;
  const entry = ({ tag, type, bytes }: (typeof values)[number]) => {
    const start = at;
    at += bytes.length;
    return [u16(tag), u16(type), u32(bytes.length), u32(start)];
  };
  return Buffer.concat([
    Buffer.from("MM\0*"),
    u32(8),
    u16(main.length + 1),
    ...main.flatMap(entry),
    u16(0x87_69),
    u16(4),
    u32(1),
    u32(below),
    u32(0),
    u16(second.length),
    ...second.flatMap(entry),
    u32(0),
    ...values.map(({ bytes }) => bytes),
  ]);
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

const exifMarker = 0xe1;

export async function jpegWithExif(exif: Buffer): Promise<Buffer> {
  const jpeg = await picture().jpeg().toBuffer();
  return withJpegSegment(jpeg, exifMarker, Buffer.concat([Buffer.from("Exif\0\0"), exif]));
}

export async function webpWithExif(exif: Buffer): Promise<Buffer> {
  const webp = await picture().webp().toBuffer();
  const size = Buffer.alloc(4);
  size.writeUInt32LE(exif.length);
  const chunk = Buffer.concat([Buffer.from("EXIF"), size, exif, Buffer.alloc(exif.length % 2)]);
  const whole = Buffer.concat([webp, chunk]);
  whole.writeUInt32LE(whole.length - 8, 4);
  return whole;
}

/** Texts of a picture as the programs of this field write them, all of one picture. */
export const carriedExamples = {
  a1111: [
    "a red fox, <lora:fur_detail:0.8> in snow,",
    "soft light",
    "Negative prompt: blurry, text",
    'Steps: 28, Sampler: DPM++ 2M, Schedule type: Karras, CFG scale: 6.5, Seed: 123456, Size: 832x1216, Model hash: 31e35c80fc, Model: sd_xl_base_1.0, Clip skip: 2, Lora hashes: "fur_detail: 0a1b, b: 2c", Version: v1.10.1',
  ].join("\n"),
  invokeai: JSON.stringify({
    app_version: "6.8.0",
    generation_mode: "sdxl_txt2img",
    positive_prompt: "a red fox in snow",
    negative_prompt: "blurry, text",
    width: 832,
    height: 1216,
    seed: 123_456,
    cfg_scale: 6.5,
    steps: 28,
    scheduler: "dpmpp_2m",
    model: { key: "1", hash: "blake3:1", name: "stable-diffusion-xl-base-1-0", base: "sdxl", type: "main" },
    loras: [{ model: { key: "2", name: "fur_detail" }, weight: 0.8 }],
  }),
  swarmui: JSON.stringify({
    sui_image_params: {
      prompt: "a red fox in snow",
      negativeprompt: "blurry, text",
      model: "OfficialStableDiffusion/sd_xl_base_1.0",
      seed: 123_456,
      steps: 28,
      cfgscale: 6.5,
      width: 832,
      height: 1216,
      sampler: "dpmpp_2m",
      loras: ["fur_detail"],
      loraweights: ["0.8"],
      swarm_version: "0.9.7.1",
    },
    sui_extra_data: { date: "2026-01-01" },
  }),
  comfyui: JSON.stringify({
    "3": {
      class_type: "KSampler",
      inputs: {
        seed: ["12", 0],
        steps: 28,
        cfg: 6.5,
        sampler_name: "dpmpp_2m",
        scheduler: "karras",
        denoise: 1,
        model: ["10", 0],
        positive: ["6", 0],
        negative: ["7", 0],
        latent_image: ["5", 0],
      },
    },
    "4": { class_type: "CheckpointLoaderSimple", inputs: { ckpt_name: "SDXL\\sd_xl_base_1.0.safetensors" } },
    "5": { class_type: "EmptyLatentImage", inputs: { width: 832, height: 1216, batch_size: 1 } },
    "6": { class_type: "CLIPTextEncode", inputs: { text: ["11", 0], clip: ["10", 1] } },
    "7": { class_type: "CLIPTextEncode", inputs: { text: "blurry, text", clip: ["10", 1] } },
    "8": { class_type: "VAEDecode", inputs: { samples: ["3", 0], vae: ["4", 2] } },
    "9": { class_type: "SaveImage", inputs: { filename_prefix: "fox", images: ["8", 0] } },
    "10": {
      class_type: "LoraLoader",
      inputs: {
        lora_name: "fur_detail",
        strength_model: 0.8,
        strength_clip: 1,
        model: ["4", 0],
        clip: ["4", 1],
      },
    },
    "11": { class_type: "PrimitiveStringMultiline", inputs: { value: "a red fox in snow" } },
    "12": { class_type: "PrimitiveInt", inputs: { value: 123_456 } },
  }),
} as const;
