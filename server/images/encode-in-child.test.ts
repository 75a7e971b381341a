import { type ChildProcess, spawnSync } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { cpSync, globSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { readSample } from "@atelier/testing/pictures";
import { expect, onTestFinished, test } from "vitest";
import nextConfig from "../../next.config.mjs";
import { encodeInChild } from "./encode-in-child.ts";
import { encodeFiles, type EncodeTask } from "./encode.ts";
import { childLimits } from "./limits.ts";

const photo = {
  as: "photo",
  format: "jpeg",
  isLossless: false,
  isCut: false,
  isAnimated: false,
  sideChannels: 0,
  colour: null,
  longerSidePx: null,
} as const satisfies EncodeTask;
const output: EncodeTask = {
  as: "output",
  mime: "image/jpeg",
  xmp: "<x/>",
  maxPixels: 1_000_000,
  mark: null,
};

test.each(["photo", "mask"] as const)("a %s has the same files from a child process", async (as) => {
  const bytes = await readSample("garment_dress.jpg");
  const task = { ...photo, as };
  expect(await encodeInChild(bytes, task)).toEqual(await encodeFiles(bytes, task));
});

test.each([
  ["CPU time", { cpuMs: 1 }],
  ["time", { wallMs: 1 }],
  ["memory", { memoryBytes: 1_000_000 }],
])("S2 a child that passes its limit of %s is killed", async (_what, passed) => {
  const bytes = await readSample("rocket.jpg");
  const limits = { ...childLimits, ...passed };
  const [limit] = Object.keys(passed);
  await expect(encodeInChild(bytes, photo, { limits })).rejects.toMatchObject({
    code: "upload_too_complex",
    details: { limit, signal: "SIGKILL" },
  });
  await expect(encodeInChild(bytes, output, { limits })).rejects.toMatchObject({ code: "engine_failed" });
});

test("S2 a child that the system kills, as for want of memory, says nothing of its picture", async () => {
  const bytes = await readSample("rocket.jpg");
  const kill = (made: unknown) => {
    const { process: child } = made as { readonly process: ChildProcess };
    child.once("spawn", () => child.kill("SIGKILL"));
  };
  subscribe("child_process", kill);
  onTestFinished(() => void unsubscribe("child_process", kill));
  for (const task of [photo, output]) {
    const making = encodeInChild(bytes, task);
    await expect(making).rejects.toMatchObject({ code: "out_of_memory", details: { limit: null } });
  }
});

test("what the child refuses is refused with the same code", async () => {
  const bytes = (await readSample("rocket.jpg")).subarray(0, 5_000);
  await expect(encodeInChild(bytes, photo)).rejects.toMatchObject({ code: "upload_unreadable" });
  await expect(encodeInChild(bytes, output)).rejects.toMatchObject({ code: "engine_failed" });
});

test("aborting kills the child and gives the reason", async () => {
  const aborting = new AbortController();
  const reason = new Error("the client left");
  const making = encodeInChild(await readSample("rocket.jpg"), photo, {
    signal: aborting.signal,
    onUsage: () => aborting.abort(reason),
  });
  await expect(making).rejects.toBe(reason);
});

test("the child starts from what a function has of it", async () => {
  const root = path.resolve(import.meta.dirname, "../..");
  const folder = mkdtempSync(path.join(os.tmpdir(), "atelier-function-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { outputFileTracingIncludes: included = {} } = await nextConfig("phase-production-build");
  const traced = Object.values(included).flat();
  const sources = traced.filter((pattern) => !pattern.includes("node_modules"));
  for (const file of globSync(sources, { cwd: root })) cpSync(path.join(root, file), path.join(folder, file));
  symlinkSync(path.join(root, "server/node_modules"), path.join(folder, "server/node_modules"));
  const script = path.join(folder, "server/images/encode-child.ts");
  const run = spawnSync(process.execPath, [script, "{}"], { encoding: "utf8" });
  expect(run.stderr).not.toContain("ERR_MODULE_NOT_FOUND");
  expect(run.stdout).not.toBe("");
});
