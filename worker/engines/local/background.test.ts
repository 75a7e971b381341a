import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBench, sample, type BenchRun } from "./fixtures/run-bench.ts";

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
    expect([...new Set(run.stages)]).toEqual(["reading", "pose", "matte", "edge", "writing"]);
    expect(run.previews.length).toBe(1);
  });

  it.each(["chelsea.png", "coffee.png", "rocket.jpg"])(
    "refuses %s: there is no person in it",
    async (name) => {
      await expect(bench.run("remove_background", { image: sample(name) })).rejects.toMatchObject({
        code: "no_person_found",
      });
    },
  );
});
