import path from "node:path";
import {
  comfyuiEngine,
  enginesFor,
  type JobKind,
  workflowKinds,
  requiredInputs,
} from "@atelier/server/engines";
import { parseWorkflow } from "@atelier/server/workflows";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newContext, openScene, type Scene } from "./fixtures/open-scene.ts";

/** The smallest workflow of a kind: it takes the pictures that the kind needs and saves the first one. */
const sides = ["left", "top", "right", "bottom"] as const;

/** A graph that expands has to make the picture larger. */
const pad = {
  class_type: "ImagePadForOutpaint",
  inputs: { image: ["image", 0], left: 0, top: 0, right: 0, bottom: 0, feathering: 0 },
};

/** Settings without which a kind does nothing. */
const paramsOf: Partial<Record<JobKind, Record<string, unknown>>> = {
  text_to_image: { prompt: "a red chair" },
  upscale: { scale: 2 },
  expand: { left: 8, top: 0, right: 8, bottom: 0 },
};

function smallest(kind: JobKind) {
  const roles = requiredInputs(kind);
  const loads = Object.fromEntries(
    roles.map((role) => [role, { class_type: "LoadImage", inputs: { image: "" } }]),
  );
  const empty = { class_type: "EmptyImage", inputs: { width: 64, height: 64, batch_size: 1, color: 255 } };
  const [first = "empty"] = roles;
  const params =
    kind === "text_to_image"
      ? { prompt: { type: "text", to: ["note.source"] } }
      : kind === "expand"
        ? Object.fromEntries(
            sides.map((side) => [side, { type: "integer", min: 0, max: 64, to: [`pad.${side}`] }]),
          )
        : {};
  return parseWorkflow({
    name: `own_${kind}`,
    isBuiltIn: false,
    graph: {
      ...(roles.length === 0 ? { empty } : loads),
      note: { class_type: "PreviewAny", inputs: { source: "" } },
      ...(kind === "expand" ? { pad } : {}),
      save: {
        class_type: "SaveImage",
        inputs: { images: [kind === "expand" ? "pad" : first, 0], filename_prefix: "x" },
      },
    },
    manifest: {
      title: kind,
      description: "",
      kind,
      rank: 1,
      vramGib: 0,
      params,
      inputs: Object.fromEntries(roles.map((role) => [role, { to: [`${role}.image`] }])),
      prefix: ["save.filename_prefix"],
      outputs: ["save"],
    },
  });
}

const workflows = workflowKinds.map(smallest);
let scene: Scene;
beforeAll(async () => {
  scene = await openScene(workflows);
});
afterAll(() => scene.close());

test.each(workflowKinds)(
  "a workflow of one's own of the kind %s is offered and makes its picture",
  async (kind) => {
    const roles = requiredInputs(kind);
    const params = paramsOf[kind] ?? {};
    const need = `comfyui/own_${kind}`;
    expect(enginesFor({ kind, params, roles: new Set(roles) })).toContain("comfyui");
    const { engine, pool } = await scene.openEngine(await scene.startServer());
    expect(pool.list()).toMatchObject([{ missing: {}, needs: expect.arrayContaining([need]) }]);
    expect(engine.kinds).toContain(kind);
    const file = path.join(scene.folder, `${kind}.png`);
    await sharp({ create: { width: 64, height: 64, channels: 3, background: "#ffffff" } })
      .png()
      .toFile(file);
    const task = scene.newTask({
      workflow: `own_${kind}`,
      params,
      inputs: Object.fromEntries(roles.map((role) => [role, file])),
    });
    const [output] = await engine.run(task, newContext().context);
    expect(await sharp(output?.path).metadata()).toMatchObject({
      format: "png",
      width: kind === "expand" ? 80 : 64,
      height: 64,
    });
  },
);

test("the engine has the kinds that workflows may have", () => {
  expect(comfyuiEngine.kinds).toEqual(workflowKinds);
});

test("a workflow whose output node saves nothing fails once, with the node's name", async () => {
  const base = smallest("text_to_image");
  const textOnly = { ...base, name: "own_text", outputs: ["note"] };
  const lone = await openScene([textOnly]);
  const { engine } = await lone.openEngine(await lone.startServer());
  const run = engine.run(lone.newTask({ workflow: "own_text" }), newContext().context);
  const message = "The workflow made no file at its output, node note (PreviewAny).";
  await expect(run).rejects.toMatchObject({ code: "no_picture", message });
  await lone.close();
});

test.each([
  [5, 5],
  [32, 1],
  [2 ** 53 - 1, 1 + ((2 ** 53 - 2) % 31)],
  [0, 31],
])("a seed %i becomes %i where the node takes 1 to 31, and the result says so", async (given, used) => {
  const base = smallest("edit");
  const blur = { class_type: "ImageBlur", inputs: { image: ["image", 0], blur_radius: 1, sigma: 1 } };
  const save = { class_type: "SaveImage", inputs: { images: ["blur", 0], filename_prefix: "x" } };
  const manifest = { ...base.manifest, params: { seed: { type: "seed", to: ["blur.blur_radius"] } } };
  const seeded = parseWorkflow({
    name: "own_seeded",
    isBuiltIn: false,
    graph: { ...base.graph, blur, save },
    manifest,
  });
  const lone = await openScene([seeded]);
  const server = await lone.startServer();
  const { engine } = await lone.openEngine(server);
  const image = path.join(lone.folder, "image.png");
  await sharp({ create: { width: 64, height: 64, channels: 3, background: "#ffffff" } })
    .png()
    .toFile(image);
  const task = lone.newTask({ workflow: "own_seeded", params: { seed: given }, inputs: { image } });
  expect(await engine.run(task, newContext().context)).toMatchObject([{ facts: { seed: used } }]);
  expect(JSON.stringify(server.prompts()[0]?.graph)).toContain(`"blur_radius":${used}`);
  await lone.close();
});

test("a picture of a node that became others while it ran, as in a loop, is one of its workflow", async () => {
  const server = await scene.startServer();
  server.inject({ kind: "expanded-output", times: "forever" });
  const { engine } = await scene.openEngine(server);
  const task = scene.newTask({ workflow: "own_text_to_image", params: { prompt: "a red chair" } });
  await expect(engine.run(task, newContext().context)).resolves.toHaveLength(1);
});
