import { afterAll, beforeAll, expect, test } from "vitest";
import { addNode } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { writeQueues } from "./write-queues.ts";

let opened: TestServices;

beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

const read = (nodeId: string) =>
  opened.services.db
    .select()
    .from(schema.nodeQueues)
    .where(eq(schema.nodeQueues.nodeId, nodeId))
    .orderBy(schema.nodeQueues.queue);

test("D4 what a node offers may change while it runs; what it could do before stays known", async () => {
  const { db } = opened.services;
  const nodeId = await addNode(opened.services, { queue: "gpu-high", needs: ["comfyui/a"] });
  await writeQueues(db, nodeId, [
    { queue: "cpu-light", slots: 1, needs: [] },
    { queue: "gpu-high", slots: 2, needs: ["comfyui/b"] },
  ]);
  expect(await read(nodeId)).toMatchObject([
    { queue: "cpu-light", slots: 1, needs: [], seenNeeds: [] },
    { queue: "gpu-high", slots: 2, needs: ["comfyui/b"], seenNeeds: ["comfyui/a", "comfyui/b"] },
  ]);
  await writeQueues(db, nodeId, [{ queue: "cpu-light", slots: 1, needs: [] }]);
  expect(await read(nodeId)).toMatchObject([
    { queue: "cpu-light", needs: [] },
    { queue: "gpu-high", slots: 0, needs: [], seenNeeds: ["comfyui/a", "comfyui/b"] },
  ]);
});

test("A10 a node that offers nothing offers no queue", async () => {
  const { db } = opened.services;
  const nodeId = await addNode(opened.services);
  await writeQueues(db, nodeId, []);
  expect(await read(nodeId)).toMatchObject([{ slots: 0, needs: [] }]);
});
