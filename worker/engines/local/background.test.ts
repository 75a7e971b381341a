import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { z } from "zod";
import { forCasesInTurn, inAll } from "@atelier/testing/cases";
import { createBench, sample, type BenchRun } from "./fixtures/run-bench.ts";
import { emptyScene, overlap, subjectScene } from "./fixtures/subject-scenes.ts";

let bench: Awaited<ReturnType<typeof createBench>>;
/** The astronaut, cut out. */
let run: BenchRun;
beforeAll(async () => {
  bench = await createBench();
  run = await bench.run("remove_background", { image: sample("astronaut.png") });
});
afterAll(() => bench.close());

describe("remove_background", () => {
  it("D1: cuts the astronaut out: the person is whole, the ground is clear, the edge is soft", async () => {
    const { data, info } = await sharp(run.output.path).raw().toBuffer({ resolveWithObject: true });
    expect(info).toMatchObject({ width: 512, height: 512, channels: 4 });
    const alphaAt = (x: number, y: number) => data[(y * 512 + x) * 4 + 3];
    // Face, both eyes, both shoulders, chest, upper arms.
    const person = [
      [225, 130],
      [203, 101],
      [247, 103],
      [120, 240],
      [320, 250],
      [220, 340],
      [80, 330],
      [330, 290],
    ] as const;
    expect(person.map(([x, y]) => alphaAt(x, y))).toEqual(person.map(() => 255));
    const ground = [
      [5, 5],
      [506, 5],
      [60, 100],
      [420, 150],
      [470, 240],
      [120, 60],
    ] as const;
    expect(ground.map(([x, y]) => alphaAt(x, y))).toEqual(ground.map(() => 0));
    const soft = Array.from({ length: 512 * 512 }, (_, i) => Number(data[i * 4 + 3])).filter(
      (a) => a > 0 && a < 255,
    );
    expect(soft.length).toBeGreaterThan(500);
    expect(soft.length).toBeLessThan(0.06 * 512 * 512);
    expect(run.output.facts).toMatchObject({ boneAgreement: 1 });
    expect(Number(run.output.facts?.["matteShare"])).toBeGreaterThan(0.45);
    expect(Number(run.output.facts?.["matteShare"])).toBeLessThan(0.62);
  });

  it("leaves the colours of opaque pixels as they were", async () => {
    const before = await sharp(sample("astronaut.png")).raw().toBuffer();
    const after = await sharp(run.output.path).raw().toBuffer();
    let changed = 0;
    for (let i = 0; i < 512 * 512; i++) {
      if (
        after[i * 4 + 3] === 255 &&
        !after.subarray(i * 4, i * 4 + 3).equals(before.subarray(i * 3, i * 3 + 3))
      )
        changed++;
    }
    expect(changed).toBe(0);
  });

  it("reports its stages in order and shows the matte on the way", () => {
    expect([...new Set(run.stages)]).toEqual(["reading", "pose", "edge", "writing"]);
    expect(run.previews.length).toBe(1);
  });

  it("keeps no colour of what it cut away, and says where the subject is", async () => {
    const { data } = await sharp(run.output.path).raw().toBuffer({ resolveWithObject: true });
    const hidden = new Set<string>();
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] === 0) hidden.add(`${data[i]} ${data[i + 1]} ${data[i + 2]}`);
    }
    expect([...hidden]).toEqual(["255 255 255"]);
    const { found, bounds } = z
      .object({ found: z.string(), bounds: z.record(z.string(), z.number()) })
      .parse(run.output.facts);
    expect(found).toBe("person");
    expect(bounds["left"]).toBeLessThan(0.1);
    expect(bounds["bottom"]).toBe(1);
  });

  it("the cat is cut out: what stands out needs no person", async () => {
    const { output } = await bench.run("remove_background", { image: sample("chelsea.png") });
    const { data, info } = await sharp(output.path).raw().toBuffer({ resolveWithObject: true });
    const alphaAt = (x: number, y: number) => data[(y * info.width + x) * 4 + 3];
    expect(output.facts).toMatchObject({ found: "object" });
    // Eyes, nose, forehead; the wall behind the ear.
    expect([alphaAt(170, 118), alphaAt(318, 136), alphaAt(262, 240), alphaAt(230, 40)]).toEqual([
      255, 255, 255, 255,
    ]);
    expect(alphaAt(445, 60)).toBe(0);
  });

  it("a garment that somebody wears is refused: it cannot be had whole", async () => {
    const image = sample("astronaut.png");
    const refused = bench.run("remove_background", { image }, { params: { subject: "garment" } });
    await expect(refused).rejects.toMatchObject({
      code: "garment_unsuitable",
      details: { gate: "garment_worn" },
    });
  });
});

