import path from "node:path";
import sharp from "sharp";
import { inAll } from "@atelier/testing/cases";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBench, sample, type BenchRun } from "../fixtures/run-bench.ts";
import { stripeAngle } from "../fixtures/stripe-angle.ts";
import { drawPolygon } from "../raster/shapes.ts";
import { emptyMask } from "../raster/grid.ts";

const raw = async (file: string) =>
  sharp(file).removeAlpha().toColourspace("srgb").raw().toBuffer({ resolveWithObject: true });

/** The polygon of the torso as a mask, from the facts of a run, shrunk towards its middle by `scale`. */
function torsoMask({ output }: BenchRun, size: { width: number; height: number }, scale = 1) {
  const corners = output.facts?.["torso"] as [number, number][];
  const middle = [0, 1].map((axis) => corners.reduce((sum, corner) => sum + Number(corner[axis]), 0) / 4);
  const mask = emptyMask(size);
  drawPolygon(
    mask,
    corners.map(([x, y]) => ({
      x: Number(middle[0]) + (x - Number(middle[0])) * scale,
      y: Number(middle[1]) + (y - Number(middle[1])) * scale,
    })),
  );
  return mask;
}

/** Largest change of a channel per pixel. */
async function changes(before: string, after: string): Promise<Uint8Array> {
  const [a, b] = [await raw(before), await raw(after)];
  expect([b.info.width, b.info.height]).toEqual([a.info.width, a.info.height]);
  return Uint8Array.from({ length: a.data.length / 3 }, (_, i) =>
    Math.max(...[0, 1, 2].map((c) => Math.abs(Number(a.data[i * 3 + c]) - Number(b.data[i * 3 + c])))),
  );
}

async function expectOnlyMaskChanged(person: string, { output, maskPath }: BenchRun): Promise<Uint8Array> {
  const mask = await sharp(maskPath).toColourspace("b-w").raw().toBuffer();
  const changed = await changes(person, output.path);
  expect(mask.length).toBe(changed.length);
  expect(changed.findIndex((change, i) => change > 0 && !mask[i])).toBe(-1);
  return changed;
}

async function measureStripes(run: BenchRun, size: { width: number; height: number }): Promise<number> {
  const grey = await sharp(run.output.path).removeAlpha().toColourspace("b-w").raw().toBuffer();
  return stripeAngle({ grey, mask: torsoMask(run, size, 0.6).data, width: size.width });
}

