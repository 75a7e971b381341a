import { eq, inArray, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addNode } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema } from "../db/index.ts";
import { changeNode, pruneNeeds, pruneOffers, type SeenServer, writeQueues } from "./offer.ts";

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

describe("change node", () => {
  const { engineServers } = schema;

  const seen = (url: string, changes: Partial<SeenServer> = {}): SeenServer => ({
    url,
    engine: "comfyui",
    label: url.slice("http://".length),
    state: "healthy",
    needs: ["comfyui/t2i_sd15"],
    missing: {},
    sources: ["COMFYUI_URLS"],
    ...changes,
  });

  const readRows = (nodeId: string) =>
    opened.services.db
      .select()
      .from(engineServers)
      .where(eq(engineServers.nodeId, nodeId))
      .orderBy(engineServers.url);

  test("A10 D4 rows of a node's servers follow what it sees and leave other nodes alone", async () => {
    const { services } = opened;
    const [nodeId, other] = [await addNode(services), await addNode(services)];
    await changeNode(services, { nodeId: other, servers: [seen("http://a:1")] });
    await changeNode(services, {
      nodeId,
      servers: [
        seen("http://a:1", { models: ["sub/a.safetensors"] }),
        seen("http://b:1", { queueLength: 2 }),
      ],
    });
    const [first] = await readRows(nodeId);
    expect(first?.models).toEqual(["sub/a.safetensors"]);
    const probedAt = new Date();
    await changeNode(services, {
      nodeId,
      servers: [seen("http://a:1", { vramFreeBytes: 5 * 2 ** 30, probedAt })],
    });
    const [second, ...rest] = await readRows(nodeId);
    expect(rest).toEqual([]);
    expect(second).toMatchObject({ vramFreeBytes: 5 * 2 ** 30, probedAt, changedAt: first?.changedAt });
    const down = seen("http://a:1", { state: "down", lastError: "It cannot be reached.", needs: [] });
    await changeNode(services, { nodeId, servers: [down] });
    const [third] = await readRows(nodeId);
    expect(third).toMatchObject({ state: "down", needs: [], lastError: "It cannot be reached." });
    expect(third?.changedAt.getTime()).toBeGreaterThan(first?.changedAt.getTime() ?? Infinity);
    await changeNode(services, { nodeId, servers: [] });
    expect(await readRows(nodeId)).toEqual([]);
    expect(await readRows(other)).toHaveLength(1);
  });
});

describe("offer", () => {
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

  test("S8 of workers that ended a day ago the newest five of each need keep their offers, and all keep their rows", async () => {
    const { db } = opened.services;
    const { nodes } = schema;
    const ids: string[] = [];
    const addEnded = async (need: "comfyui/c" | "comfyui/d", hours: number) => {
      const id = await addNode(opened.services, { queue: "gpu-high", needs: [need], state: "gone" });
      await db
        .update(nodes)
        .set({ seenAt: sql`now() - make_interval(hours => ${hours})` })
        .where(eq(nodes.id, id));
      ids.push(id);
      return id;
    };
    const rare = await addEnded("comfyui/d", 300);
    for (let hours = 40; hours > 32; hours -= 1) await addEnded("comfyui/c", hours);
    const today = await addEnded("comfyui/c", 20);
    await pruneOffers(opened.services);
    const offers = await Promise.all(ids.map(read));
    const kept = ids.filter((_, at) => offers[at]?.length === 1);
    expect(kept).toEqual([rare, ...ids.slice(5, 9), today]);
    expect(await db.$count(nodes, inArray(nodes.id, ids))).toBe(ids.length);
  });
});