describe("another background", () => {
  let transparent: Pixels;
  beforeAll(async () => {
    transparent = await readPixels(run.output.path);
  });

  interface Pixels {
    readonly data: Buffer;
    readonly width: number;
    readonly height: number;
    readonly channels: number;
  }
  async function readPixels(file: string): Promise<Pixels> {
    const { data, info } = await sharp(file).raw().toBuffer({ resolveWithObject: true });
    return { data, width: info.width, height: info.height, channels: info.channels };
  }
  const at = ({ data, width, channels }: Pixels, x: number, y: number) => [
    ...data.subarray((y * width + x) * channels, (y * width + x) * channels + channels),
  ];
  async function setGround(
    params: Record<string, unknown>,
    files: { image?: string; background?: string } = {},
  ) {
    const { output, stages } = await bench.run(
      "remove_background",
      { image: sample("astronaut.png"), ...files },
      { params },
    );
    return { made: await readPixels(output.path), stages };
  }
  /** Two halves, the left one red and the right one blue. */
  async function drawHalves(size: { width: number; height: number }, alpha = 255): Promise<string> {
    const data = Buffer.alloc(size.width * size.height * 4);
    for (let pixel = 0; pixel < size.width * size.height; pixel += 1) {
      const isLeft = pixel % size.width < size.width / 2;
      data.set(isLeft ? [220, 20, 20, alpha] : [20, 20, 220, 255], pixel * 4);
    }
    const file = path.join(bench.dir, `halves-${size.width}-${size.height}-${alpha}.png`);
    await sharp(data, { raw: { ...size, channels: 4 } })
      .png()
      .toFile(file);
    return file;
  }

  it("D1 a colour is behind every pixel of the cut-out and nowhere else", async () => {
    const { made, stages } = await setGround({ colour: "#3a7D44" });
    expect(made).toMatchObject({ width: 512, height: 512, channels: 3 });
    expect([...new Set(stages)]).toEqual(["reading", "pose", "edge", "compose", "writing"]);
    const colour = [0x3a, 0x7d, 0x44];
    const before = await readPixels(sample("astronaut.png"));
    let [farthest, kept, soft] = [0, 0, 0];
    for (let pixel = 0; pixel < 512 * 512; pixel += 1) {
      const alpha = transparent.data[pixel * 4 + 3] ?? 0;
      if (alpha === 255) kept += 1;
      else if (alpha > 0) soft += 1;
      for (const channel of [0, 1, 2] as const) {
        const front =
          (alpha === 255 ? before.data[pixel * 3 + channel] : transparent.data[pixel * 4 + channel]) ?? 0;
        const wanted = (front * alpha + (colour[channel] ?? 0) * (255 - alpha)) / 255;
        const off = Math.abs(wanted - (made.data[pixel * 3 + channel] ?? -999));
        // What is opaque is as it was, bit by bit.
        farthest = Math.max(farthest, alpha === 255 ? off * 1_000 : off);
      }
    }
    expect(farthest).toBeLessThanOrEqual(0.51);
    expect(kept).toBeGreaterThan(100_000);
    expect(soft).toBeGreaterThan(500);
    expect(at(made, 5, 5)).toEqual(colour);
  });

  it("D1 a picture covers the ground, at the place that is asked for", inAll, async () => {
    const background = await drawHalves({ width: 400, height: 200 });
    const corners = async (params: object) => {
      const { made } = await setGround({ ...params }, { background });
      expect(made).toMatchObject({ width: 512, height: 512, channels: 3 });
      return [at(made, 2, 2), at(made, 509, 2)];
    };
    const [red, blue] = [
      [220, 20, 20],
      [20, 20, 220],
    ];
    expect(await corners({})).toEqual([red, blue]);
    expect(await corners({ position: { x: 0, y: 1 } })).toEqual([red, red]);
    expect(await corners({ position: { x: 1, y: 0.5 } })).toEqual([blue, blue]);
  });

  it("D1 a small photo is enlarged behind the subject, which stays as it was", async () => {
    const { made } = await setGround({}, { background: sample("coffee.png") });
    const before = await readPixels(sample("astronaut.png"));
    const face = [225, 130] as const;
    expect(at(made, ...face)).toEqual(at(before, ...face));
    const { data } = await sharp(sample("coffee.png"))
      .resize(512, 512, { fit: "cover" })
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    const corner = (5 * 512 + 5) * 3;
    for (const channel of [0, 1, 2])
      expect(Math.abs((made.data[corner + channel] ?? 0) - (data[corner + channel] ?? 255))).toBeLessThan(6);
  });

  it("D1 where the picture behind is transparent the result is, or shows the colour", inAll, async () => {
    const background = await drawHalves({ width: 512, height: 512 }, 0);
    const clear = await setGround({}, { background });
    expect(clear.made.channels).toBe(4);
    expect([at(clear.made, 2, 2), at(clear.made, 509, 2)]).toEqual([
      [255, 255, 255, 0],
      [20, 20, 220, 255],
    ]);
    const white = await setGround({ colour: "#ffffff" }, { background });
    expect(at(white.made, 2, 2)).toEqual([255, 255, 255]);
  });

  it("D1 a picture that is cut out already keeps its outline, whatever it shows", async () => {
    // A ring, which no model would cut out like this.
    const width = 64;
    const data = Buffer.alloc(width * width * 4);
    for (let pixel = 0; pixel < width * width; pixel += 1) {
      const [x, y] = [pixel % width, Math.floor(pixel / width)];
      const alpha = x === y ? 102 : Math.abs(Math.hypot(x - 32, y - 32) - 20) < 6 ? 255 : 0;
      data.set([10, 200, 90, alpha], pixel * 4);
    }
    const image = path.join(bench.dir, "ring.png");
    await sharp(data, { raw: { width, height: width, channels: 4 } })
      .png()
      .toFile(image);
    const { made, stages } = await setGround({ colour: "#000000" }, { image });
    expect([...new Set(stages)]).toEqual(["reading", "compose", "writing"]);
    expect([at(made, 32, 12), at(made, 32, 32), at(made, 33, 32)]).toEqual([
      [10, 200, 90],
      [4, 80, 36],
      [0, 0, 0],
    ]);
  });
});

