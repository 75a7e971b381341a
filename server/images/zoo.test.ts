import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import sharp from "sharp";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { forCasesInTurn } from "@atelier/testing/cases";
import { type Outcome, zoo, type ZooEntry } from "@atelier/testing/zoo";
import { encodeInChild } from "./encode-in-child.ts";
import type { ImageFiles } from "./encode.ts";
import type { ChildUsage } from "./encode-wire.ts";
import { makeFiles, planUpload } from "./files.ts";

/**
 * CPU time and memory of this process, and of the child where there is one. CPU time is counted in plain pictures, each
 * of them 10 ms on a quiet core, since a busy machine makes all CPU time longer.
 */
const budgets = {
  refused: { pictures: 30, growthBytes: 100_000_000 },
  light: { pictures: 200, growthBytes: 200_000_000 },
  child: { pictures: 1_000, rssBytes: 1_000_000_000 },
} as const;

/** CPU time for each ms that this process waits for a child: V8 then clears what earlier files left, longer on a busy machine. */
const clearedWhileWaiting = 0.05;

const plainPx = 512;
let plain: Buffer;
/** CPU time of the last plain pictures, the newest at the end. */
const plainCosts: number[] = [];
const plainsKept = 5;

/** CPU time of this process that decoding and encoding a plain picture takes at this moment: the middle of some. */
function readPlainMs(): number {
  return plainCosts.toSorted((a, b) => a - b)[Math.floor(plainCosts.length / 2)] ?? 0;
}

async function takePlain(): Promise<void> {
  const before = process.cpuUsage();
  await sharp(plain).jpeg().toBuffer();
  const { user, system } = process.cpuUsage(before);
  plainCosts.push((user + system) / 1_000);
  if (plainCosts.length > plainsKept) plainCosts.shift();
}

interface Result {
  readonly outcome: Outcome;
  readonly files?: ImageFiles;
  readonly child?: ChildUsage;
}

async function take(bytes: Buffer): Promise<Result> {
  const plan = await planUpload(bytes, { role: "upload" }).catch(codeOf);
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

/** The largest memory of this process since `clearPeak`, as the kernel counts it. */
function readPeakBytes(): number {
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return Number(kibibytes) * 1_024;
}

const clearPeak = () => writeFileSync("/proc/self/clear_refs", "5");

/** What taking a file costs this process. */
async function measure(bytes: Buffer) {
  clearPeak();
  const peakBefore = readPeakBytes();
  const [begunAt, cpuBefore] = [performance.now(), process.cpuUsage()];
  const result = await take(bytes);
  const { user, system } = process.cpuUsage(cpuBefore);
  const waitedMs = result.child?.cpuMs ? performance.now() - begunAt : 0;
  return {
    result,
    cpuMs: (user + system) / 1_000 - waitedMs * clearedWhileWaiting,
    growthBytes: readPeakBytes() - peakBefore,
  };
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
  const raw = { width: plainPx, height: plainPx, channels: 3 } as const;
  plain = await sharp(randomBytes(plainPx * plainPx * 3), { raw })
    .jpeg()
    .toBuffer();
  // The first picture of each format pays for loading its codec.
  const first = new Map(
    zoo.filter(({ outcome }) => "either" in outcome).map((entry) => [entry.name.slice(0, 6), entry]),
  );
  for (const entry of first.values()) await take(await entry.make());
});

beforeEach(takePlain);

test("S2 the zoo holds at least 150 files, each once", () => {
  expect(zoo.length).toBeGreaterThanOrEqual(150);
  expect(new Set(zoo.map(({ name }) => name)).size).toBe(zoo.length);
});

/** Files of one kind stand together. */
const isUsual = (_entry: ZooEntry, at: number) => at % 4 === 0;
const entries = { usual: zoo.filter(isUsual), others: zoo.filter((entry, at) => !isUsual(entry, at)) };

forCasesInTurn("S2 $name stays within its budget", entries, async (entry) => {
  const { outcome } = entry;
  const bytes = await entry.make();
  const { result, cpuMs, growthBytes } = await measure(bytes);
  expect(result.outcome).toEqual("either" in outcome ? result.outcome : outcome);
  if (result.files) await expectMadeAnew(result.files, bytes);
  const budget = budgetOf(result);
  const plainMs = readPlainMs();
  expect(cpuMs).toBeLessThan(budget.pictures * plainMs);
  expect(growthBytes).toBeLessThan(budget.growthBytes);
  expect(result.child?.cpuMs ?? 0).toBeLessThan(budgets.child.pictures * plainMs);
  expect(result.child?.rssBytes ?? 0).toBeLessThan(budgets.child.rssBytes);
});
