import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { sampleFiles, writeWorkflow } from "@atelier/testing/workflows";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readWorkflowFolder } from "./read-folder.ts";

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), "workflows-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const write = (name: string, change: Record<string, unknown> = {}) =>
  writeWorkflow(path.join(dir, name), { ...sampleFiles(), ...change });

test("A12: files of other systems' editors, and of servers, are read", async () => {
  const { graph, manifest } = sampleFiles();
  await writeWorkflow(path.join(dir, "marked"), { graph, manifest: `\ufeff${JSON.stringify(manifest)}` });
  const text = JSON.stringify(graph).replaceAll('"class_type":', '"is_changed": [NaN], "class_type":');
  await writeWorkflow(path.join(dir, "exported"), { graph: text, manifest });
  const { workflows, problems } = await readWorkflowFolder(dir);
  expect([workflows.map(({ name }) => name), problems]).toEqual([["exported", "marked"], []]);
});

test("A12: bad folders are refused, each with every reason, and the others are read", async () => {
  await write("blur");
  await write("soft_blur");
  await write("broken", { graph: "{" });
  await write("crooked", { manifest: { ...sampleFiles().manifest, outputs: ["8"], prefix: ["3.prefix"] } });
  await write("t2i_sdxl");
  await mkdir(path.join(dir, "empty"));
  const ofSystems = [".git", "@eaDir", "#recycle", "$RECYCLE.BIN", "__MACOSX", "lost+found"];
  for (const name of [...ofSystems, "System Volume Information"]) await mkdir(path.join(dir, name));
  await writeFile(path.join(dir, "README.md"), "Our workflows");

  const { workflows, problems } = await readWorkflowFolder(dir);
  expect(workflows.map(({ name }) => name)).toEqual(["blur", "soft_blur"]);
  expect(workflows.every(({ isBuiltIn }) => !isBuiltIn)).toBe(true);
  expect(problems).toEqual([
    { name: "broken", reason: "graph.json is not valid JSON" },
    {
      name: "crooked",
      reason: expect.stringMatching(/the graph has no 3\.prefix\n.*the graph has no node 8$/),
    },
    { name: "empty", reason: "workflow.json is missing" },
    { name: "t2i_sdxl", reason: "a built-in workflow has this name; give the folder another one" },
  ]);
});

test("one workflow folder is read as such", async () => {
  await write("blur");
  const { workflows, problems } = await readWorkflowFolder(path.join(dir, "blur"));
  expect([workflows.map(({ name }) => name), problems]).toEqual([["blur"], []]);
});

test("a folder that is not there is a problem, not a failure", async () => {
  const gone = path.join(dir, "gone");
  expect(await readWorkflowFolder(gone)).toEqual({
    workflows: [],
    problems: [{ name: gone, reason: "the folder cannot be read" }],
  });
});
