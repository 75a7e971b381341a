import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { z } from "zod";
import { forCasesInTurn } from "@atelier/testing/cases";
import { createBench, sample, type BenchRun } from "./fixtures/run-bench.ts";
import { emptyScenes, overlap, subjectScenes } from "./fixtures/subject-scenes.ts";

describe("remove_background", () => {
  let bench: Awaited<ReturnType<typeof createBench>>;
  let run: BenchRun;
  beforeAll(async () => {
    bench = await createBench();
    run = await bench.run("remove_background", { image: sample("astronaut.png") });
  });
  afterAll(() => bench.close());

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

describe("what stands out", () => {
  let bench: Awaited<ReturnType<typeof createBench>>;
  beforeAll(async () => {
    bench = await createBench();
  });
  afterAll(() => bench.close());

  async function write(name: string, png: Buffer): Promise<string> {
    const file = path.join(bench.dir, `${name.replaceAll(" ", "-")}.png`);
    await writeFile(file, png);
    return file;
  }

  /** By name the least overlap with the truth; measured figures are in docs/benchmarks.md. */
  const least = {
    "mug on wood": 0.97,
    "tee on white": 0.93,
    rocket: 0.85,
    "dress in a room": 0.96,
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
  const others = Object.keys(least).slice(4) as SceneName[];

  forCasesInTurn(
    "D2: its mask covers %s",
    { usual: ["mug on wood", "tee on white", "rocket", "dress in a room"] as const, others },
    async (name) => {
      const scene = (await subjectScenes()).find((one) => one.name === name);
      if (scene === undefined) throw new Error(`there is no scene ${name}`);
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
    },
  );

  forCasesInTurn(
    "%s alone is refused: nothing stands out",
    { usual: ["wood", "bricks"], others: ["a slope", "carpet", "one colour"] } as const,
    async (name) => {
      const scene = (await emptyScenes()).find((one) => one.name === name);
      const image = await write(name, scene?.png ?? Buffer.alloc(0));
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
