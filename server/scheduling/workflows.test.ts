import { addNode } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, expect, test } from "vitest";
import { changeNode, type SeenServer } from "../nodes/index.ts";
import { offeredWorkflows } from "./offered-workflows.ts";

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

const seen = (url: string, missing: SeenServer["missing"]): SeenServer => ({
  url,
  engine: "comfyui",
  label: url.slice("http://".length),
  state: "healthy",
  needs: [],
  missing,
  sources: ["test"],
});

test("A12 a workflow that nothing can run says what the nearest server lacks, and its settings keep their ranges", async () => {
  const { services } = opened;
  const nodeId = await addNode(services);
  await changeNode(services, {
    nodeId,
    servers: [
      seen("http://a:1", { t2i_sd15: ["node KSampler", "model sd15 (Checkpoint.name)"] }),
      seen("http://b:1", { t2i_sd15: ["model sd15 (Checkpoint.name)"] }),
    ],
  });
  const workflows = await offeredWorkflows(services.db);
  const light = workflows.find(({ name }) => name === "t2i_sd15");
  expect(light).toMatchObject({ isLive: false, missing: ["model sd15 (Checkpoint.name)"], vramGib: 4 });
  expect(light?.params.width).toEqual(expect.objectContaining({ min: 256, max: 1024, multipleOf: 8 }));
  expect(light?.params.seed).toEqual({ type: "seed" });
});
