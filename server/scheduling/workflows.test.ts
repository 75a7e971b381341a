import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { addNode } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { sampleFiles } from "@atelier/testing/workflows";
import { schema } from "../db/index.ts";
import { changeNode, type SeenServer } from "../nodes/index.ts";
import { parseWorkflow } from "../workflows/index.ts";
import { findWorkflow, offeredWorkflows } from "./workflows.ts";

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

describe("known workflows", () => {
  test("a name that is not there is looked for once; what is published later is found", async () => {
    const { db } = opened.services;
    const nodeId = await addNode(opened.services);
    const execute = vi.spyOn(db, "execute");
    for (let count = 0; count < 5; count += 1) expect(await findWorkflow(db, "later")).toBeNull();
    expect(execute).toHaveBeenCalledTimes(1);
    execute.mockRestore();
    const { manifest, graph } = sampleFiles();
    const { hash, name } = parseWorkflow({ name: "later", manifest, graph, isBuiltIn: false });
    await db.insert(schema.nodeWorkflows).values({ nodeId, name, hash, manifest, graph });
    await vi.waitFor(async () => expect(await findWorkflow(db, "later")).toMatchObject({ hash }), 5_000);
  });
});

test("an own workflow is known as long as its need, also when its worker ended days ago", async () => {
  const { db } = opened.services;
  const { manifest, graph } = sampleFiles();
  for (const { name: wanted, needs } of [
    { name: "kept", needs: ["comfyui/kept"] as const },
    { name: "forgotten", needs: [] },
  ]) {
    const nodeId = await addNode(opened.services, { needs, state: "gone" });
    await db
      .update(schema.nodes)
      .set({ seenAt: sql`now() - interval '3 days'` })
      .where(eq(schema.nodes.id, nodeId));
    const { hash, name } = parseWorkflow({ name: wanted, manifest, graph, isBuiltIn: false });
    await db.insert(schema.nodeWorkflows).values({ nodeId, name, hash, manifest, graph });
  }
  await vi.waitFor(async () => expect(await findWorkflow(db, "kept")).toMatchObject({ name: "kept" }), 5_000);
  expect(await findWorkflow(db, "forgotten")).toBeNull();
});

describe("workflows", () => {
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
    const workflows = await offeredWorkflows(services.db, services.config);
    const light = workflows.find(({ name }) => name === "t2i_sd15");
    expect(light).toMatchObject({ isLive: false, missing: ["model sd15 (Checkpoint.name)"], vramGib: 4 });
    expect(light?.params.width).toEqual(expect.objectContaining({ min: 256, max: 1024, multipleOf: 8 }));
    expect(light?.params.seed).toEqual({ type: "seed" });
  });
});
