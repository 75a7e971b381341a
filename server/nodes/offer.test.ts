import { afterAll, beforeAll, expect, test } from "vitest";
import { addNode } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { pruneNeeds } from "./prune-needs.ts";
import { writeQueues } from "./offer.ts";

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

test("D4 a need that was taken away is known for 24 hours; one that is still offered for ever", async () => {
  const { db } = opened.services;
  const { nodeQueues } = schema;
  const nodeId = await addNode(opened.services, { queue: "gpu-high", needs: ["comfyui/a", "comfyui/b"] });
  const age = () =>
    db
      .update(nodeQueues)
      .set({
        needsSeenAt: sql`(select jsonb_object_agg(key, now() - interval '25 hours') from jsonb_each(needs_seen_at))`,
      })
      .where(eq(nodeQueues.nodeId, nodeId));
  await age();
  // Taken away now, though it was written long ago.
  await writeQueues(db, nodeId, [{ queue: "gpu-high", slots: 1, needs: ["comfyui/b"] }]);
  await pruneNeeds(opened.services);
  expect(await read(nodeId)).toMatchObject([{ seenNeeds: ["comfyui/a", "comfyui/b"] }]);
  await age();
  await pruneNeeds(opened.services);
  const [left] = await read(nodeId);
  expect(left).toMatchObject({ needs: ["comfyui/b"], seenNeeds: ["comfyui/b"] });
  expect(Object.keys(left?.needsSeenAt ?? {})).toEqual(["comfyui/b"]);
});