describe("what stands out", () => {
  async function write(name: string, png: Buffer): Promise<string> {
    const file = path.join(bench.dir, `${name.replaceAll(" ", "-")}.png`);
    await writeFile(file, png);
    return file;
  }

  /** By name the least overlap with the truth; measured figures are in docs/benchmarks.md. */
  const least = {
    "mug on wood": 0.97,
    "dress in a room": 0.96,
    "tee on white": 0.93,
    rocket: 0.85,
    astronaut: 0.93,
    coffee: 0.93,
    "bag on carpet": 0.97,
    "ball at the side": 0.95,
    "bottle on a slope": 0.97,
    "person on wood": 0.97,
    "person on bricks": 0.96,
    "hoodie on white": 0.96,
    "hoodie on carpet": 0.96,
    "long sleeve on white": 0.95,
    "long sleeve on a slope": 0.96,
    "dress on white": 0.96,
    "tee on wood": 0.95,
  } as const;
  type SceneName = keyof typeof least;
  const others = Object.keys(least).slice(1) as SceneName[];

  forCasesInTurn("D2: its mask covers %s", { usual: ["mug on wood"] as const, others }, async (name) => {
    const scene = await subjectScene(name);
    const image = await write(name, scene.png);
    const isGarment = scene.class === "garment";
    const { output } = isGarment
      ? await bench.run("remove_background", { image }, { params: { subject: "garment" } })
      : await bench.run("segment", { image }, { params: { subject: true } });
    expect(output.facts).toMatchObject({ found: scene.class });
    const grey = await sharp(output.path)
      .extractChannel(isGarment ? 3 : 0)
      .raw()
      .toBuffer();
    const mask = Uint8Array.from(grey, (value) => (value >= 128 ? 1 : 0));
    expect(overlap(mask, scene)).toBeGreaterThan(least[name]);
  });

  forCasesInTurn(
    "%s alone is refused: nothing stands out",
    { usual: ["bricks"], others: ["wood", "a slope", "carpet", "one colour"] } as const,
    async (name) => {
      const image = await write(name, await emptyScene(name));
      const refused = bench.run("segment", { image }, { params: { subject: true } });
      await expect(refused).rejects.toMatchObject({ code: "nothing_stands_out" });
    },
  );
});

test("the models are the ones whose origin and licence the notice tells", async () => {
  const dir = new URL("models/", import.meta.url);
  const notice = await readFile(new URL("NOTICE.md", dir), "utf8");
  const files = (await readdir(dir)).filter((name) => name !== "NOTICE.md");
  for (const name of files) {
    const hash = createHash("sha256")
      .update(await readFile(new URL(name, dir)))
      .digest("hex");
    expect(notice).toContain(`| \`${name}\` | \`${hash}\` |`);
  }
});
