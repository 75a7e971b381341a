import sharp from "sharp";
import { beforeAll, expect, test } from "vitest";
import { type Outcome, zoo, type ZooEntry } from "@atelier/testing/zoo";
import { encodeInChild } from "./encode-in-child.ts";
import type { ChildUsage, ImageFiles } from "./encode.ts";
import { makeFiles, planUpload } from "./files.ts";

/** CPU time and memory of this process, and of the child where there is one. */
const budgets = {
  refused: { cpuMs: 300, growthBytes: 100_000_000 },
  light: { cpuMs: 2_000, growthBytes: 200_000_000 },
  child: { cpuMs: 10_000, rssBytes: 1_000_000_000 },
} as const;

interface Result {
  readonly outcome: Outcome;
  readonly files?: ImageFiles;
  readonly child?: ChildUsage;
}

async function take(bytes: Buffer): Promise<Result> {
  const plan = await planUpload(bytes, "upload").catch(codeOf);
  if (typeof plan === "string") return { outcome: { refusedBy: "header", code: plan } };
  let child = { cpuMs: 0, rssBytes: 0 };
  const onUsage = ({ cpuMs, rssBytes }: ChildUsage) =>
    (child = { cpuMs, rssBytes: Math.max(rssBytes, child.rssBytes) });
  const making =
    plan.weight === "heavy" ? encodeInChild(bytes, plan.task, { onUsage }) : makeFiles(bytes, plan);
  const files = await making.catch(codeOf);
  if (typeof files === "string") return { outcome: { refusedBy: "decoder", code: files }, child };
  return { outcome: { takenAs: plan.weight }, files, child };
}

/** The code of an error of ours; anything else is a crash and fails the test. */
function codeOf(error: unknown) {
  if (error instanceof Error && "code" in error && String(error.code).startsWith("upload_"))
    return error.code as Extract<Outcome, { refusedBy: string }>["code"];
  throw error;
}

/** What taking a file costs this process; the memory is looked at while and after it is taken. */
async function measure(bytes: Buffer) {
  const rssBefore = process.memoryUsage.rss();
  let peak = rssBefore;
  const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 5);
  const cpuBefore = process.cpuUsage();
  const result = await take(bytes);
  const { user, system } = process.cpuUsage(cpuBefore);
  clearInterval(watch);
  peak = Math.max(peak, process.memoryUsage.rss());
  return { result, cpuMs: (user + system) / 1_000, growthBytes: peak - rssBefore };
}

async function expectMadeAnew({ original, preview, thumbnail }: ImageFiles, source: Buffer) {
  expect(original.equals(source)).toBe(false);
  for (const file of [original, preview, thumbnail]) {
    const { exif, icc, xmp, comments } = await sharp(file, { limitInputPixels: false }).metadata();
    expect({ exif, icc, xmp, comments }).toEqual({});
  }
}

function budgetOf({ outcome, files }: Result) {
  return files && !("takenAs" in outcome && outcome.takenAs === "heavy") ? budgets.light : budgets.refused;
}

beforeAll(async () => {
  // The first picture of each format pays for loading its codec.
  const first = new Map(
    zoo.filter(({ outcome }) => "either" in outcome).map((entry) => [entry.name.slice(0, 6), entry]),
  );
  for (const entry of first.values()) await take(await entry.make());
});

test("S2 the zoo holds at least 150 files, each once", () => {
  expect(zoo.length).toBeGreaterThanOrEqual(150);
  expect(new Set(zoo.map(({ name }) => name)).size).toBe(zoo.length);
});

test.each(zoo)("S2 $name stays within its budget", async (entry: ZooEntry) => {
  const { outcome } = entry;
  const bytes = await entry.make();
  const { result, cpuMs, growthBytes } = await measure(bytes);
  expect(result.outcome).toEqual("either" in outcome ? result.outcome : outcome);
  if (result.files) await expectMadeAnew(result.files, bytes);
  const budget = budgetOf(result);
  expect(cpuMs).toBeLessThan(budget.cpuMs);
  expect(growthBytes).toBeLessThan(budget.growthBytes);
  expect(result.child?.cpuMs ?? 0).toBeLessThan(budgets.child.cpuMs);
  expect(result.child?.rssBytes ?? 0).toBeLessThan(budgets.child.rssBytes);
});
