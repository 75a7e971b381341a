import { randomUUID } from "node:crypto";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type InputRole, jobKinds, optionalInputs, requiredInputs } from "@atelier/server/engines";
import {
  buildGraph,
  builtInWorkflows,
  checkGraph,
  type ObjectInfoByClass,
  type ParamName,
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
  objectInfo = await readSimulatedClasses({ mode: "new" });
  simulator = await startComfySimulator({ mode: "new" });
});
afterAll(() => simulator.close());

function rolesOf({ inputs }: Workflow): { required: InputRole[]; all: InputRole[] } {
  const all = Object.keys(inputs) as InputRole[];
  return { all, required: all.filter((role) => inputs[role]?.required) };
}

/** What a job must say, of each param that there is. */
const said: Partial<Record<ParamName, unknown>> = {
  prompt: "a red bicycle",
  checkpoint: "sd_xl_base_1.0.safetensors",
  clicks: [
    { x: 11, y: 12, mode: "include" },
    { x: 13, y: 14, mode: "exclude" },
  ],
  box: { left: 15, top: 16, width: 17, height: 18 },
};

function build(workflow: Workflow, roles: readonly InputRole[], given: Record<string, unknown> = {}) {
  const own = Object.entries(said).filter(([name]) => Object.hasOwn(workflow.params, name));
  const params = { seed: 7, ...workflowParams(workflow).parse({ ...Object.fromEntries(own), ...given }) };
  const images = Object.fromEntries(roles.map((role) => [role, `${role}.png`]));
  return buildGraph(workflow, { params, images, prefix: "jobs/7/out" });
}

test("A12: 34 workflows ship with the product, each name once", () => {
  expect(builtInWorkflows()).toHaveLength(34);
  expect(new Set(builtInWorkflows().map(({ name }) => name)).size).toBe(34);
  expect(builtInWorkflows().every(({ isBuiltIn }) => isBuiltIn)).toBe(true);
});

describe.each(builtInWorkflows().map((workflow) => [workflow.name, workflow] as const))(
  "%s",
  (_, workflow) => {
    const roles = rolesOf(workflow);

    const further = roles.all.filter((role) => !roles.required.includes(role));
    const sets: (readonly [string, readonly InputRole[]])[] = [
      ["the required pictures alone", roles.required],
      ...further.map(
        (role, at) => [`also ${role}`, [...roles.required, ...further.slice(0, at + 1)]] as const,
      ),
    ];
    test.each(sets)("A12: with %s its graph is what a server accepts", (_title, given) => {
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
      const wanted = [
        "jobs/7/out",
        ...roles.all.map((role) => `${role}.png`),
        ...(workflow.params.prompt ? ["a red bicycle"] : []),
        ...(workflow.params.clicks ? ['[{\\"x\\":11,\\"y\\":12}]', '[{\\"x\\":13,\\"y\\":14}]'] : []),
        ...(workflow.params.box ? ['"x":15,"y":16', '"width":17,"height":18'] : []),
        ...(workflow.params.seed ? ['seed":7'] : []),
      ];
      expect(wanted.filter((part) => !text.includes(part))).toEqual([]);
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
  },
);

function firstFor(kind: Workflow["kind"], roles: readonly InputRole[]): string | undefined {
  return builtInWorkflows()
    .filter((workflow) => workflow.kind === kind && takesInputs(workflow, roles))
    .toSorted((a, b) => a.rank - b.rank)[0]?.name;
}

test("an outfit change takes two pictures, and with a painted mask Flux Fill with Redux", () => {
  expect(firstFor("outfit_change", ["person", "garment"])).toBe("tryon_qwen_image_2_1");
  expect(firstFor("outfit_change", ["person", "garment", "garment2", "garment3", "garment4"])).toBe(
    "tryon_qwen_image_2_1",
  );
  expect(firstFor("outfit_change", ["person", "garment", "mask"])).toBe("tryon_flux_fill_redux");
  expect(firstFor("outfit_change", ["person"])).toBeUndefined();
});

test("an edit takes one picture, two, or two with a mask", () => {
  expect(firstFor("edit", ["image"])).toBe("edit_qwen_image_2_1");
  expect(firstFor("edit", ["image", "reference", "reference2", "reference3"])).toBe("edit_qwen_image_2_1");
  expect(firstFor("edit", ["image", "reference", "mask"])).toBe("cpu_composite_no_model");
});

test("each says its licence, the size of its files and the memory that it wants", () => {
  const bare = builtInWorkflows()
    .filter(({ models }) => models.length === 0)
    .map(({ name }) => name);
  // The second one takes any checkpoint, so that it cannot say a licence or a size.
  expect(bare).toEqual(["cpu_composite_no_model", "t2i_checkpoint"]);
  const incomplete = builtInWorkflows().filter(
    ({ models, licence, sizeGb = 0, vramGib }) =>
      models.length > 0 && (licence === undefined || sizeGb === 0 || vramGib === 0),
  );
  expect(incomplete.map(({ name }) => name)).toEqual([]);
});

test("no two workflows of a kind have the same rank", () => {
  const ranks = builtInWorkflows().map(({ kind, rank }) => `${kind} ${rank}`);
  expect(new Set(ranks).size).toBe(ranks.length);
});

test("each picture of a workflow is one of its kind", () => {
  for (const { kind, inputs } of builtInWorkflows()) {
    expect(jobKinds).toContain(kind);
    expect([...requiredInputs(kind), ...optionalInputs(kind)]).toEqual(
      expect.arrayContaining(Object.keys(inputs)),
    );
  }
});

test("the wording of an outfit change follows the category, the user's own words come after it", () => {
  const workflow = builtInWorkflows().find(({ name }) => name === "tryon_qwen_edit_2511");
  if (!workflow) throw new Error("the workflow is gone");
  const textOf = (given: Record<string, unknown>, garments: Record<string, string> = {}) => {
    const graph = buildGraph(workflow, {
      params: { seed: 1, ...workflowParams(workflow).parse(given) },
      images: { person: "p.png", garment: "g.png", ...garments },
      prefix: "x",
    });
    const { string_a, string_b } = graph["19"]?.inputs ?? {};
    return z.array(z.string()).parse([string_a, string_b]).join(" ").trim();
  };
  expect(textOf({})).toMatch(/^Dress the person .* unchanged\.$/);
  expect(textOf({ category: "dress", prompt: "Roll up the sleeves." })).toMatch(
    /with the dress from the second picture\. .* unchanged\. Roll up the sleeves\.$/,
  );
  expect(textOf({}, { garment2: "h.png" })).toMatch(/third picture as well\.$/);
  expect(workflowParams(workflow).safeParse({ category: "hat" }).success).toBe(false);
});
