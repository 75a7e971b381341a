import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { addTinyGateModel, pictureOf, silentPicture } from "@atelier/testing/content-gate";
import { addOwner } from "@atelier/testing/jobs";
import { readSample } from "@atelier/testing/pictures";
import { captureLog, createTestServices, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { schema } from "../db/index.ts";
import { modelPath } from "../models/index.ts";
import { newId, parseConfig } from "../platform/index.ts";
import { admitInputs, admitResults, gateModel, hidesPreviews, toModelInput } from "./index.ts";

let opened: TestServices;
let folder: string;
let red: string;
let green: string;
let ownerId: string;

beforeAll(async () => {
  opened = await createTestServices();
  folder = await mkdtemp(path.join(os.tmpdir(), "atelier-gate-"));
  [red, green] = [path.join(folder, "red"), path.join(folder, "green")];
  await writeFile(red, await pictureOf("red"));
  await writeFile(green, await pictureOf("green"));
  ownerId = (await addOwner(opened.services)).userId;
  await addTinyGateModel(opened.services.env);
});
afterAll(async () => {
  await opened.close();
  await rm(folder, { recursive: true });
});

const safety = { refuseInputs: { outfit_change: 0.8 }, refuseResults: { text_to_image: 0.8 } };
const gated = () => ({ ...opened.services, config: parseConfig({ safety }) });
const jobOf = (kind: "outfit_change" | "text_to_image" | "upscale") => ({ id: newId(), ownerId, kind });
const entriesOf = (id: string) =>
  opened.services.db.select().from(schema.auditEntries).where(eq(schema.auditEntries.objectId, id));

test("a photo at the threshold is refused, and the log and the audit have job, kind and score alone", async () => {
  const { log, lines } = captureLog();
  const job = jobOf("outfit_change");
  await expect(
    admitInputs({ ...gated(), log }, job, { person: red, garment: green, mask: red }),
  ).rejects.toMatchObject({ code: "input_refused", details: { role: "person" } });
  const [entry, another] = await entriesOf(job.id);
  expect(entry).toMatchObject({
    kind: "gate.input_refused",
    outcome: "input_refused",
    actorId: ownerId,
    details: { kind: "outfit_change", role: "person", score: expect.any(Number), threshold: 0.8 },
  });
  expect(another).toBeUndefined();
  expect(lines).toHaveLength(1);
  expect(JSON.stringify([lines, entry])).not.toContain(folder);
});

test("what is below the threshold, a mask and a kind without one pass", async () => {
  await admitInputs(gated(), jobOf("outfit_change"), { person: green, garment: green, mask: red });
  await admitInputs(gated(), jobOf("upscale"), { image: red });
  await admitInputs(opened.services, jobOf("outfit_change"), { person: red });
  expect(await admitResults(gated(), jobOf("upscale"), [{ path: red }])).toEqual([{ path: red }]);
  expect(hidesPreviews(gated().config, "text_to_image")).toBe(true);
  expect(hidesPreviews(gated().config, "upscale")).toBe(false);
});

test("of several results the refused are left out, and none at all is an error", async () => {
  const job = jobOf("text_to_image");
  const results = [{ path: red }, { path: green }];
  expect(await admitResults(gated(), job, results)).toEqual([{ path: green }]);
  await expect(admitResults(gated(), job, [{ path: red }])).rejects.toMatchObject({ code: "result_refused" });
  expect(await entriesOf(job.id)).toHaveLength(2);
});

test("a result that is no whole picture is left out, and says so of itself where there is no other", async () => {
  const damaged = path.join(folder, "damaged");
  const whole = await readFile(green);
  await writeFile(damaged, whole.subarray(0, whole.length - 30));
  const admit = (...files: string[]) =>
    admitResults(
      gated(),
      jobOf("text_to_image"),
      files.map((file) => ({ path: file })),
    );
  await expect(admit(damaged)).rejects.toMatchObject({ code: "engine_failed" });
  await expect(admit(damaged, red)).rejects.toMatchObject({ code: "result_refused" });
  expect(await admit(damaged, green)).toEqual([{ path: green }]);
});

test("a damaged picture takes no score away from another that is looked at beside it", async () => {
  const [damaged, large] = [path.join(folder, "no picture"), path.join(folder, "large")];
  await writeFile(damaged, "no picture");
  const pixels = sharp(await readFile(green)).resize(4_000, 4_000, { fit: "fill" });
  await writeFile(large, await pixels.png({ compressionLevel: 1 }).toBuffer());
  const looks = [large, damaged, large].map((person) =>
    admitInputs(gated(), jobOf("outfit_change"), { person }),
  );
  const settled = await Promise.allSettled(looks);
  expect(settled).toMatchObject([
    { status: "fulfilled" },
    { status: "rejected", reason: { code: "gate_unavailable" } },
    { status: "fulfilled" },
  ]);
});

test("without the model, with a damaged one or with a file that is no picture nothing passes", async () => {
  const env = { ...opened.services.env, ATELIER_DATA_DIR: folder };
  const services = { ...gated(), env };
  const refused = { code: "gate_unavailable" };
  await expect(admitInputs(services, jobOf("outfit_change"), { person: green })).rejects.toMatchObject(
    refused,
  );
  // Only its results are looked at: it is refused before it is paid for.
  await expect(admitInputs(services, jobOf("text_to_image"), {})).rejects.toMatchObject(refused);
  await admitInputs(services, jobOf("upscale"), { image: green });
  const broken = path.join(folder, "broken");
  await writeFile(broken, "no picture");
  await expect(admitInputs(gated(), jobOf("outfit_change"), { person: broken })).rejects.toMatchObject(
    refused,
  );
  await writeFile(modelPath(opened.services.env, gateModel), "no model");
  await expect(admitInputs(gated(), jobOf("outfit_change"), { person: green })).rejects.toMatchObject(
    refused,
  );
  await addTinyGateModel(opened.services.env);
  await admitInputs(gated(), jobOf("outfit_change"), { person: green });
});

test("a file that is not the very model is refused before anything runs with it", async () => {
  const env = { ...opened.services.env, ATELIER_DATA_DIR: path.join(folder, "other") };
  const { log, lines } = captureLog();
  const admit = () => admitInputs({ ...gated(), env, log }, jobOf("outfit_change"), { person: green });
  await addTinyGateModel(env);
  const file = modelPath(env, gateModel);
  await appendFile(file, "one byte more");
  await expect(admit()).rejects.toMatchObject({ code: "gate_unavailable" });
  expect(JSON.stringify(lines)).toContain("damaged");
  await addTinyGateModel(env);
  await admit();
});

test("D6 a look that does not end is left at once by an abort, with its reason", async () => {
  const silent = await silentPicture(path.join(folder, "silent"));
  const { log, lines } = captureLog();
  const stop = new AbortController();
  const job = jobOf("outfit_change");
  const looks = [
    admitInputs({ ...gated(), log }, job, { person: silent.file }, stop.signal),
    admitResults({ ...gated(), log }, jobOf("text_to_image"), [{ path: silent.file }], stop.signal),
  ].map((look) => look.catch((error: unknown) => error));
  await silent.isRead;
  const reason = new Error("cancelled");
  stop.abort(reason);
  expect(await Promise.all(looks)).toEqual([reason, reason]);
  expect(lines).toEqual([]);
  await silent.end();
  await expect(admitInputs(gated(), job, { person: green }, stop.signal)).rejects.toBe(reason);
  await expect.poll(() => admitInputs(gated(), job, { person: green }).catch(() => "away")).toBeUndefined();
});

test("the model sees a picture as people do who look at it", async () => {
  const upright = await readSample("astronaut.png");
  const turned = await sharp(upright).rotate(180).withMetadata({ orientation: 3 }).png().toBuffer();
  const [one, other] = [await toModelInput(upright), await toModelInput(turned)];
  expect(one.filter((value, at) => Math.abs(value - (other[at] ?? 0)) > 16)).toHaveLength(0);
});

test("thresholds are of known kinds, above 0 and at most 1", () => {
  for (const wrong of [
    { refuseInputs: { outfit: 0.5 } },
    { refuseResults: { edit: 0 } },
    { refuseInputs: { edit: 2 } },
  ])
    expect(() => parseConfig({ safety: wrong })).toThrow("safety");
});

const expectedSchema = z.record(z.string(), z.object({ areas: z.array(z.array(z.number())) }));
const areaPx = 56;

test("the model gets pictures as its own Python prepares them", async () => {
  const text = await readFile(
    path.join(import.meta.dirname, "../../testing/content-gate/expected.json"),
    "utf8",
  );
  for (const [name, { areas }] of Object.entries(expectedSchema.parse(JSON.parse(text)))) {
    const pixels = await toModelInput(await readSample(name));
    const sums = areas.map(() => [0, 0, 0]);
    for (const [at, value] of pixels.entries()) {
      const [x, y] = [Math.floor(at / 3) % 224, Math.floor(at / 3 / 224)];
      const sum = sums[Math.floor(y / areaPx) * 4 + Math.floor(x / areaPx)] ?? [];
      sum[at % 3] = (sum[at % 3] ?? 0) + value / areaPx ** 2;
    }
    const far = areas.flatMap((area, at) => area.map((value, of) => Math.abs(value - (sums[at]?.[of] ?? 0))));
    expect([name, Math.max(...far) < 1]).toEqual([name, true]);
  }
});
