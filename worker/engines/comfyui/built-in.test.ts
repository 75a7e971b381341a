import { randomUUID } from "node:crypto";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type InputRole, jobKinds, optionalInputs, requiredInputs } from "@atelier/server/engines";
import {
  buildGraph,
  builtInWorkflows,
  checkGraph,
  type ObjectInfoByClass,
  parseWorkflow,
  takesInputs,
  type Workflow,
  workflowParams,
} from "@atelier/server/workflows";
import { type ComfySimulator, startComfySimulator } from "@atelier/testing/comfyui";
import { readSimulatedClasses } from "@atelier/testing/workflows";
import { postPrompt, uploadImage } from "../../clients/comfyui/index.ts";

let objectInfo: ObjectInfoByClass;
let simulator: ComfySimulator;

beforeAll(async () => {
  objectInfo = await readSimulatedClasses();
  simulator = await startComfySimulator();
});
afterAll(() => simulator.close());

function rolesOf({ inputs }: Workflow): { required: InputRole[]; all: InputRole[] } {
  const all = Object.keys(inputs) as InputRole[];
  return { all, required: all.filter((role) => inputs[role]?.required) };
}

function build(workflow: Workflow, roles: readonly InputRole[], given: Record<string, unknown> = {}) {
  const prompt = workflow.params.prompt ? { prompt: "a red bicycle" } : {};
  const params = { seed: 7, ...workflowParams(workflow).parse({ ...prompt, ...given }) };
  const images = Object.fromEntries(roles.map((role) => [role, `${role}.png`]));
  return buildGraph(workflow, { params, images, prefix: "jobs/7/out" });
}

test("A12: 18 workflows ship with the product, each name once", () => {
  expect(builtInWorkflows).toHaveLength(18);
  expect(new Set(builtInWorkflows.map(({ name }) => name)).size).toBe(18);
  expect(builtInWorkflows.every(({ isBuiltIn }) => isBuiltIn)).toBe(true);
});

describe.each(builtInWorkflows.map((workflow) => [workflow.name, workflow] as const))("%s", (_, workflow) => {
  const roles = rolesOf(workflow);

  test.each([
    ["all pictures", roles.all],
    ["the required pictures alone", roles.required],
  ])("A12: with %s its graph is what a server of 0.8.0 accepts", (_title, given) => {
    expect(checkGraph(build(workflow, given), objectInfo)).toEqual([]);
  });

  test("A12: a server takes the graph and runs it", async () => {
    const bounds = { signal: new AbortController().signal };
    const pixels = await sharp({ create: { width: 64, height: 64, channels: 3, background: "#fff" } })
      .png()
      .toBuffer();
    for (const role of roles.all) {
      const image = new Blob([new Uint8Array(pixels)]);
      await uploadImage(simulator, { image, name: `${role}.png`, subfolder: "" }, bounds);
    }
    const prompt = { promptId: randomUUID(), clientId: randomUUID(), graph: build(workflow, roles.all) };
    await postPrompt(simulator, prompt, bounds);
    const storyOf = () => simulator.prompts().find(({ promptId }) => promptId === prompt.promptId);
    await expect
      .poll(() => (storyOf()?.finished ?? 0) + (storyOf()?.failed ?? 0), { timeout: 20_000 })
      .toBe(1);
    expect(storyOf()).toMatchObject({ finished: 1, failed: 0 });
  });

  test("A12: what the job says stands in its graph", () => {
    const text = JSON.stringify(build(workflow, roles.all));
    const said = [
      "jobs/7/out",
      ...roles.all.map((role) => `${role}.png`),
      ...(workflow.params.prompt ? ["a red bicycle"] : []),
      ...(workflow.params.seed ? ['seed":7'] : []),
    ];
    expect(said.filter((part) => !text.includes(part))).toEqual([]);
  });

  test("A12: every number at its limits is one that the server accepts", () => {
    for (const [name, spec] of Object.entries(workflow.params)) {
      if (spec.type !== "integer" && spec.type !== "number") continue;
      const limits = spec.choices ? Object.keys(spec.choices).map(Number) : [spec.min, spec.max];
      for (const limit of limits) {
        expect(checkGraph(build(workflow, roles.all, { [name]: limit }), objectInfo)).toEqual([]);
      }
    }
  });

  test("another process reads it again and gets the same", () => {
    const { name, manifest, graph } = JSON.parse(JSON.stringify(workflow));
    expect(parseWorkflow({ name, manifest, graph, isBuiltIn: true })).toEqual(workflow);
  });
});

function firstFor(kind: Workflow["kind"], roles: readonly InputRole[]): string | undefined {
  return builtInWorkflows
    .filter((workflow) => workflow.kind === kind && takesInputs(workflow, roles))
    .toSorted((a, b) => a.rank - b.rank)[0]?.name;
}

test("an outfit change takes two pictures, and with a painted mask Flux Fill with Redux", () => {
  expect(firstFor("outfit_change", ["person", "garment"])).toBe("tryon_qwen_edit_2511");
  expect(firstFor("outfit_change", ["person", "garment", "mask"])).toBe("tryon_flux_fill_redux");
  expect(firstFor("outfit_change", ["person"])).toBeUndefined();
});

test("an edit takes one picture, two, or two with a mask", () => {
  expect(firstFor("edit", ["image"])).toBe("edit_flux2_two_refs");
  expect(firstFor("edit", ["image", "reference"])).toBe("edit_flux2_two_refs");
  expect(firstFor("edit", ["image", "reference", "mask"])).toBe("cpu_composite_no_model");
});

test("no two workflows of a kind have the same rank", () => {
  const ranks = builtInWorkflows.map(({ kind, rank }) => `${kind} ${rank}`);
  expect(new Set(ranks).size).toBe(ranks.length);
});

test("each picture of a workflow is one of its kind", () => {
  for (const { kind, inputs } of builtInWorkflows) {
    expect(jobKinds).toContain(kind);
    expect([...requiredInputs(kind), ...optionalInputs(kind)]).toEqual(
      expect.arrayContaining(Object.keys(inputs)),
    );
  }
});

test("the wording of an outfit change follows the category, the user's own words come after it", () => {
  const workflow = builtInWorkflows.find(({ name }) => name === "tryon_qwen_edit_2511");
  if (!workflow) throw new Error("the workflow is gone");
  const textOf = (given: Record<string, unknown>) =>
    buildGraph(workflow, {
      params: { seed: 1, ...workflowParams(workflow).parse(given) },
      images: { person: "p.png", garment: "g.png" },
      prefix: "x",
    })["11"]?.inputs.prompt;
  expect(textOf({})).toMatch(/^Dress the person .* unchanged\.$/);
  expect(textOf({ category: "dress", prompt: "Roll up the sleeves." })).toMatch(
    /with the dress from the second picture\. .* unchanged\. Roll up the sleeves\.$/,
  );
  expect(workflowParams(workflow).safeParse({ category: "hat" }).success).toBe(false);
});