describe("outfit_change", () => {
  const astronaut = sample("astronaut.png");
  const tee = sample("garment_tee.jpg");
  const size = { width: 512, height: 512 };
  let bench: Awaited<ReturnType<typeof createBench>>;
  let worn: BenchRun;

  beforeAll(async () => {
    bench = await createBench();
    worn = await bench.run(
      "outfit_change",
      { person: astronaut, garment: tee },
      { params: { category: "auto" } },
    );
  });
  afterAll(() => bench.close());

  it("A5: changes the torso and not one pixel outside the mask", async () => {
    const changed = await expectOnlyMaskChanged(astronaut, worn);
    const torso = torsoMask(worn, size).data;
    const inside = changed.filter((_change, i) => torso[i]);
    expect(inside.filter((change) => change > 12).length / inside.length).toBeGreaterThanOrEqual(0.6);
    const face = changed[130 * 512 + 225];
    expect(face).toBe(0);
  });

  it("reports its stages in order, with a picture on the way", () => {
    expect([...new Set(worn.stages)]).toEqual([
      "reading",
      "garment",
      "pose",
      "matte",
      "clothes",
      "warp",
      "compose",
      "writing",
    ]);
    expect(worn.fractions).toEqual(worn.fractions.toSorted((a, b) => a - b));
    expect(worn.fractions.at(-1)).toBe(1);
    expect(worn.previews.length).toBeGreaterThanOrEqual(1);
  });

  it("gives the same bytes on each run", inAll, async () => {
    const again = await bench.run("outfit_change", { person: astronaut, garment: tee });
    const [first, second] = [await raw(worn.output.path), await raw(again.output.path)];
    expect(first.data.equals(second.data)).toBe(true);
  });

  it("turns the garment with a person who leans by 8 degrees", inAll, async () => {
    const person = path.join(bench.dir, "leaning.png");
    await sharp(await sharp(astronaut).rotate(8, { background: "#b8b0ae" }).toBuffer()).toFile(person);
    const { width, height } = await sharp(person).metadata();
    const leaning = await bench.run("outfit_change", { person, garment: tee });
    const turned = (await measureStripes(leaning, { width, height })) - (await measureStripes(worn, size));
    expect(turned).toBeGreaterThan(5);
    expect(turned).toBeLessThan(11);
  });

  /** Resolves with what the run says of the garment. */
  const putOn = async (name: string) => {
    const run = await bench.run("outfit_change", {
      person: astronaut,
      garment: sample(`garment_${name}.jpg`),
    });
    const changed = await expectOnlyMaskChanged(astronaut, run);
    const torso = torsoMask(run, size).data;
    const inside = changed.filter((_change, i) => torso[i]);
    expect(inside.filter((change) => change > 12).length / inside.length).toBeGreaterThanOrEqual(0.6);
    return run.output.facts;
  };

  it("puts on the dress", async () => {
    expect(await putOn("dress")).toMatchObject({ isDress: true });
  });

  it.each(["hoodie", "long_sleeve"])("puts on the %s", inAll, async (name) => {
    expect(await putOn(name)).toMatchObject({ isDress: false });
  });

  it("keeps the size of a large photo and every pixel outside the mask", inAll, async () => {
    const person = path.join(bench.dir, "large.png");
    await sharp(astronaut).resize(1_400, 1_400).toFile(person);
    const run = await bench.run("outfit_change", { person, garment: tee });
    const changed = await expectOnlyMaskChanged(person, run);
    expect(changed.filter((change) => change > 12).length).toBeGreaterThan(0.1 * changed.length);
  });

  it.each(["rocket.jpg", "coffee.png", "chelsea.png"])("refuses %s as a person", async (name) => {
    await expect(bench.run("outfit_change", { person: sample(name), garment: tee })).rejects.toMatchObject({
      code: "no_person_found",
      details: { gate: "person" },
    });
  });

  it("refuses a photo of two people, side by side", async () => {
    const person = path.join(bench.dir, "two.png");
    const one = await sharp(astronaut).extract({ left: 10, top: 0, width: 380, height: 512 }).toBuffer();
    await sharp({ create: { width: 760, height: 512, channels: 3, background: "#b8b0ae" } })
      .composite([
        { input: one, left: 0, top: 0 },
        { input: one, left: 380, top: 0 },
      ])
      .toFile(person);
    await expect(bench.run("outfit_change", { person, garment: tee })).rejects.toMatchObject({
      code: "person_unsuitable",
      details: { gate: "several_people" },
    });
  });

  it("refuses a photo that cuts a shoulder off", async () => {
    const person = path.join(bench.dir, "half.png");
    await sharp(astronaut).extract({ left: 0, top: 0, width: 260, height: 512 }).toFile(person);
    await expect(bench.run("outfit_change", { person, garment: tee })).rejects.toMatchObject({
      code: "person_unsuitable",
    });
  });

  it("refuses a cat as a garment, and one that has the colour of its ground", inAll, async () => {
    const pale = path.join(bench.dir, "pale.png");
    await sharp(tee).linear(0.04, 240).toFile(pale);
    await expect(
      bench.run("outfit_change", { person: astronaut, garment: sample("chelsea.png") }),
    ).rejects.toMatchObject({ code: "garment_unsuitable" });
    await expect(bench.run("outfit_change", { person: astronaut, garment: pale })).rejects.toMatchObject({
      code: "garment_unsuitable",
    });
  });

  it("refuses trousers and skirts with a sentence that says why", async () => {
    await expect(
      bench.run("outfit_change", { person: astronaut, garment: tee }, { params: { category: "bottom" } }),
    ).rejects.toMatchObject({
      code: "garment_unsuitable",
      message: expect.stringContaining("tops and dresses"),
      details: { gate: "category" },
    });
  });
});
