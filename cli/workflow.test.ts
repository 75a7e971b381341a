import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { builtInWorkflows } from "@atelier/server/workflows";
import { startComfySimulator, type ComfySimulator } from "@atelier/testing/comfyui";
import { findProgram } from "@atelier/testing/processes";
import { sampleFiles, writeWorkflow } from "@atelier/testing/workflows";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inAll } from "@atelier/testing/cases";

let main: readonly string[];
let dir: string;
let simulator: ComfySimulator;

beforeAll(async () => {
  main = await findProgram("cli/main.ts");
  dir = await mkdtemp(path.join(tmpdir(), "workflow-check-"));
  simulator = await startComfySimulator({ models: { upscale_models: ["2x.pth"] } });
});
afterAll(async () => {
  await simulator.close();
  await rm(dir, { recursive: true, force: true });
});

function atelier(...args: string[]): Promise<{ code: number; out: string; said: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [...main, ...args], { cwd: dir }, (error, out, said) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, out, said }),
    );
  });
}

test("A12: a right folder passes, a wrong one is told with every reason", async () => {
  const files = sampleFiles();
  await writeWorkflow(path.join(dir, "two/blur"), files);
  expect(await atelier("workflow", "check", "two/blur")).toEqual({ code: 0, out: "ok    blur\n", said: "" });

  const manifest = { ...files.manifest, outputs: ["8"], models: ["1.ckpt_name"] };
  await writeWorkflow(path.join(dir, "two/crooked"), { ...files, manifest });
  expect(await atelier("workflow", "check", "two")).toEqual({
    code: 1,
    out: [
      "ok    blur",
      "FAIL  crooked",
      "      models: the graph has no 1.ckpt_name",
      "      outputs: the graph has no node 8",
      "",
    ].join("\n"),
    said: "",
  });
});

test("a wrong call says how it is made", inAll, async () => {
  const usage = "Usage: atelier workflow check DIR [--server URL]";
  expect(await atelier("workflow")).toMatchObject({ code: 1, said: expect.stringContaining(usage) });
  expect(await atelier("workflow", "mend")).toMatchObject({ code: 1, said: expect.stringContaining(usage) });
  expect(await atelier("workflow", "check")).toMatchObject({ code: 1, said: expect.stringContaining(usage) });
  expect(await atelier("workflow", "check", ".", "--host", "x")).toMatchObject({
    code: 1,
    said: expect.stringContaining(usage),
  });
});

test("A12: a folder is held against the node classes and models of a server", async () => {
  const files = sampleFiles();
  await writeWorkflow(path.join(dir, "live/blur"), files);
  const steps = { type: "integer", min: 1, max: 50, default: 3, to: ["2.blur_radius"] };
  const upscaler = { class_type: "UpscaleModelLoader", inputs: { model_name: "4x.pth" } };
  await writeWorkflow(path.join(dir, "live/upscale"), {
    manifest: { ...files.manifest, params: { steps }, models: ["4.model_name"] },
    graph: { ...files.graph, "4": upscaler, "5": { class_type: "MagicBrush", inputs: {} } },
  });
  expect(await atelier("workflow", "check", "live", "--server", simulator.url)).toEqual({
    code: 1,
    out: [
      "ok    blur",
      "FAIL  upscale",
      '      node 4 (UpscaleModelLoader): model_name is "4x.pth", which is none of 2x.pth',
      "      node 5: the server has no class MagicBrush",
      "      node 2 (ImageBlur): blur_radius is 50, above the most 31",
      "",
    ].join("\n"),
    said: "",
  });
  expect(await atelier("workflow", "check", "live/blur", "--server", simulator.url)).toMatchObject({
    code: 0,
  });
});

test("a server that does not answer is named", inAll, async () => {
  await writeWorkflow(path.join(dir, "one/blur"), sampleFiles());
  const url = "http://127.0.0.1:1";
  const run = await atelier("workflow", "check", "one", "--server", url);
  expect(run).toMatchObject({ code: 1, said: expect.stringContaining(url) });
});

test("A12: without a folder the workflows that ship with the product are held against a server", async () => {
  const { code, out, said } = await atelier("workflow", "check", "--server", simulator.url);
  expect([code, said]).toEqual([1, ""]);
  expect(out).toMatch(/^ok {4}cpu_composite_no_model$/m);
  expect(out).toMatch(/^FAIL {2}t2i_sd15\n {6}node .+ckpt_name/m);
  const names = builtInWorkflows().map(({ name }) => name);
  expect(
    out
      .match(/^(ok|FAIL) .+$/gm)
      ?.map((line) => line.slice(6))
      .toSorted(),
  ).toEqual(names.toSorted());
});
