import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { sampleFiles, writeWorkflow } from "@atelier/testing/workflows";
import { afterAll, beforeAll, expect, test } from "vitest";

const main = path.join(import.meta.dirname, "main.ts");
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), "workflow-check-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

function atelier(...args: string[]): Promise<{ code: number; out: string; said: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...args], { cwd: dir }, (error, out, said) =>
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

test("a wrong call says how it is made", async () => {
  const usage = "Usage: atelier workflow check DIR [--server URL]";
  expect(await atelier("workflow")).toMatchObject({ code: 1, said: expect.stringContaining(usage) });
  expect(await atelier("workflow", "mend")).toMatchObject({ code: 1, said: expect.stringContaining(usage) });
  expect(await atelier("workflow", "check")).toMatchObject({ code: 1, said: expect.stringContaining(usage) });
  expect(await atelier("workflow", "check", ".", "--host", "x")).toMatchObject({
    code: 1,
    said: expect.stringContaining(usage),
  });
});

test("a server that does not answer is named", async () => {
  await writeWorkflow(path.join(dir, "one/blur"), sampleFiles());
  const url = "http://127.0.0.1:1";
  const run = await atelier("workflow", "check", "one", "--server", url);
  expect(run).toMatchObject({ code: 1, said: expect.stringContaining(url) });
});
