import { addNode, addServer } from "@atelier/testing/jobs";
import { openJobScene } from "@atelier/testing/scenes";
import { expect, test } from "vitest";
import { schema } from "../../db/index.ts";
import { builtInWorkflows } from "../../workflows/index.ts";
import manifest from "../../workflows/built-in/t2i_checkpoint/workflow.json" with { type: "json" };
import { findChoice, readChoices } from "./choices.ts";

const scene = openJobScene({ isEmptied: true });
const place = "CheckpointLoaderSimple.ckpt_name";

test("a checkpoint is one model, also where two workflows take it and servers write its folder in two ways", async () => {
  const { db } = scene.services;
  const needs = ["comfyui/t2i_checkpoint", "comfyui/own"] as const;
  const nodeId = await addNode(scene.services, { queue: "gpu-high", needs: [...needs] });
  const graph = builtInWorkflows().find(({ name }) => name === "t2i_checkpoint")?.graph ?? {};
  await db
    .insert(schema.nodeWorkflows)
    .values({ nodeId, name: "own", hash: "1", manifest: { ...manifest, rank: 96 }, graph });
  for (const [url, file] of [
    ["http://a:1", "XL\\Painted.ckpt"],
    ["http://b:1", "XL/Painted.ckpt"],
  ] as const)
    await addServer(scene.services, { nodeId, url, needs: [...needs], lists: { [place]: [file] } });
  const choices = await readChoices(scene.services, ["text_to_image"]);
  const ids = choices.map(({ id }) => id);
  expect(ids.filter((id) => id.includes("Painted"))).toEqual(["atelier/XL/Painted.ckpt"]);
  expect(findChoice(choices, "Painted.ckpt").choice).toMatchObject({
    named: { workflow: "t2i_checkpoint" },
    settings: { checkpoint: "XL/Painted.ckpt" },
  });
});
